"""Search HyperQA's hyperparameters on the dev split, keeping a record of every trial.

    python reproduce/hyperqa_search.py --dataset wikiqa --trials 40

Each trial draws one value of every option in SPACE, trains with a few seeds, and appends a line with its
options and dev figures to reproduce/searches/. The test split is never scored. Trial i is a function of
--search-seed and i, so an interrupted search goes on where it stopped, and a longer one repeats the shorter.
"""

import json
import statistics
import time
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import tyro
from tqdm import tqdm

from data_prep.cli import run_command
from data_prep.errors import UserError
from reproduce.experiment import load_experiment_data, measure, slug
from reproduce.hyperqa_experiment import HyperQAConfig, train_hyperqa

# The paper's grid (learning rate 0.01-0.2, d 100-400, L2 1e-5-1e-3, margin 1-20, 2-8 negatives),
# widened.
SPACE = {
    "learning_rate": (0.02, 0.05, 0.1, 0.2, 0.3),
    "batch_size": (8, 16, 32, 50, 100),
    "dimension": (100, 200, 300, 400),
    "margin": (0.1, 0.25, 0.5, 1.0, 2.0, 5.0),
    "max_norm": (0.3, 0.5, 0.7, 0.9, 0.99),
    "eq9": ("none", "none", "released_code", "parameters", "points"),
    "clip_norm": (0.3, 1.0, 5.0, None),
    "own_negatives": (None, None, 4, 8),
    "sampling": ("random", "mix"),
    "foreign_negatives": (0, 2, 4, 8, 16),
    "dropout": (0.0, 0.0, 0.1, 0.2),
    "embedding_dropout": (0.0, 0.0, 0.1, 0.2, 0.3),
    "reduction": ("sum", "question_mean"),
    "l2": (0.0, 0.0, 1e-5, 1e-4, 1e-3),
}


@dataclass(frozen=True, kw_only=True)
class SearchConfig(HyperQAConfig):
    """The options of a search; options of the search space are drawn, unless --around keeps them near
    these.
    """

    trials: int = 40
    """How many trials the search has."""
    search_seed: int = 0
    """Seeds the draws of the options."""
    around: float = 0.0
    """Chance of every option to stay as given here instead of being drawn: 0 searches everywhere, 0.7
    nearby."""
    folder: Path = Path(__file__).parent / "searches"
    """Where the trials are recorded."""


def trial_options(config: SearchConfig, trial: int) -> dict:
    """Draw the options of one trial; with `around`, trial 0 is the given configuration itself."""
    rng = np.random.default_rng([config.search_seed, trial])
    drawn = {name: values[rng.integers(len(values))] for name, values in SPACE.items()}
    keep = {name: bool(rng.random() < config.around) or (config.around > 0 and trial == 0) for name in SPACE}
    options = {name: getattr(config, name) if keep[name] else value for name, value in drawn.items()}
    # Where all of a question's wrong answers are taken there is nothing to choose among.
    return options if options["own_negatives"] is not None else options | {"sampling": "random"}


def search(config: SearchConfig) -> None:
    """Run the trials that are not recorded yet, and print the best."""
    if config.trials < 1:
        raise UserError(f"--trials must be at least 1. Received: {config.trials}")
    from training.callbacks import TrainingDivergedError

    data = load_experiment_data(config)
    name = slug("hyperqa", config.dataset, data.dataset.variant, data.word_vectors.name)
    path = config.folder / f"{name}.jsonl"
    config.folder.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {_identity(trial) for trial in done}
    base = {f.name: getattr(config, f.name) for f in fields(HyperQAConfig)}
    seeds = range(config.first_seed, config.first_seed + (config.seeds or 2))
    for trial in tqdm(range(config.trials), desc=name, unit="trial"):
        options = trial_options(config, trial)
        outcome = {
            "search_seed": config.search_seed,
            "around": config.around,
            "trial": trial,
            "options": options,
            "model": config.model,
            "epochs": config.epochs,
            "seeds": len(seeds),
        }
        if _identity(outcome) in known:
            continue
        began = time.perf_counter()
        try:
            runs = [train_hyperqa(HyperQAConfig(**base | options), data, seed, None, "") for seed in seeds]
        except TrainingDivergedError as error:
            outcome |= {"diverged": str(error)}
        else:
            figures = [measure(data.encoded.dev, run.scores["dev"]) for run in runs]
            outcome |= {
                "dev_map": [round(f["map"], 5) for f in figures],
                "dev_mrr": [round(f["mrr"], 5) for f in figures],
                "best_epoch": [run.best_epoch for run in runs],
                "edge_share": [round(run.history[run.best_epoch]["edge_share"], 4) for run in runs],
                "seconds": round(time.perf_counter() - began, 1),
            }
        done.append(outcome)
        with path.open("a") as file:
            file.write(json.dumps(outcome) + "\n")
    report(done)


def _identity(trial: dict) -> str:
    return json.dumps(
        [trial["options"], trial["model"], trial["epochs"], trial.get("seeds", 2)], sort_keys=True
    )


def report(trials: list[dict], best: int = 10) -> None:
    """Print the best trials, and for every option the mean dev MAP of each of its values."""
    diverged = [trial for trial in trials if "diverged" in trial]
    trials = [trial for trial in trials if "diverged" not in trial]
    print(f"{len(trials)} trials, and {len(diverged)} that diverged")
    ranked = sorted(trials, key=lambda t: -statistics.mean(t["dev_map"]))
    for trial in ranked[:best]:
        print(f"{statistics.mean(trial['dev_map']):.4f}  {trial['options']}")
    for name in SPACE:
        groups: dict = {}
        for trial in trials:
            groups.setdefault(trial["options"][name], []).append(statistics.mean(trial["dev_map"]))
        means = (f"{value}: {statistics.mean(maps):.3f} ({len(maps)})" for value, maps in groups.items())
        print(f"{name}: " + ", ".join(means))


if __name__ == "__main__":
    run_command(lambda: search(tyro.cli(SearchConfig, description=__doc__)))
