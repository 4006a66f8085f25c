"""Equal budgets: choose a model's options on dev and measure it on test, in the same way for every model.

    python reproduce/studies/equal_budget.py --model hyperqa --dataset wikiqa --record fair/wikiqa/hyperqa
    python reproduce/studies/equal_budget.py --model ctrn --variant TRAIN --record fair/trecqa-train/ctrn

A trial is one training, with options drawn at random: those that all models share (`SHARED`, and factors on
learning rate and batch size), and the model's own (`SPACE` in reproduce/experiments/). The values of earlier
searches are none of them: these were of unequal length. The same number of a trial draws the same shared
options for every model. An option that is drawn cannot be given. A trial stops early once its best dev MAP is
below the median of the trials before. The best trial on dev is trained with fresh seeds, which are scored on
test. Without --record nothing is scored on test.

A search that was interrupted goes on, and one with more --trials adds to it. Seconds are those of the
processor, which do not depend on what else the machine does.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.engine import Seed, Study, TrainingData
from answer_ranking.engine.study import Condition, Row, as_json, outcome, read_rows
from answer_ranking.engine.training_run import key_of
from answer_ranking.evaluation.records import read_trials
from answer_ranking.models.catalogue import CATALOGUE, Entry
from answer_ranking.reproduce.experiments.data_options import data_options_of
from answer_ranking.reproduce.experiments.options import TRIALS, Experiment, StudyOptions, parse
from answer_ranking.reproduce.experiments.run import Run, questions_per_second, slug, train
from answer_ranking.training.options import check_range

if TYPE_CHECKING:
    import keras

SHARED = {
    "l2": (0.0, 1e-6, 1e-5, 1e-4),
    "dropout": (0.0, 0.1, 0.3, 0.5),
    "embedding_dropout": (0.0, 0.1, 0.2, 0.4),
}
FACTORS = {"learning_rate": (0.25, 0.5, 1, 2, 4), "batch_size": (0.25, 0.5, 1, 2)}
"""On the value that the experiment has: the paper's, or what is usual for its optimizer."""
CHANGED = {
    "hyperqa": {"learning_rate": 0.1},
    # QA-CNN as the others, whatever its paper has: single pairs take 20 times as long.
    "attentive_pooling": {
        "learning_rate": 1.1,
        "batch_size": 20,
        "share_negatives": True,
        "word_vector_norm": 2.0,
    },
}
"""By paper, what differs from its own experiments."""
# The median of fewer trials says little, and so does the first fifth of a training.
FIRST_STOPPED, FIRST_SHARE = 5, 0.2


@dataclass(frozen=True, kw_only=True)
class BudgetOptions(StudyOptions):
    """How long to search, and what is measured then."""

    trials: int = 24
    """How many trials the search has, those of before included."""
    search_seed: int = 0
    """Seeds the options that are drawn, and the training of every trial."""
    seeds: int = 10
    """How many seeds of the chosen options to train and to score on test."""
    first_seed: int = 100
    """The first of these seeds; the others follow it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "trials", at_least=1)
        check_range(self, "search_seed", at_least=0, at_most=1_000_000)  # as `first_seed`
        if self.search_seed in self.seed_list:
            raise UserError(f"search_seed {self.search_seed} is a seed for test. Choose another one.")


def presets() -> list[Experiment]:
    """State every trained model of the papers, on WikiQA and with `--variant TRAIN` on TrecQA.

    Learning rate and batch size are the middle of what is drawn.
    """
    on_trecqa = {"dataset": "trecqa", "variant": "TRAIN", "mask_numbers": True}
    found = []
    for data in ({"dataset": "wikiqa"}, on_trecqa):
        for entry in CATALOGUE.values():
            if entry.reads_words and entry.printed:
                stated = experiment_on(entry, data).changed(patience=5)
                found.append(replace(stated, run=BudgetOptions()))
    return found


def experiment_on(entry: Entry, data: dict[str, Any]) -> Experiment:
    """State a model of the catalogue on a data set."""
    given = dict(data)
    if entry.takes_features:
        given["overlap_features"] = data["dataset"] == "trecqa"  # as in its paper
    return Experiment.of(entry.name, data_options_of(entry)(**given), **CHANGED.get(entry.paper, {}))


def search_space(experiment: Experiment) -> dict[str, Sequence[Any]]:
    """Give the values of all that is drawn: what all models share, and last the model's own options."""
    return {**FACTORS, **SHARED, **experiment.entry.space}


def draw(experiment: Experiment, number: int) -> dict[str, Any]:
    """Draw the options of a trial."""
    rng = np.random.default_rng([experiment.run.search_seed, number])
    drawn = {}
    # Every shared option is drawn, whether the model has it or not, so that the others do not change.
    for name, values in search_space(experiment).items():
        value = values[rng.integers(len(values))]
        if name in FACTORS:
            value *= getattr(experiment.training, name)
        if name == "batch_size":
            value = max(round(value), 1)
        if name in experiment.configuration:
            drawn[name] = value
    return drawn


def median_stop(trials: Sequence[Mapping[str, Any]]) -> "keras.callbacks.Callback":
    """Make the callback that stops a training below the median of the earlier trials, until its epoch."""
    import keras

    class MedianStop(keras.callbacks.Callback):
        best, stopped = 0.0, False

        def on_epoch_end(self, epoch, logs=None):
            self.best = max(self.best, logs["dev_map"])
            if epoch + 1 < FIRST_SHARE * self.params["epochs"] or len(trials) < FIRST_STOPPED:
                return
            rivals = [max(each["dev_map"][: epoch + 1]) for each in trials]
            if self.best < statistics.median(rivals):
                self.stopped = self.model.stop_training = True

    return MedianStop()


def search(experiment: Experiment, data: TrainingData, path: Path, folder: Path) -> pd.DataFrame:
    """Run the trials that `path` does not hold yet; return as many as were asked for, by their numbers."""
    options = experiment.run
    key = search_key(experiment, data)
    refuse_another_search(experiment, key, path)

    def measure(condition: Condition, seed: Seed) -> dict[str, Any]:
        return run_trial(experiment, data, condition["trial"], seed, read_rows(path))

    study = Study(measure=measure, rows=path, folder=folder, in_turn=True)
    conditions = []
    for number in range(options.trials):
        conditions.append({"key": key, "trial": number, "options": draw(experiment, number)})
    trials = study.frame(conditions, [options.search_seed])
    best = study.best(trials, "trial")
    if best is None:
        raise UserError("every trial diverged: give a lower --learning-rate.")
    return trials.set_index("trial").assign(chosen=trials["trial"].eq(best).to_numpy())


def run_trial(
    experiment: Experiment, data: TrainingData, number: int, seed: Seed, rows: Sequence[Row]
) -> dict[str, Any]:
    """Train one trial; `rows` are those of the trials before, and perhaps later ones."""
    earlier = [row for row in rows if row["trial"] < number and "diverged" not in row]
    stop = median_stop(earlier)
    drawn = experiment.changed(**draw(experiment, number))
    model, fitted = train(drawn, data, Seed(seed.number, callbacks=(stop,)))
    return {
        "dev_map": [round(epoch["dev_map"], 6) for epoch in fitted.history],
        "parameters": sum(int(np.prod(v.shape)) for v in model.trainable_variables),
        "stopped": stop.stopped,
    }


def refuse_drawn(experiment: Experiment) -> None:
    """Refuse an option that the search draws, since what the user gives would have no effect."""
    usual = [each.configuration for each in presets() if each.name == experiment.name]
    for name in search_space(experiment).keys() - FACTORS:
        given = experiment.configuration.get(name)
        if usual and given not in [each.get(name) for each in usual]:
            raise UserError(f"the search draws {name}: leave --{name.replace('_', '-')} out.")


def search_key(experiment: Experiment, data: TrainingData) -> str:
    """Identify a search by what its trials depend on beside the options that are drawn."""
    given = dict(experiment.configuration)
    for name in search_space(experiment).keys() - FACTORS:
        given.pop(name, None)
    return key_of(given, data.data_hash, experiment.run.search_seed)


def refuse_another_search(experiment: Experiment, key: str, path: Path) -> None:
    """Refuse trials that would be drawn in another way now, or are those of other data."""
    for row in read_trials(path, ("key", "trial", "options", "seconds")):
        if row["key"] != key or row["options"] != as_json(draw(experiment, row["trial"])):
            raise UserError(
                f"{path} is a search of other options or data. Remove it, or give another --record."
            )


def equal_budget(experiment: Experiment) -> Run | None:
    """Search the options of an experiment; with --record train and measure the best."""
    options = experiment.run
    paper = experiment.entry.paper
    name = slug(experiment.data.dataset, experiment.data.variant or "", experiment.name)
    path = options.output / "equal_budget" / f"{name}{TRIALS}"
    if record := options.record_file:
        path = record.with_suffix(TRIALS)
    refuse_drawn(experiment)
    data = experiment.data.load()
    if options.record:
        Run(paper, experiment, data)  # refuses to lose a record before the search, not after it
    folder = options.output / "equal_budget" / slug(options.record or name)
    trials = search(experiment, data, path, folder)
    best = trials[trials["chosen"]].iloc[0]
    print(f"The best on dev: trial {best.name}, {outcome(best, 'dev_map')}, {best['options']}")
    print(f"Trials: {path}", flush=True)
    if options.record is None:
        return None
    run = Run(paper, experiment.changed(**draw(experiment, int(best.name))), data)
    run.train_seeds()
    write(run, trials, best)
    return run


def write(run: Run, trials: pd.DataFrame, best: pd.Series) -> None:
    """Write the records of the chosen trial's seeds."""
    from answer_ranking.training.scoring import make_scorer

    test = run.data.test
    scorer = make_scorer(run.model, test, run.data.order_seed)
    speed = questions_per_second(scorer, len(test.question_ids))
    found = {
        "chosen": int(best.name),
        "trials": len(trials),
        "stopped": int(trials["stopped"].eq(True).sum()),
        "diverged": int(trials["diverged"].notna().sum()),
        "search_seed": run.experiment.run.search_seed,
        "seconds": round(float(trials["seconds"].sum()), 1),
    }
    run.write(search=found, training_seconds=best["seconds"], questions_per_second=speed)


if __name__ == "__main__":
    run_command(lambda: equal_budget(parse(__doc__, presets())))
