"""HyperQA under every reading of Eq. 9, and CosineQA, each at the learning rate that suits it on dev.

    python reproduce/studies/eq9.py --dataset wikiqa --dimensions 50 100 200 300

Tunes the learning rate of every condition with seeds of its own, the test split unseen; trains all seeds at
the chosen rates; sums up quality, convergence, norms and the share of texts on the ball's edge, and draws the
figure. A seed takes about 20 s of one core on WikiQA. A study that was killed goes on with the seed that it
was at. A condition that diverges is reported as such.

With --record eq9/wikiqa the summary and the trials are kept in reproduce/results/ and the figure in docs/,
from which docs/eq9.md is made; else they stay in the output folder.
"""

import gc
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro
from tqdm import tqdm

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import (
    atomic_write,
    check_writable,
    held_folder,
    remove_leftovers,
)
from answer_ranking.engine import Seed, TrainingData
from answer_ranking.evaluation.figures import save_figure
from answer_ranking.evaluation.metrics import METRICS, per_question, questions_that_count, strictest
from answer_ranking.evaluation.records import read_trials, record_path, save_study
from answer_ranking.evaluation.studies.eq9 import choose_rate, summarise_conditions
from answer_ranking.reports.studies.eq9 import COSINE, TITLES, load_study, study_table
from answer_ranking.reports.studies.eq9_figure import study_figure
from answer_ranking.reproduce import hyperqa_trecqa, hyperqa_wikiqa
from answer_ranking.reproduce.experiments.hyperqa import cosineqa, hyperqa, train
from answer_ranking.reproduce.experiments.options import (
    RESULTS,
    TRIALS,
    DataOptions,
    Experiment,
    figures_folder,
)
from answer_ranking.reproduce.experiments.run import facts, load_data
from answer_ranking.training.options import Eq9, check_range

if TYPE_CHECKING:
    import keras

Condition = Literal[Eq9, "cosineqa"]
"""A reading of Eq. 9, or CosineQA."""

FIRST_TUNING_SEED = 1000
# Convergence is the first epoch at this share of the best condition's mean best dev MAP.
LEVEL = 0.95
_DATA = {
    "wikiqa": hyperqa_wikiqa.DATA,
    "trecqa": hyperqa_trecqa.TRAIN_ALL,
    "sample": DataOptions(dataset="sample"),
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """The options of the study; whatever is no option here is as in the data set's own script."""

    dataset: Literal["wikiqa", "trecqa", "sample"] = "wikiqa"
    """Name of the data set; trecqa is TRAIN-ALL, clean."""
    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated."""
    conditions: tuple[Condition, ...] = tuple(TITLES)
    """What to compare: HyperQA under readings of Eq. 9, and CosineQA."""
    learning_rates: tuple[float, ...] = (0.03, 0.1, 0.3)
    """The rates to choose from on dev; more of them add trials to those that are recorded."""
    tuning_seeds: int = 3
    """How many seeds a trial of a rate has; they begin at 1000, the study's own at 0."""
    seeds: int = 10
    """How many seeds of every condition to train at its rate."""
    dimension: int = 400
    """d, the size of text vectors in the main comparison."""
    dimensions: tuple[int, ...] = ()
    """Further sizes at which to do the same, the tuning too (Fig. 3)."""
    size_seeds: int = 5
    """How many seeds to train at each further size."""
    epochs: int = 25
    """Passes over the training data."""
    max_norm: float = 0.7
    """Largest norm of a text vector in the ball."""
    clip_norm: float | None = 1.0
    """Largest norm of the whole gradient after its conversion, for all conditions; None for no limit."""
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    embeddings_home: Path | None = None
    """Folder of word-vector files; else QA_EMBEDDINGS_HOME."""
    output: Path = Path("outputs")
    """Folder of the finished seeds, from which a study goes on."""
    record: str | None = None
    """Keep summary and trials under this name, such as eq9/wikiqa."""
    results: Path = RESULTS
    """With --record: the folder of the records, and of the figure if it is not the usual one."""

    def __post_init__(self) -> None:
        check_range(self, "seeds", "tuning_seeds", "size_seeds", at_least=1, at_most=FIRST_TUNING_SEED)
        check_range(self, "epochs", at_least=1)
        for name in ("conditions", "learning_rates", "dimensions"):
            values = getattr(self, name)
            if len(set(values)) < len(values) or (not values and name != "dimensions"):
                raise UserError(f"{name} must be different values, at least one. Received: {values}")
        for rate in self.learning_rates:
            for dimension in self.sizes:
                self.experiment("none", rate, dimension)  # refuses what is out of range

    @property
    def sizes(self) -> dict[int, int]:
        """The number of seeds by size, the main one first."""
        further = dict.fromkeys(self.dimensions, self.size_seeds)
        return {self.dimension: self.seeds} | further | {self.dimension: self.seeds}

    @property
    def summary(self) -> Path:
        """The file of the summary; the trials stand beside it."""
        return (
            record_path(self.results, self.record)
            if self.record
            else self.output / "eq9" / f"{self.dataset}.json"
        )

    @property
    def figure(self) -> Path:
        """The file of the figure."""
        folder = figures_folder(self.results) if self.record else self.summary.parent
        return folder / f"eq9-{self.summary.stem}.png"

    def experiment(self, condition: str, learning_rate: float, dimension: int) -> Experiment:
        """State the experiment of a condition."""
        build, reading = (cosineqa, {}) if condition == COSINE else (hyperqa, {"eq9": condition})
        names = ("embeddings", "epochs", "max_norm", "clip_norm", "data_home", "embeddings_home")
        given = {name: getattr(self, name) for name in names}
        chosen = {"learning_rate": learning_rate, "dimension": dimension}
        return build(_DATA[self.dataset], **given, **chosen, **reading)


def run_key(experiment: Experiment, data: TrainingData) -> str:
    """Name a condition's experiment by a hash of its options and data."""
    text = json.dumps([experiment.configuration, data.data_hash], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def fit_seed(
    experiment: Experiment, data: TrainingData, seed: Seed
) -> "tuple[keras.Model | None, dict[str, Any]]":
    """Train one seed; return no model and `diverged`, or the model, its `best_epoch` and `history`."""
    from answer_ranking.training import TrainingDivergedError

    gc.collect()  # Models refer to themselves in circles: hundreds of them would fill the memory.
    try:
        model, fitted = train(experiment, data, seed)
    except TrainingDivergedError as error:
        return None, {"diverged": str(error)}
    return model, {"best_epoch": fitted.best_epoch, "history": fitted.history}


def tune(
    config: Config, data: TrainingData, condition: str, dimension: int, path: Path, done: Callable
) -> dict[str, Any]:
    """Choose the learning rate of a condition on dev, trying what `path` does not hold yet.

    `done` is called after every trial. Returns what `evaluation.studies.eq9.choose_rate` returns.
    """
    tried = []
    for rate in config.learning_rates:
        experiment = config.experiment(condition, rate, dimension)
        key = run_key(experiment, data)
        for seed in range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + config.tuning_seeds):
            trials = read_trials(path, ("key", "seed", "learning_rate"))
            trial = next((each for each in trials if (each["key"], each["seed"]) == (key, seed)), None)
            if trial is None:
                trial = {"key": key, "condition": condition, "dimension": dimension}
                trial |= {"learning_rate": rate, "seed": seed}
                began = time.perf_counter()
                _, fitted = fit_seed(experiment, data, Seed(seed))
                if "diverged" in fitted:
                    trial |= fitted
                else:
                    trial["dev_map"] = round(fitted["history"][fitted["best_epoch"]]["dev_map"], 6)
                    trial["best_epoch"] = fitted["best_epoch"] + 1
                trial["seconds"] = round(time.perf_counter() - began, 1)
                with atomic_write(path) as file:
                    file.writelines(json.dumps(each) + "\n" for each in [*trials, trial])
            tried.append(trial)
            done()
    return choose_rate(tried)


def measure_seed(experiment: Experiment, data: TrainingData, seed: int, rule: str, path: Path) -> dict:
    """Train one seed at the chosen rate and keep what `summarise_conditions` wants of it, or read that."""
    from answer_ranking.training import NormTracker
    from answer_ranking.training.scoring import score

    if path.exists():
        try:
            return json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise UserError(f"{path} is damaged ({error}). Remove it to train this seed again.") from error
    tracker = NormTracker(data.dev, experiment.model.max_norm)
    model, fitted = fit_seed(experiment, data, Seed(seed, callbacks=(tracker,)))
    found = {"seed": seed, "reading": experiment.training.eq9, **fitted}
    if model is not None:
        table = per_question(data.test, score(model, data.test))
        table = table[questions_that_count(table, rule)]
        test = {"question_ids": table.index.tolist(), **{name: table[name].tolist() for name in METRICS}}
        found |= {"norms": tracker.rows, "test": test}
    with atomic_write(path) as file:
        json.dump(found, file)
    return found


def refuse_to_lose(config: Config) -> None:
    """Refuse to put a study in the place of a recorded one that has more."""
    if not config.summary.exists():
        return
    record = load_study(config.summary)
    if record["dataset"] != config.dataset:
        raise UserError(f"{config.summary} is a study of {record['dataset']}. Give another --record.")
    sizes = dict.fromkeys(each["dimension"] for each in record["conditions"])
    seeds = {size: record["size_seeds" if place else "seeds"] for place, size in enumerate(sizes)}
    more = {
        "conditions": {each["condition"] for each in record["conditions"]} - set(config.conditions),
        "sizes": seeds.keys() - config.sizes.keys(),
        "learning rates": set(record["tuning"]["learning_rates"]) - set(config.learning_rates),
        "seeds": {f"{n} at d = {d}" for d, n in seeds.items() if n > config.sizes.get(d, n)},
        "tuning seeds": {record["tuning"]["seeds"]} - set(range(config.tuning_seeds + 1)),
    }
    if lost := [f"{name} {', '.join(map(str, sorted(each)))}" for name, each in more.items() if each]:
        raise UserError(
            f"{config.summary} is a study with more than this one would have: {'; '.join(lost)}. Ask for "
            "these too, or give another --record."
        )


def study(config: Config) -> Path:
    """Do what of the study is not done yet, sum it up, and draw the figure; return the summary's file.

    A UserError says that data are missing, a file is damaged, a folder cannot be written to, or a recorded
    study has more than this one.
    """
    refuse_to_lose(config)
    trials = config.summary.with_suffix(TRIALS)
    for folder in (config.summary.parent, config.figure.parent, config.output):
        check_writable(folder)
        remove_leftovers(folder)
    base = config.experiment("none", config.learning_rates[0], config.dimension)
    data = load_data(base.data)
    protocols = data.dataset.description.protocols
    protocol = strictest(protocols)
    record = facts(base, data)
    del record["model"]
    for name in ("model", "eq9", "learning_rate", "dimension"):
        del record["configuration"][name]
    record |= {
        "study": "eq9",
        "title": data.title,
        "protocol": protocol,
        "seeds": config.seeds,
        "size_seeds": config.size_seeds,
        "level": LEVEL,
        "tuning": {
            "learning_rates": sorted(config.learning_rates),
            "seeds": config.tuning_seeds,
            "first_seed": FIRST_TUNING_SEED,
            "chosen_by": "highest mean of best dev MAP; a rate at which a seed diverges is out",
            "trials": trials.name,
        },
        "conditions": [],
    }
    tunings = len(config.learning_rates) * config.tuning_seeds
    total = sum(len(config.conditions) * (tunings + seeds) for seeds in config.sizes.values())
    bar = tqdm(total=total, desc=data.title, unit="seed", dynamic_ncols=True)
    with held_folder(config.output / "eq9" / config.summary.stem), bar:
        for dimension, seeds in config.sizes.items():
            tuned, runs = {}, {}
            for condition in config.conditions:
                bar.set_postfix_str(f"d = {dimension}, {condition}")
                tuned[condition] = tune(config, data, condition, dimension, trials, bar.update)
                rate, runs[condition] = tuned[condition]["learning_rate"], []
                if rate is None:
                    bar.update(seeds)
                    continue
                chosen = config.experiment(condition, rate, dimension)
                folder = config.output / "eq9" / run_key(chosen, data)
                remove_leftovers(folder)
                for seed in range(seeds):
                    path = folder / f"seed-{seed}.json"
                    runs[condition].append(measure_seed(chosen, data, seed, protocols[protocol], path))
                    bar.update()
            record["conditions"] += summarise_conditions(dimension, tuned, runs, LEVEL)
    refuse_to_lose(config)
    save_study(record, config.summary)
    title = f"{data.title}, {protocol}"
    save_figure(study_figure(record["conditions"], max_norm=config.max_norm, title=title), config.figure)
    for dimension in config.sizes:
        print(f"\nd = {dimension}\n")
        print(study_table([each for each in record["conditions"] if each["dimension"] == dimension]))
    print(f"\nSummary: {config.summary}\nFigure: {config.figure}")
    return config.summary


if __name__ == "__main__":
    run_command(lambda: study(tyro.cli(Config, description=__doc__)))
