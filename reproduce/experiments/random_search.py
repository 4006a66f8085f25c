"""A hyperparameter search: trials with options drawn at random, of which dev chooses one."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.encoded_split import join_splits
from answer_ranking.engine import Seed, Study, TrainingData
from answer_ranking.engine.study import Condition, Row, as_json, outcome, read_rows
from answer_ranking.engine.training_run import as_before, key_of
from answer_ranking.evaluation.records import read_trials
from answer_ranking.models.sizes import n_trained
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import Run, questions_per_second, train

if TYPE_CHECKING:
    import keras

# The median of fewer trials says little, and so does the first fifth of a training.
FIRST_STOPPED, FIRST_SHARE = 5, 0.2


@dataclass(frozen=True, kw_only=True)
class RandomSearch:
    """How the options of an experiment are searched.

    The same number of a trial draws the same options for every model: `factors` and `space` are drawn in
    their order, also those that the model does not have.

    Attributes:
        experiment: the model and data; its own value of an option is what a factor multiplies.
        factors: values by which an option, such as the learning rate, is multiplied.
        space: the values of the other options.
        trials: how many trials there are, those of before included.
        seed: seeds the draw, and the training of every trial.
        stops_early: with one fold, stop a trial once its best dev MAP is below the median of those before.
        folds: 1 to measure a trial on dev; more to measure it on each of so many parts of train and dev
            together, trained on the rest, where dev alone has too few questions to choose.
    """

    experiment: Experiment
    factors: Mapping[str, Sequence[float]]
    space: Mapping[str, Sequence[Any]]
    trials: int
    seed: int
    stops_early: bool = True
    folds: int = 1

    def draw(self, number: int) -> dict[str, Any]:
        """Draw the options of a trial."""
        rng = np.random.default_rng([self.seed, number])
        drawn = {}
        for name, values in {**self.factors, **self.space}.items():
            value = values[int(rng.integers(len(values)))]
            if name in self.factors:
                value *= getattr(self.experiment.training, name)
                if name == "batch_size":
                    value = max(round(value), 1)
            if name in self.experiment.configuration:
                drawn[name] = value
        return drawn

    def run(self, data: TrainingData, path: Path, folder: Path) -> pd.DataFrame:
        """Run the trials that `path` does not hold yet; return as many as were asked for, by their numbers.

        The column `chosen` marks the best one on dev. A UserError says that `path` is another search's, or
        that every trial diverged.
        """
        key = self.key(data)
        self._refuse_another(key, path)
        splits = folds_of(data, self.folds)

        def measure(condition: Condition, seed: Seed) -> dict[str, Any]:
            return self._trial(splits, condition["trial"], seed, read_rows(path))

        in_turn = self._may_stop(splits)
        study = Study(measure=measure, rows=path, folder=folder, in_turn=in_turn)
        conditions = []
        for number in range(self.trials):
            conditions.append({"key": key, "trial": number, "options": self.draw(number)})
        trials = study.frame(conditions, [self.seed])
        best = study.best(trials, "trial")
        if best is None:
            raise UserError("every trial diverged: give a lower --learning-rate.")
        trials = trials.set_index("trial").assign(chosen=trials["trial"].eq(best).to_numpy())
        print(f"The best on dev: trial {best}, {outcome(trials.loc[best], 'dev_map')}, {self.draw(best)}")
        print(f"Trials: {path}", flush=True)
        return trials

    def key(self, data: TrainingData) -> str:
        """Identify a search by what its trials depend on beside the options that are drawn."""
        given = as_before(self.experiment.configuration)
        for name in self.space:
            given.pop(name, None)
        parts = [given, data.data_hash, self.seed]
        return key_of(*parts, self.folds) if self.folds > 1 else key_of(*parts)

    def record(self, trials: pd.DataFrame, data: TrainingData, **further: Any) -> Run:
        """Train the chosen options with the seeds of the experiment, score test, and write the record.

        `further` are facts about the search, beside those that are always recorded.
        """
        from answer_ranking.training.scoring import make_scorer

        best = trials[trials["chosen"]].iloc[0]
        chosen = self.experiment.changed(**self.draw(int(best.name)))
        run = Run(self.experiment.entry.paper, chosen, data)
        run.train_seeds()
        scorer = make_scorer(run.model, data.test)
        speed = questions_per_second(scorer, len(data.test.question_ids))
        found = {
            "chosen": int(best.name),
            "trials": len(trials),
            "stopped": int(trials["stopped"].eq(True).sum()),
            "diverged": int(trials["diverged"].notna().sum()),
            "search_seed": self.seed,
            "seconds": round(float(trials["seconds"].sum()), 1),
            **further,
        }
        seconds = round(best["seconds"] / self.folds, 1)
        # The most memory of the process is that of another trial.
        run.write(search=found, training_seconds=seconds, questions_per_second=speed, peak_memory=None)
        return run

    def _trial(
        self, splits: Sequence[TrainingData], number: int, seed: Seed, rows: Sequence[Row]
    ) -> dict[str, Any]:
        """Train one trial; `rows` are those of the trials before, and perhaps later ones."""
        earlier = [row for row in rows if row["trial"] < number and "diverged" not in row]
        stop = median_stop(earlier if self._may_stop(splits) else [])
        drawn = self.experiment.changed(**self.draw(number))
        curves = []
        for data in splits:
            model, fitted = train(drawn, data, Seed(seed.number, callbacks=(stop,)))
            curves.append([round(epoch["dev_map"], 6) for epoch in fitted.history])
        found = {"dev_map": curves[0], "stopped": stop.stopped}
        if len(curves) > 1:
            best = [max(curve) for curve in curves]
            found |= {"dev_map": round(statistics.fmean(best), 6), "dev_map_of_folds": best}
        return found | {"parameters": n_trained(model)}

    def _may_stop(self, splits: Sequence[TrainingData]) -> bool:
        """Tell whether a trial may end where it falls behind those before it."""
        return self.stops_early and len(splits) == 1

    def _refuse_another(self, key: str, path: Path) -> None:
        """Refuse trials that would be drawn in another way now, or are those of other data."""
        for row in read_trials(path, ("key", "trial", "options", "seconds")):
            if row["key"] != key or row["options"] != as_json(self.draw(row["trial"])):
                raise UserError(
                    f"{path} is a search of other options or data. Remove it, or give another --record."
                )


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


def folds_of(data: TrainingData, folds: int) -> list[TrainingData]:
    """Divide the questions of train and dev at random: each part is dev of one fold, the rest its train.

    The division is always the same. One fold is the data as they are. A UserError says that a question is in
    train and in dev.
    """
    if folds == 1:
        return [data]
    joined = join_splits(data.train, data.dev)
    part = np.random.default_rng(0).permutation(joined.n_questions) % folds
    found = []
    for number in range(folds):
        train, dev = joined.keep_questions(part != number), joined.keep_questions(part == number)
        found.append(data.with_splits(train=train, dev=dev))
    return found
