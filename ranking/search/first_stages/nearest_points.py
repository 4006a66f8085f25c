"""The nearest points in the Poincaré ball or on the sphere: by one inner product, or quantised first."""

import threading
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from answer_ranking.ranking.search.first_stages.geometry import asked, lifted, products
from answer_ranking.ranking.search.first_stages.quantised import QuantisedPoints
from answer_ranking.ranking.search.first_stages.stored_points import Points

_FEW = 20_000  # rows that a filter leaves: comparing them all takes milliseconds
_MARGIN = 64  # more than asked for, since float32 may exchange neighbours
_AT_ONCE = 256  # questions, of each of which 1,000 rows are held
_PRODUCTS = 1 << 24  # inner products that are held at a time
_BLOCK = 2_000  # points that fit the cache: 1.2 times as fast as one product with all

Score: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From a question's point, `(d,)`, and answers' points, `(n, d)`, to the model's scores, `(n,)`."""


class NearestPoints:
    """Finds the points nearest to others, and scores them by the model.

    Inner products in float32 (see `geometry`) choose some more than asked for; their scores are the only
    exact comparison. Where the first points are quantised, these choose by their codes. Safe to use from
    several threads.

    Args:
        points: the points, float32.
        similarity: see `geometry`.
        quantised: the first points in few bytes; None where all are compared.
        quantised_rows: how many these are.

    Example:
        >>> class Array:
        ...     dimension = 2
        ...     all = np.array([[0.0, 0.5], [0.6, 0.0], [0.0, -0.9]], np.float32)
        ...     __len__ = lambda self: len(self.all)
        ...     points = lambda self, rows: self.all[rows]
        ...     blocks = lambda self, first=0: iter([self.all[first:]])
        >>> def score(question, points): return -np.linalg.norm(points - question, axis=-1)
        >>> origin = np.zeros((1, 2), np.float32)
        >>> ((rows, scores),) = NearestPoints(Array(), "hyperbolic").nearest(origin, 2, score)
        >>> rows.tolist(), scores.round(4).tolist()
        ([0, 1], [-0.5, -0.6])
    """

    def __init__(
        self,
        points: Points,
        similarity: str,
        quantised: QuantisedPoints | None = None,
        quantised_rows: int = 0,
    ):
        self._points, self._similarity = points, similarity
        self._quantised, self._quantised_rows = quantised, quantised_rows
        self._lock = threading.Lock()
        self._lifted: np.ndarray | None = None

    def nearest(
        self, questions: np.ndarray, k: int, score: Score, keep: np.ndarray | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find the `k` points that score best, among those of `keep`, bool `(points,)`, for each question.

        Returns for each of the questions, float32 `(questions, d)`, the rows, int64, and their scores, the
        best first; equal ones in the order of the rows.
        """
        if keep is not None and np.count_nonzero(keep) <= max(_FEW, k):
            rows = np.flatnonzero(keep)
            points = self._points.points(rows)
            return [self._best(each, rows, points, k, score) for each in questions]
        found = []
        for start in range(0, len(questions), _AT_ONCE):
            part = questions[start : start + _AT_ONCE]
            for question, rows in zip(part, self._chosen(part, k, keep), strict=True):
                rows = np.unique(rows[rows >= 0])
                points = self._points.points(rows)
                found.append(self._best(question, rows, points, k, score))
        return found

    def _chosen(self, questions: np.ndarray, k: int, keep: np.ndarray | None) -> np.ndarray:
        """Choose rows, int64 `(questions, some)`; -1 where there are no more."""
        chosen = [np.empty((len(questions), 0), np.int64)]
        if self._quantised is not None:
            chosen.append(self._quantised.choose(questions, k, keep))
        first = self._quantised_rows
        if len(self._points) > first:
            among = None if keep is None else keep[first:]
            vectors = asked(questions, self._similarity)
            rows = _largest(vectors, self._flat(), k + _MARGIN, among)
            chosen.append(np.where(rows < 0, rows, rows + first))
        return np.concatenate(chosen, axis=1)

    def _flat(self) -> np.ndarray:
        """Lift the points that are not quantised, once; these lie in the files as they are."""
        with self._lock:
            if self._lifted is None:
                n = len(self._points) - self._quantised_rows
                width = self._points.dimension + (self._similarity == "hyperbolic")
                flat, done = np.empty((n, width), np.float32), 0
                for block in self._points.blocks(self._quantised_rows):
                    flat[done : done + len(block)] = lifted(block, self._similarity)
                    done += len(block)
                self._lifted = flat
            return self._lifted

    def _best(
        self, question: np.ndarray, rows: np.ndarray, points: np.ndarray, k: int, score: Score
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score rows, whose numbers rise, by their points, and give the `k` best."""
        if len(rows) > 4 * (k + _MARGIN):
            # One product with a thousand points takes a fraction of the time of their exact scores.
            near = products(question, points, self._similarity)
            few = np.sort(np.argpartition(-near, k + _MARGIN)[: k + _MARGIN])
            rows, points = rows[few], points[few]
        scores = score(question, points).astype(float)
        order = np.argsort(-scores, kind="stable")[:k]
        return rows[order], scores[order]


def _largest(vectors: np.ndarray, points: np.ndarray, n: int, keep: np.ndarray | None) -> np.ndarray:
    """Find the rows of the `n` largest inner products, in any order, `(questions, n)`; -1 for none."""
    n, found = min(n, len(points)), []
    at_once = max(1, _PRODUCTS // len(points))
    for start in range(0, len(vectors), at_once):
        products = _products(vectors[start : start + at_once], points)
        if keep is not None:
            products[:, ~keep] = -np.inf
        rows = np.argpartition(products, len(points) - n, axis=1)[:, len(points) - n :]
        is_none = np.isinf(np.take_along_axis(products, rows, 1))
        found.append(np.where(is_none, -1, rows))
    return np.concatenate(found)


def _products(vectors: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Compute all inner products, float32 `(questions, points)`."""
    products = np.empty((len(vectors), len(points)), np.float32)
    if len(vectors) < 4:  # Up to twice as fast as one product for two or three questions.
        for product, question in zip(products, vectors, strict=True):
            np.matmul(points, question, out=product)
        return products
    # One matrix product for several questions takes a third of the time of faiss' search.
    for first in range(0, len(points), _BLOCK):
        block = slice(first, first + _BLOCK)
        products[:, block] = (points[block] @ vectors.T).T
    return products
