"""A fair fight: choose a model's options on dev and measure it on test, in the same way for every model.

    python reproduce/studies/fair.py --model hyperqa --dataset wikiqa --record fair/wikiqa/hyperqa
    python reproduce/studies/fair.py --model ctrn --variant TRAIN --record fair/trecqa-train/ctrn

A trial is one training, with options drawn at random: those that all models share (`SHARED`, and factors on
learning rate and batch size), and the model's own (`SPACE` in reproduce/experiments/). The values of earlier
searches are none of them: these were of unequal length. The same number of a trial draws the same shared
options for every model. An option that is drawn cannot be given. A trial stops early once its best dev MAP is
below the median of the trials before. The best trial on dev is trained with fresh seeds, which are scored on
test. Without --record nothing is scored on test.

A search that was interrupted goes on, and one with more --trials adds to it. Seconds are those of the
processor, which do not depend on what else the machine does.
"""

import gc
import hashlib
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, check_writable, held_folder
from answer_ranking.engine import Seed, TrainingData
from answer_ranking.evaluation.records import read_trials, record_path
from answer_ranking.models.catalogue import of_paper
from answer_ranking.reproduce.experiments.data_options import DataOptions, OverlapData, ScaledData
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
# The median of fewer trials says little, and so does the first fifth of a training.
FIRST_STOPPED, FIRST_SHARE = 5, 0.2


@dataclass(frozen=True, kw_only=True)
class FairOptions(StudyOptions):
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
    found = []
    for data in ({"dataset": "wikiqa"}, {"dataset": "trecqa", "variant": "TRAIN", "mask_numbers": True}):
        plain, scaled = DataOptions(**data), ScaledData(**data, word_vector_norm=2.0)
        found += [Experiment.of(entry.name, plain, learning_rate=0.1) for entry in of_paper("hyperqa")]
        features = OverlapData(**data, overlap_features=data["dataset"] == "trecqa")  # as in its paper
        found += [Experiment.of(name, features) for name in ("ctrn", "qrnn", "lstm")]
        found += [Experiment.of(entry.name, plain) for entry in of_paper("cosinet")]
        # QA-CNN as the others, whatever its paper has: single pairs take 20 times as long.
        alike = {"learning_rate": 1.1, "batch_size": 20, "share_negatives": True}
        found += [Experiment.of(entry.name, scaled, **alike) for entry in of_paper("attentive_pooling")]
    return [replace(each.changed(patience=5), run=FairOptions()) for each in found]


def draw(experiment: Experiment, number: int) -> dict[str, Any]:
    """Draw the options of a trial."""
    rng = np.random.default_rng([experiment.run.search_seed, number])
    # Every shared option is drawn, whether the model has it or not, so that the others do not change.
    space = FACTORS | SHARED | dict(experiment.entry.space)
    drawn = {name: values[rng.integers(len(values))] for name, values in space.items()}
    for name in FACTORS:
        value = drawn[name] * getattr(experiment.training, name)
        drawn[name] = value if name == "learning_rate" else max(round(value), 1)
    return {name: value for name, value in drawn.items() if name in experiment.configuration}


def best_until(trial: dict[str, Any], epoch: int) -> float:
    """Return the best dev MAP of a trial up to an epoch, from 0."""
    return max(trial["dev_map"][: epoch + 1])


def median_stop(trials: Sequence[dict[str, Any]]) -> "keras.callbacks.Callback":
    """Make the callback that stops a training below the median of the earlier trials."""
    import keras

    class MedianStop(keras.callbacks.Callback):
        best, stopped = 0.0, False

        def on_epoch_end(self, epoch, logs=None):
            self.best = max(self.best, logs["dev_map"])
            rivals = [best_until(each, epoch) for each in trials if "diverged" not in each]
            early = epoch + 1 < FIRST_SHARE * self.params["epochs"] or len(rivals) < FIRST_STOPPED
            if not early and self.best < statistics.median(rivals):
                self.stopped = self.model.stop_training = True

    return MedianStop()


def run_trial(experiment: Experiment, data: TrainingData, number: int, earlier: list[dict]) -> dict[str, Any]:
    """Train one trial; return its options and its dev MAP by epoch, or that it diverged."""
    from answer_ranking.training import TrainingDivergedError

    gc.collect()  # Models refer to themselves in circles: hundreds of them would fill the memory.
    options = draw(experiment, number)
    trial: dict[str, Any] = {"trial": number, "options": options}
    stop, began = median_stop(earlier), time.process_time()
    seed = Seed(experiment.run.search_seed, callbacks=(stop,))
    try:
        model, fitted = train(experiment.changed(**options), data, seed)
        trial["dev_map"] = [round(epoch["dev_map"], 6) for epoch in fitted.history]
        trial["parameters"] = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
        trial["stopped"] = stop.stopped
    except TrainingDivergedError as error:
        trial["diverged"] = str(error)
    return trial | {"seconds": round(time.process_time() - began, 1)}


def refuse_drawn(experiment: Experiment) -> None:
    """Refuse an option that the search draws, since what the user gives would have no effect."""
    usual = [each.configuration for each in presets() if each.name == experiment.name]
    for name in SHARED | dict(experiment.entry.space):
        if usual and all(experiment.configuration.get(name) != each.get(name) for each in usual):
            raise UserError(f"the search draws {name}: leave --{name.replace('_', '-')} out.")


def search(experiment: Experiment, data: TrainingData, path: Path) -> list[dict]:
    """Run the trials that `path` does not hold yet; return as many as were asked for."""
    options = experiment.run
    key = search_key(experiment, data)
    trials = trials_so_far(experiment, key, path)
    while len(trials) < options.trials:
        trials.append({"key": key, **run_trial(experiment, data, len(trials), trials)})
        with atomic_write(path) as file:
            file.writelines(json.dumps(each) + "\n" for each in trials)
        print(_line(trials[-1]), flush=True)
    return trials[: options.trials]


def search_key(experiment: Experiment, data: TrainingData) -> str:
    """Identify a search by what its trials depend on beside the options that are drawn."""
    drawn = SHARED | dict(experiment.entry.space)
    given = {name: value for name, value in experiment.configuration.items() if name not in drawn}
    parts = [given, data.data_hash, experiment.run.search_seed]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def trials_so_far(experiment: Experiment, key: str, path: Path) -> list[dict]:
    """Read the trials of a search that were done before, each with what is drawn now; there may be none."""
    trials = read_trials(path, ("key", "trial", "options", "seconds"))
    drawn = [draw(experiment, number) for number in range(len(trials))]
    same = [each["options"] for each in trials] == json.loads(json.dumps(drawn))
    if not same or {trial["key"] for trial in trials} - {key}:
        raise UserError(f"{path} is a search of other options or data. Remove it, or give another --record.")
    return trials


def _line(trial: dict[str, Any]) -> str:
    found = "diverged" if "diverged" in trial else f"{max(trial['dev_map']):.4f}"
    stopped = ", stopped" * trial.get("stopped", False)
    return f"trial {trial['trial']}: {found}{stopped}, {trial['seconds']:.0f} s  {trial['options']}"


def fair(experiment: Experiment) -> Run | None:
    """Search the options of an experiment; with --record train and measure the best."""
    options = experiment.run
    paper = experiment.entry.paper
    name = slug(experiment.data.dataset, experiment.data.variant or "", experiment.name)
    place = record_path(options.results, options.record) if options.record else None
    path = place.with_suffix(TRIALS) if place else options.output / "fair" / f"{name}{TRIALS}"
    check_writable(path.parent)
    refuse_drawn(experiment)
    data = experiment.data.load()
    if options.record:
        Run(paper, experiment, data)  # refuses to lose a record before the search, not after it
    from answer_ranking.training.scoring import Scorer

    with held_folder(options.output / "fair" / slug(options.record or name)):
        trials = search(experiment, data, path)
    sound = [each for each in trials if "diverged" not in each]
    if not sound:
        raise UserError("every trial diverged: give a lower --learning-rate.")
    ranked = sorted(sound, key=lambda each: -max(each["dev_map"]))
    print("The best on dev:\n" + "\n".join(map(_line, ranked[:5])) + f"\nTrials: {path}", flush=True)
    if options.record is None:
        return None
    run = Run(paper, experiment.changed(**draw(experiment, ranked[0]["trial"])), data)
    for number in run.seeds:
        with run.seed(number) as seed:
            model, fitted = train(run.experiment, data, seed)
        run.keep(seed, model, fitted)
    run.write(
        search={
            "chosen": ranked[0]["trial"],
            "trials": len(trials),
            "stopped": sum(each.get("stopped", False) for each in trials),
            "diverged": len(trials) - len(ranked),
            "search_seed": options.search_seed,
            "seconds": round(sum(each["seconds"] for each in trials), 1),
        },
        training_seconds=ranked[0]["seconds"],
        questions_per_second=questions_per_second(
            Scorer(run.model, data.test, data.order_seed), len(data.test.question_ids)
        ),
    )
    return run


if __name__ == "__main__":
    run_command(lambda: fair(parse(__doc__, presets())))
