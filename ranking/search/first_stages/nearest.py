"""The first stage `nearest`: the model's points, and those of them that are nearest to a question's."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write
from answer_ranking.ranking.search.checked_array import map_array, sums_of, sums_path
from answer_ranking.ranking.search.first_stages.nearest_points import NearestPoints
from answer_ranking.ranking.search.first_stages.protocol import IndexFiles, Searcher, Texts
from answer_ranking.ranking.search.first_stages.quantised import (
    QuantisedPoints,
    quantise,
    train_quantiser,
    write_quantised,
)
from answer_ranking.ranking.search.first_stages.stored_points import POINTS, Points, StoredPoints
from answer_ranking.ranking.search.manifest import StageFolder, damaged
from answer_ranking.ranking.search.results import Candidates
from answer_ranking.ranking.search.tasks import Model, map_items
from answer_ranking.ranking.search.writing import atomic_folder, progress, saved

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker

EXACT_UP_TO = 20_000
"""So many points are searched exactly; beyond, quantised points choose those that are compared exactly."""


class Nearest:
    """Needs a model whose best answers are the nearest ones."""

    name = "nearest"

    def encode(self, texts: Texts, model: Model | None) -> dict[str, pa.Buffer]:
        """Compute the points of answers."""
        assert model is not None
        points = model.encode(texts.answers)
        n = len(texts.answers)
        if points.ndim != 2 or len(points) != n or not np.isfinite(points).all():
            raise ValueError(f"{n} finite points are needed. Received: {points.shape}")
        content = saved(np.save, points)
        sums = sums_path(Path(POINTS)).name
        return {POINTS: content, sums: pa.py_buffer(sums_of(content))}

    def build(self, files: IndexFiles, name: str, ray: Any) -> StageFolder | None:
        """Quantise all points where too many are not quantised yet."""
        manifest = files.manifest
        before = manifest.stages.get(self.name)
        if manifest.rows - (before.rows if before else 0) <= EXACT_UP_TO:
            return None
        folder = files.folder / f"ball-{name}"
        if not folder.is_dir():
            points = StoredPoints(files.folder, manifest)
            _quantise(folder, points, manifest.similarity, ray)
        return StageFolder(folder.name, manifest.rows)

    def open(self, files: IndexFiles) -> Searcher:
        """Open the points."""
        manifest, quantised, rows = files.manifest, None, 0
        points = StoredPoints(files.folder, manifest)
        if self.name in manifest.stages:
            folder, rows = manifest.stages[self.name]
            quantised = QuantisedPoints(files.folder / folder, rows, manifest.similarity)
        search = NearestPoints(points, manifest.similarity, quantised, rows)
        return _Searcher(search, points, files.ranker, files.folder)


class Exact(Nearest):
    """Compares a question with every point, however many there are."""

    name = "exact"

    def build(self, files: IndexFiles, name: str, ray: Any) -> StageFolder | None:
        """Write nothing: the points suffice."""
        return None


class _Searcher(Searcher):
    def __init__(
        self,
        search: NearestPoints,
        points: Points,
        ranker: Callable[[], "Ranker"],
        folder: Path,
    ):
        self._search, self._points = search, points
        self._ranker, self._folder = ranker, folder
        self._last: tuple[Any, dict[str, tuple[np.ndarray, bool]]] = (None, {})

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None) -> Candidates:
        """Find the nearest points, scored by the model; none for a question of unknown words."""
        ranker = self._ranker()
        points, known = self._encoded(ranker, questions)
        own, given = self._points.dimension, points.shape[1]
        if own != given:
            error = ValueError(f"points of {own} numbers, and a model of {given}")
            raise damaged(self._folder, error)
        readable = np.asarray(points, np.float32)[known]
        found = iter(self._search.nearest(readable, k, ranker.score_points, keep))
        nothing = np.empty(0, np.int64), np.empty(0)
        rows, scores = [], []
        for is_known in known:
            near, their_scores = next(found) if is_known else nothing
            rows.append(near)
            scores.append(their_scores)
        return Candidates(rows, scores, ~known)

    def _encoded(self, ranker: "Ranker", questions: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Give the points of questions, and which are known; a confidence asks those of the last search."""
        encoder, last = self._last
        if encoder is not ranker or not last.keys() >= set(questions):
            points, known = ranker.encode_and_tell_known(questions)
            last = dict(zip(questions, zip(points, known, strict=True), strict=True))
            self._last = ranker, last
        found = [last[question] for question in questions]
        return np.stack([point for point, _ in found]), np.array([known for _, known in found])


def _quantise(path: Path, every: Points, similarity: str, ray: Any) -> None:
    """Quantise all points; what is finished, after a kill, is taken from the folder of the codes."""
    codes = path.with_name(f"{path.name}-codes")
    trained = codes / "trained.npy"
    if not trained.is_file():
        _save(trained, train_quantiser(every, similarity))
    quantiser = _load(trained)
    files = [codes / f"{number}.npy" for number, _ in enumerate(every.blocks())]
    missing = [file for file in files if not file.is_file()]
    pairs = zip(files, every.blocks(), strict=True)
    blocks = (block for file, block in pairs if file in missing)
    made = map_items(quantise, (quantiser, similarity), blocks, ray)
    with progress("points", "segment", len(missing)) as bar:
        for file, part in zip(missing, made, strict=True):
            _save(file, part)
            bar.update()
    with atomic_folder(path) as new:
        write_quantised(new, quantiser, map(_load, files))


def _save(path: Path, array: np.ndarray) -> None:
    with atomic_write(path, "wb") as file:
        np.save(file, array)


def _load(path: Path) -> np.ndarray:
    try:
        return np.array(map_array(path))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} is damaged ({error!s:.100}). Delete {path.parent}, then run the same command again."
        ) from error
