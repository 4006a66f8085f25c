"""A recorded random search of hyperparameters on dev, whatever the model; the test split is never scored.

Trial i is a function of the search's seed and i, so an interrupted search goes on where it stopped, and a
longer one repeats the shorter.
"""

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from tqdm import tqdm

from data_prep.errors import UserError
from data_prep.files import check_writable, remove_leftovers
from reproduce.experiment import (
    ExperimentConfig,
    ExperimentData,
    SeedRun,
    config_fingerprints,
    measure,
    slug,
)
from reproduce.options_without_effect import refuse_options_without_effect
from reproduce.trials import append_trial, read_trials
from training.option_ranges import check_range

# Options of experiments of which nothing comes in a search.
_NOT_IN_A_SEARCH = ("record", "main", "notes", "tensorboard", "output", "check_data", "dimensions")
# What a trial's figures depend on beside its options: two trials that have these in common can be compared.
_CIRCUMSTANCES = ("fixed", "seeds", "data", "code")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
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
    seeds: int = 2
    """How many seeds a trial has."""
    record: bool = False
    """Not in a search, which records every trial in --folder."""
    main: bool = False
    """Not in a search, whose trials are no results."""
    notes: str = ""
    """Not in a search, whose trials are no results."""
    output: Path = Path("outputs")
    """Not in a search, which keeps no models; --folder says where the trials go."""
    tensorboard: bool = False
    """Not in a search, which keeps the figures on dev alone."""
    check_data: bool = False
    """Not in a search, which trains; its lines have fingerprints of data and code."""

    def __post_init__(self) -> None:
        """Refuse options that a search has no use for, and those out of range."""
        known = {field.name: field.default for field in fields(self)}
        given = [name for name in _NOT_IN_A_SEARCH if name in known and getattr(self, name) != known[name]]
        if given:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise UserError(
                f"a search has no use for {options}: it trains each trial, writes a line with its figures on "
                "dev to a file in --folder, and leaves nothing else. Leave that out, and give what the "
                "search found to the data set's own script."
            )
        check_range(self, "around", at_least=0, at_most=1)
        check_range(self, "search_seed", at_least=0)
        super().__post_init__()


def trial_options(config: SearchOptions, space: Mapping[str, Sequence], trial: int) -> dict:
    """Draw the options of one trial; with `around`, trial 0 is the given configuration itself.

    Args:
        config: the options of the search, which have a field for each option of the space.
        space: the values of each option.
        trial: the number of the trial.
    """
    rng = np.random.default_rng([config.search_seed, trial])
    drawn = {name: values[rng.integers(len(values))] for name, values in space.items()}
    keep = {name: bool(rng.random() < config.around) or (config.around > 0 and trial == 0) for name in space}
    return {name: getattr(config, name) if keep[name] else value for name, value in drawn.items()}


def run_search(
    config: SearchOptions,
    space: Mapping[str, Sequence],
    experiment: type[ExperimentConfig],
    load: Callable[[SearchOptions], ExperimentData],
    train_seed: Callable[..., SeedRun],
    *,
    paper: str,
    complete: Callable[[dict], dict] = lambda options: options,
) -> None:
    """Run the trials that are not recorded yet, and print the best.

    Args:
        config: the search: an `experiment` configuration with `SearchOptions`.
        space: the values of each option.
        experiment: the class of the trials' configurations.
        load: loads the data.
        train_seed: trains one seed: called with a trial's configuration, the data, the seed, and `splits`,
            the names of the splits to score.
        paper: begins the name of the file of the trials.
        complete: mends drawn options that do not go together.

    Raises:
        UserError: there are no trials to run, an option does nothing beside the others, the file of the
            trials is damaged, or its folder cannot be written to.
    """
    if config.trials < 1:
        raise UserError(f"--trials must be at least 1. Received: {config.trials}")
    base = {f.name: getattr(config, f.name) for f in fields(experiment)}
    given = experiment(**base)
    refuse_options_without_effect(given)
    data = load(config)
    from training.callbacks import TrainingDivergedError

    name = slug(paper, config.dataset, data.dataset.variant, data.word_vectors.name)
    path = config.folder / f"{name}.jsonl"
    check_writable(config.folder)
    remove_leftovers(config.folder)
    done = read_trials(path, "options")
    # Taken before the training, during which somebody may change a file.
    circumstances = {
        "fixed": _fixed(given, space),
        "seeds": config.seed_list,
        "data": data.fingerprint(),
        "code": _short_hash(config_fingerprints(given)),
    }
    known = {_identity(trial) for trial in done}
    for trial in tqdm(range(config.trials), desc=name, unit="trial"):
        options = complete(trial_options(config, space, trial))
        outcome = {
            "search_seed": config.search_seed,
            "around": config.around,
            "trial": trial,
            "options": options,
            "model": config.model,
            "epochs": options.get("epochs", config.epochs),
            **circumstances,
        }
        if _identity(outcome) in known:
            continue
        began = time.perf_counter()
        try:
            runs = [
                train_seed(experiment(**base | options), data, seed, splits=("dev",))
                for seed in config.seed_list
            ]
        except TrainingDivergedError as error:
            outcome |= {"diverged": str(error)}
        else:
            figures = [measure(data.encoded.dev, run.scores["dev"]) for run in runs]
            outcome |= {
                "dev_map": [round(f["map"], 5) for f in figures],
                "dev_mrr": [round(f["mrr"], 5) for f in figures],
                "best_epoch": [run.best_epoch for run in runs],
                "seconds": round(time.perf_counter() - began, 1),
            }
        done.append(outcome)
        known.add(_identity(outcome))
        append_trial(path, outcome)
    comparable = [t for t in done if all(t.get(key) == value for key, value in circumstances.items())]
    if others := len(done) - len(comparable):
        print(f"{path.name} has {others} trials of other options, seeds, data or code: not counted here")
    report(comparable, space)


def _fixed(config: ExperimentConfig, space: Mapping[str, Sequence]) -> dict:
    """Return the options that the numbers depend on and the search does not draw."""
    options = json.loads(json.dumps(config.matters(), default=str))
    return {name: value for name, value in options.items() if name not in (*space, "embeddings")}


def _identity(trial: dict) -> str:
    # The first searches did not write all of these down; no new trial is the same as one of theirs.
    return json.dumps([trial["options"], *(trial.get(name) for name in _CIRCUMSTANCES)], sort_keys=True)


def _short_hash(value: dict) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def report(trials: list[dict], space: Mapping[str, Sequence], best: int = 10) -> None:
    """Print the best trials, and for every option the mean dev MAP of each of its values."""
    diverged = [trial for trial in trials if "diverged" in trial]
    trials = [trial for trial in trials if "diverged" not in trial]
    print(f"{len(trials)} trials, and {len(diverged)} that diverged")
    ranked = sorted(trials, key=lambda t: -statistics.mean(t["dev_map"]))
    for trial in ranked[:best]:
        print(f"{statistics.mean(trial['dev_map']):.4f}  {trial['options']}")
    for name in space:
        groups: dict = {}
        for trial in trials:
            # As text, since a list that was read from JSON is not the tuple that it was.
            value = json.dumps(trial["options"].get(name))
            groups.setdefault(value, []).append(statistics.mean(trial["dev_map"]))
        means = (f"{value}: {statistics.mean(maps):.3f} ({len(maps)})" for value, maps in groups.items())
        print(f"{name}: " + ", ".join(means))
