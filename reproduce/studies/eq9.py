"""HyperQA under every reading of Eq. 9, and CosineQA, each at the learning rate that suits it on dev.

    python reproduce/studies/eq9.py --dataset wikiqa --dimensions 50 100 200 300

Tunes the learning rate of every condition with seeds of its own, the test split unseen; trains all seeds at
the chosen rates; sums up quality, convergence, norms and the share of texts on the ball's edge, and draws the
figure. A seed takes about 20 s of one core on WikiQA. A study that was killed goes on with the seed that it
was at. A condition that diverges is reported as such.

With --record eq9/wikiqa the summary and the trials are kept in reproduce/results/ and the figure in docs/,
from which docs/eq9.md is made; else they stay in the output folder.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable
from answer_ranking.base.ranges import check_range
from answer_ranking.engine import Seed, Study, StudyRecord, TrainingData
from answer_ranking.engine.study import Condition, present
from answer_ranking.engine.training_run import as_before, key_of
from answer_ranking.evaluation.eq9_summary import choose_rate, summarise_conditions
from answer_ranking.evaluation.figures import save_figure
from answer_ranking.evaluation.metrics import METRICS, per_question, questions_that_count, strictest
from answer_ranking.reports.studies.eq9_figure import study_figure
from answer_ranking.reports.studies.eq9_page import COSINE, TITLES, study_table
from answer_ranking.reproduce import hyperqa_trecqa, hyperqa_wikiqa
from answer_ranking.reproduce.experiments.data_options import DataOptions, EmbeddingsHome
from answer_ranking.reproduce.experiments.options import (
    TRIALS,
    Experiment,
    RecordOptions,
    figures_folder,
)
from answer_ranking.reproduce.experiments.run import facts, train
from answer_ranking.training.options import Eq9

if TYPE_CHECKING:
    import keras

ConditionName = Literal[Eq9, "cosineqa"]
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
class Eq9Options(RecordOptions, EmbeddingsHome):
    """What the studies of Eq. 9 have in common; whatever is no option has HyperQA's default."""

    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated."""
    dimension: int = 400
    """d, the size of text vectors."""
    epochs: int = 25
    """Passes over the training data."""
    output: Path = Path("outputs")
    """Folder of the finished seeds, from which a study goes on."""

    def check_different(self, *names: str) -> None:
        """Refuse with a UserError an option that has a value twice, or none."""
        for name in names:
            values = getattr(self, name)
            if len(set(values)) < len(values) or not values:
                raise UserError(f"{name} must be different values, at least one. Received: {values}")


@dataclass(frozen=True, kw_only=True)
class Config(Eq9Options):
    """The options of the study; whatever is no option here has HyperQA's default."""

    dataset: Literal["wikiqa", "trecqa", "sample"] = "wikiqa"
    """Name of the data set; trecqa is TRAIN-ALL, clean."""
    conditions: tuple[ConditionName, ...] = tuple(TITLES)  # type: ignore[arg-type]
    """What to compare: HyperQA under readings of Eq. 9, and CosineQA."""
    learning_rates: tuple[float, ...] = (0.03, 0.1, 0.3)
    """The rates to choose from on dev; more of them add trials to those recorded with the same options."""
    tuning_seeds: int = 3
    """How many seeds a trial of a rate has; they begin at 1000, the study's own at 0."""
    seeds: int = 10
    """How many seeds of every condition to train at its rate."""
    dimensions: tuple[int, ...] = ()
    """Further sizes at which to do the same, the tuning too (Fig. 3)."""
    size_seeds: int = 5
    """How many seeds to train at each further size."""
    max_norm: float = 0.7
    """Largest norm of a text vector in the ball."""
    clip_norm: float | None = 1.0
    """Largest norm of the whole gradient after its conversion, for all conditions; None for no limit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "seeds", "tuning_seeds", "size_seeds", at_least=1, at_most=FIRST_TUNING_SEED)
        check_range(self, "epochs", at_least=1)
        self.check_different("conditions", "learning_rates")
        if self.dimensions:
            self.check_different("dimensions")
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
        return self.record_file or self.output / "eq9" / f"{self.dataset}.json"

    @property
    def trials(self) -> Path:
        """The file of the trials of rates."""
        return self.summary.with_suffix(TRIALS)

    @property
    def extent(self) -> dict[str, Any]:
        """What the study covers."""
        return {
            "conditions": self.conditions,
            "learning rates": self.learning_rates,
            "tuning seeds": self.tuning_seeds,
            **extent_of_sizes(self.sizes),
        }

    @property
    def figure(self) -> Path:
        """The file of the figure."""
        folder = figures_folder(self.results) if self.record else self.summary.parent
        return folder / f"eq9-{self.summary.stem}.png"

    def experiment(self, condition: str, learning_rate: float, dimension: int) -> Experiment:
        """State the experiment of a condition."""
        name, reading = ("cosineqa", {}) if condition == COSINE else ("hyperqa", {"eq9": condition})
        names = ("embeddings", "epochs", "max_norm", "clip_norm", "data_home", "embeddings_home")
        given = {name: getattr(self, name) for name in names}
        chosen = {"learning_rate": learning_rate, "dimension": dimension}
        return Experiment.of(name, _DATA[self.dataset], **given, **chosen, **reading)


def study(config: Config) -> Path:
    """Do what of the study is not done yet, sum it up, and draw the figure; return the summary's file.

    A UserError says that data are missing, a file is damaged, a folder cannot be written to, or a recorded
    study has more than this one.
    """
    subject, needed = {"dataset": config.dataset}, ("seeds", "size_seeds", "tuning", "conditions")
    record = StudyRecord(config.summary, subject, config.extent, extent_of, needed)
    check_writable(config.figure.parent)
    base = config.experiment("none", config.learning_rates[0], config.dimension)
    data = base.data.load()
    protocol = strictest(data.dataset.description.protocols)
    conditions: list[dict[str, Any]] = []
    for dimension, seeds in config.sizes.items():
        tuned = tune(config, data, dimension)
        runs = train_chosen(config, data, dimension, seeds, tuned)
        summaries = summarise_conditions(dimension, tuned, runs, LEVEL)
        print(f"\nd = {dimension}\n\n{study_table(summaries)}\n", flush=True)
        conditions += summaries
    about = facts(base, data)
    del about["model"]
    for name in ("model", "eq9", "learning_rate", "dimension"):
        del about["configuration"][name]
    about |= {
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
            "trials": config.trials.name,
        },
    }
    record.write({**about, "conditions": conditions})
    title = f"{data.title}, {protocol}"
    save_figure(study_figure(conditions, max_norm=config.max_norm, title=title), config.figure)
    print(f"Figure: {config.figure}")
    return config.summary


def extent_of(record: dict[str, Any]) -> dict[str, Any]:
    """Say what a recorded study covers."""
    sizes: dict[int, int] = {}
    for each in record["conditions"]:
        # The main size comes first.
        sizes.setdefault(each["dimension"], record["size_seeds" if sizes else "seeds"])
    return {
        "conditions": {each["condition"] for each in record["conditions"]},
        "learning rates": record["tuning"]["learning_rates"],
        "tuning seeds": record["tuning"]["seeds"],
        **extent_of_sizes(sizes),
    }


def extent_of_sizes(sizes: dict[int, int]) -> dict[str, Any]:
    """Say how many seeds every size has."""
    return {"sizes": set(sizes)} | {f"seeds at d = {size}": seeds for size, seeds in sizes.items()}


def tune(config: Config, data: TrainingData, dimension: int) -> dict[str, dict[str, Any]]:
    """Choose the learning rate of every condition on dev; gives what `choose_rate` returns."""
    tried = []
    for name in config.conditions:
        for rate in config.learning_rates:
            configuration = config.experiment(name, rate, dimension).configuration
            key = key_of(as_before(configuration), data.data_hash)
            tried.append({"key": key, "condition": name, "dimension": dimension, "learning_rate": rate})

    def measure(condition: Condition, seed: Seed) -> dict[str, Any]:
        rate = condition["learning_rate"]
        experiment = config.experiment(condition["condition"], rate, dimension)
        _, fitted = train(experiment, data, Seed(seed.number))
        dev_map = round(fitted.history[fitted.best_epoch]["dev_map"], 6)
        return {"dev_map": dev_map, "best_epoch": fitted.best_epoch + 1}

    tuning = Study(measure=measure, rows=config.trials, folder=config.output / "eq9")
    seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + config.tuning_seeds)
    trials = tuning.frame(tried, seeds)
    by_condition = trials.groupby("condition", sort=False)
    return {name: choose_rate(present(own)) for name, own in by_condition}


def train_chosen(
    config: Config, data: TrainingData, dimension: int, seeds: int, tuned: dict[str, dict[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    """Train all seeds at the chosen rates; gives what `summarise_conditions` wants, by condition."""
    experiments, conditions = {}, []
    for name, choice in tuned.items():
        if choice["learning_rate"] is not None:
            experiments[name] = config.experiment(name, choice["learning_rate"], dimension)
            key = key_of(as_before(experiments[name].configuration), data.data_hash)
            conditions.append({"key": key, "condition": name})

    def measure(condition: Condition, seed: Seed) -> dict[str, Any]:
        return measure_seed(experiments[condition["condition"]], data, seed.number)

    rows = config.output / "eq9" / f"{config.summary.stem}.jsonl"
    trained = Study(measure=measure, rows=rows, folder=config.output / "eq9")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in tuned}
    for row in present(trained.frame(conditions, range(seeds))):
        found[row["condition"]].append(row)
    return found


def measure_seed(experiment: Experiment, data: TrainingData, number: int) -> dict[str, Any]:
    """Train one seed at the chosen rate; gives curves, norms, and the metrics of every test question."""
    from answer_ranking.training import NormTracker

    tracker = NormTracker(data.dev, experiment.model.max_norm)
    model, fitted = train(experiment, data, Seed(number, callbacks=(tracker,)))
    table = measured_on_test(model, data)
    test = {"question_ids": table.index.tolist(), **{name: table[name].tolist() for name in METRICS}}
    return {
        "reading": experiment.configuration["eq9"],
        "best_epoch": fitted.best_epoch,
        "history": fitted.history,
        "norms": tracker.rows,
        "test": test,
    }


def measured_on_test(model: "keras.Model", data: TrainingData) -> pd.DataFrame:
    """Give the metrics of every test question that counts under the strictest protocol."""
    from answer_ranking.training.scoring import score

    protocols = data.dataset.description.protocols
    table = per_question(data.test, score(model, data.test))
    return table[questions_that_count(table, protocols[strictest(protocols)])]


if __name__ == "__main__":
    run_command(lambda: study(tyro.cli(Config, description=__doc__)))
