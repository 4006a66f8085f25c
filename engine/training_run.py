"""The training of a model with several seeds: their folders, their scores, and the model best on dev."""

import hashlib
import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from answer_ranking.base.files import atomic_write, check_writable, locked_folder, remove_leftovers
from answer_ranking.engine.data import TrainingData
from answer_ranking.evaluation.environment import peak_memory
from answer_ranking.evaluation.metrics import per_question, summarise
from answer_ranking.evaluation.records import environment, package_versions
from answer_ranking.evaluation.runs import write_split
from answer_ranking.models.sizes import n_trained

if TYPE_CHECKING:
    import keras

    from answer_ranking.training.fitting import FitResult

    Trained = tuple[keras.Model, FitResult]

STARTED = "started.json"
"""In a seed's folder from the beginning: the code that began to train it."""
TRAINED = "trained.json"
"""In a seed's folder when its training has ended: what trained it."""


@dataclass(frozen=True)
class Seed:
    """One seed of a run, and where its training keeps its state; without a place nothing is kept.

    `start` are the values that the trainable weights have in the beginning, those of the seed for None.
    """

    number: int
    state: Path | None = None
    key: str = ""
    label: str = ""
    callbacks: tuple["keras.callbacks.Callback", ...] = ()
    start: Sequence[np.ndarray] | None = None


@dataclass(frozen=True)
class SeedResult:
    """What the training of a seed gave, but for the model: the scores and metrics by split."""

    history: list[dict[str, float]]
    scores: dict[str, np.ndarray]
    tables: dict[str, pd.DataFrame]

    @property
    def dev_map(self) -> float:
        """The MAP that chooses among seeds."""
        return self.metrics("dev")["map"]

    def metrics(self, split: str) -> dict[str, float]:
        """Return the mean metrics over a split's questions with a correct answer."""
        return summarise(self.tables[split], "answerable")


def score_splits(model: "keras.Model", data: TrainingData, fitted: "FitResult") -> SeedResult:
    """Score dev and test with a trained model."""
    scores, tables = {}, {}
    for name in data.scored_splits:
        scores[name], tables[name] = score_split(model, data, name)
    return SeedResult(fitted.history, scores, tables)


def score_split(model: "keras.Model", data: TrainingData, name: str) -> tuple[np.ndarray, pd.DataFrame]:
    """Score a split with a trained model; gives the scores and the metrics of all questions."""
    from answer_ranking.training.scoring import score

    split = data.scored_splits[name]
    scores = score(model, split)
    return scores, per_question(split, scores)


class TrainingRun:
    """The training of a model with several seeds.

    Each seed has a folder with the state of its training: a run that was killed goes on from there, and two
    processes may share the seeds. Of all trained models the one that is best on dev is kept.
    """

    def __init__(self, folder: Path, key: str, title: str, data: TrainingData, words: Sequence[str] = ()):
        """Begin a run in a folder.

        `key` names the configuration: states of others are refused. `words` are the command that trains, for
        the note in a seed's folder.
        """
        check_writable(folder)
        self.folder, self.key, self.data = folder, key, data
        self._title, self._words = title, words
        self.results: dict[int, SeedResult] = {}
        self.model: keras.Model | None = None

    @contextmanager
    def _hold(self, number: int, wait: bool) -> Iterator[Seed | None]:
        """Hold a seed's folder, so that no other process trains this seed meanwhile.

        Without `wait`, gives None for a seed that another process holds.
        """
        folder = self.folder / f"seed-{number}"
        with locked_folder(folder, wait) as locked:
            if not locked:
                yield None
                return
            remove_leftovers(folder)
            state = folder / "state.npz"
            code = {name: environment()[name] for name in ("commit", "clean_tree")}
            if not (folder / STARTED).exists() and not state.exists():
                _write(folder / STARTED, code)
            yield Seed(number, state, self.key, f"{self._title}, seed {number}")
            if not (folder / TRAINED).exists():
                made_by = {"words": list(self._words), "seed": number, **environment()}
                if read_facts(folder / STARTED) != code:
                    made_by |= {"commit": "", "clean_tree": None}  # Two codes trained it.
                _write(
                    folder / TRAINED,
                    {**made_by, "versions": package_versions(), "peak_memory": peak_memory()},
                )

    def train_each(
        self, numbers: Iterable[int], train: "Callable[[Seed], Trained]", keep: bool = True
    ) -> None:
        """Train seeds; one that another process has trained is only scored here, with `keep`.

        What another process trains just now is left to it, and waited for in the end.
        """
        held = []
        for number in numbers:
            if not self._train_one(number, train, keep, wait=False):
                held.append(number)
        for number in held:
            self._train_one(number, train, keep, wait=True)
        self.results = dict(sorted(self.results.items()))

    def _train_one(self, number: int, train: "Callable[[Seed], Trained]", keep: bool, wait: bool) -> bool:
        """Train a seed; false if another process holds it."""
        with self._hold(number, wait) as seed:
            if seed is None:
                return False
            model, fitted = train(seed)
        if keep:
            self.keep(seed, model, fitted)
        return True

    def keep(self, seed: Seed, model: "keras.Model", fitted: "FitResult") -> None:
        """Score dev and test; keep curves and scores, and the model if it is the best on dev so far."""
        self.results[seed.number] = score_splits(model, self.data, fitted)
        if self.best == seed.number:
            self.model = model

    @property
    def best(self) -> int:
        """The seed whose model is best on dev; of equal ones the first."""
        return max(self.results, key=lambda number: (self.results[number].dev_map, -number))

    @property
    def parameters(self) -> int:
        """How many numbers the model trains."""
        assert self.model is not None, "no seed has been trained"
        return n_trained(self.model)

    @property
    def seconds_per_epoch(self) -> float:
        """The median, since the first epoch of every seed includes TensorFlow's preparations."""
        results = self.results.values()
        return statistics.median(epoch["seconds"] for one in results for epoch in one.history)

    def write_runs(self, protocols: Mapping[str, str]) -> None:
        """Write the run files and qrels of dev and test, and qrels of each protocol's questions."""
        remove_leftovers(self.folder / "runs")
        scores = {number: result.scores for number, result in self.results.items()}
        for name, split in self.data.scored_splits.items():
            write_split(self.folder / "runs", name, split, scores, protocols)


def read_facts(path: Path) -> dict[str, Any]:
    """Read what began or ended a seed's training; {} if it is not known."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}


def _write(path: Path, values: Mapping[str, Any]) -> None:
    with atomic_write(path) as file:
        json.dump(values, file)


ADDED_LATER: Mapping[str, Any] = {
    "own_negatives_by": "random",
    "weight_decay": None,
    "pooling": "cls",
    "train_questions": None,
}
"""Options that are younger than unfinished searches, and the value that all had before."""


def as_before(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what came later and is as it was before: a search that began without it goes on.

    Example:
        >>> as_before({"clip_norm": None, "own_negatives_by": "random"})
        {'clip_norm': None}
    """
    kept = dict(configuration)
    for name, value in ADDED_LATER.items():
        if name in kept and kept[name] == value:
            del kept[name]
    return kept


def key_of(*parts: Any) -> str:
    """Name what numbers depend on by a hash."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def training_key(configuration: Mapping[str, Any], data: TrainingData) -> str:
    """Hash options, data and versions: the states of other trainings are not taken up."""
    return key_of(as_before(configuration), data.data_hash, package_versions())
