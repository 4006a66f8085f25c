"""The first stages of a model's points: the nearest of answers, or of an FAQ's own questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write
from answer_ranking.ranking.search.checked_array import map_array, sums_of, sums_path
from answer_ranking.ranking.search.first_stages.asked_points import AskedPoints
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

EXACT_UP_TO = 20_000
"""So many points are searched exactly; beyond, quantised points choose those that are compared exactly."""


class Nearest:
    """Needs a model whose best answers are the nearest ones."""

    name = "nearest"
    file = POINTS
    folder = "ball"

    def texts_of(self, texts: Texts) -> list[str]:
        """Give what the points are of."""
        return texts.answers

    def encode(self, texts: Texts, model: Model | None) -> dict[str, pa.Buffer]:
        """Compute the points."""
        assert model is not None
        own = self.texts_of(texts)
        points, n = model.encode(own), len(own)
        if points.ndim != 2 or len(points) != n or not np.isfinite(points).all():
            raise ValueError(f"{n} finite points are needed. Received: {points.shape}")
        content = saved(np.save, points)
        sums = sums_path(Path(self.file)).name
        return {self.file: content, sums: pa.py_buffer(sums_of(content))}

    def build(self, files: IndexFiles, name: str, ray: Any) -> StageFolder | None:
        """Quantise all points where too many are not quantised yet."""
        manifest = files.manifest
        before = manifest.stages.get(self.name)
        if manifest.rows - (before.rows if before else 0) <= EXACT_UP_TO:
            return None
        folder = files.folder / f"{self.folder}-{name}"
        if not folder.is_dir():
            points = StoredPoints(files.folder, manifest, self.file)
            _quantise(folder, points, manifest.similarity, ray)
        return StageFolder(folder.name, manifest.rows)

    def open(self, files: IndexFiles) -> Searcher:
        """Open the points."""
        manifest, quantised, rows = files.manifest, None, 0
        points = StoredPoints(files.folder, manifest, self.file)
        if self.name in manifest.stages:
            folder, rows = manifest.stages[self.name]
            quantised = QuantisedPoints(files.folder / folder, rows, manifest.similarity)
        search = NearestPoints(points, manifest.similarity, quantised, rows)
        return _Searcher(search, points, files.asked, files.folder)


class NearestQuestions(Nearest):
    """Compares with an FAQ's own questions, which say what is asked in fewer words than answers."""

    name = folder = "questions"
    file = "questions.npy"

    def texts_of(self, texts: Texts) -> list[str]:
        return texts.questions


class Exact(Nearest):
    """Compares a question with every point, however many there are."""

    name = "exact"

    def build(self, files: IndexFiles, name: str, ray: Any) -> StageFolder | None:
        """Write nothing: the points suffice."""
        return None


class _Searcher(Searcher):
    def __init__(self, search: NearestPoints, points: Points, asked: AskedPoints, folder: Path):
        self._search, self._points, self._asked, self._folder = search, points, asked, folder

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None) -> Candidates:
        """Find the nearest points, scored by the model; none for a question of unknown words."""
        points, known = self._asked(questions)
        own, given = self._points.dimension, points.shape[1]
        if own != given:
            error = ValueError(f"points of {own} numbers, and a model of {given}")
            raise damaged(self._folder, error)
        readable = np.asarray(points, np.float32)[known]
        found = iter(self._search.nearest(readable, k, self._asked.ranker().score_points, keep))
        nothing = np.empty(0, np.int64), np.empty(0)
        rows, scores = [], []
        for is_known in known:
            near, their_scores = next(found) if is_known else nothing
            rows.append(near)
            scores.append(their_scores)
        return Candidates(rows, scores, ~known)


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
