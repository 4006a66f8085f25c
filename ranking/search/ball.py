"""The nearest points in the Poincaré ball or on the sphere: by one inner product, or quantised first."""

import importlib
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from answer_ranking.ranking.search.manifest import damaged

EXACT_UP_TO = 200_000
"""So many points are searched exactly; beyond, quantised points choose those that are compared exactly."""
_FEW = 20_000  # rows that a filter leaves: comparing them all takes milliseconds
_MARGIN = 64  # more than asked for, since float32 may exchange neighbours
_CHOSEN, _PROBED_SHARE = 1_000, 4
_SMALLEST_FACTOR = 1e-5  # of 1 - |x|^2, as in `layers.poincare`
_AT_ONCE = 256  # questions, of each of which 1,000 rows are held
_PRODUCTS = 1 << 24  # inner products that are held at a time
_BLOCK = 2_000  # points that fit the cache: 1.2 times as fast as one product with all
_PER_LIST = 64  # points that train the quantiser
_INDEX = "points.faiss"

Score: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From a question's point, `(d,)`, and answers' points, `(n, d)`, to the model's scores, `(n,)`."""


class Points(Protocol):
    """Where the points come from; `Segments` is one."""

    @property
    def dimension(self) -> int: ...
    def __len__(self) -> int: ...
    def points(self, rows: np.ndarray) -> np.ndarray: ...
    def blocks(self, first: int = 0) -> Iterator[np.ndarray]: ...


class Ball:
    """Finds the points nearest to others.

    The Poincare distance is `arccosh` of minus a Lorentz product: with the lift `(a v, a)` of a point v,
    `a = 1 / (1 - |v|^2)`, and `(2 u, -(1 + |u|^2))` of a question u, the largest inner product is the nearest
    point. That is computed in float32, and the model scores the first few. Of the first
    `quantised_rows`, where there are any, points quantised in the ball (the lift cannot be: its lengths
    differ too much) choose 1,000, in the quarter of all lists that is nearest. Cosine is the inner product of
    unit vectors.

    faiss uses as many threads as OMP_NUM_THREADS says. Safe to use from several threads.

    Args:
        points: the points, float32.
        similarity: "hyperbolic" or "cosine".
        quantised: the folder that `write_quantised` filled. It is opened at once and read when needed.
        quantised_rows: how many points it holds: the first ones.

    Example:
        >>> class Array:
        ...     dimension = 2
        ...     all = np.array([[0.0, 0.5], [0.6, 0.0], [0.0, -0.9]], np.float32)
        ...     __len__ = lambda self: len(self.all)
        ...     points = lambda self, rows: self.all[rows]
        ...     blocks = lambda self, first=0: iter([self.all[first:]])
        >>> def score(question, points): return -np.linalg.norm(points - question, axis=-1)
        >>> origin = np.zeros((1, 2), np.float32)
        >>> ((rows, scores),) = Ball(Array(), "hyperbolic").nearest(origin, 2, score)
        >>> rows.tolist(), scores.round(4).tolist()
        ([0, 1], [-0.5, -0.6])
    """

    def __init__(
        self, points: Points, similarity: str, quantised: Path | None = None, quantised_rows: int = 0
    ):
        self._points, self._similarity = points, similarity
        self._path, self._quantised_rows = quantised, quantised_rows
        # What was open stays readable when an addition replaces the file.
        self._file = None
        if quantised:
            try:
                self._file = (quantised / _INDEX).open("rb")
            except OSError as error:
                raise damaged(quantised, error) from error
        self._lock = threading.Lock()
        self._indexes: list[tuple[int, Any]] | None = None

    def nearest(
        self, questions: np.ndarray, k: int, score: Score, keep: np.ndarray | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find the `k` points that score best, among those of `keep`, bool `(points,)`, for each question.

        Inner products choose some more than `k`, and `score` ranks these: the only exact comparison.

        Returns for each of the questions, float32 `(questions, d)`, the rows, int64, and their scores, the
        best first; equal ones in the order of the rows.
        """
        if keep is not None and np.count_nonzero(keep) <= max(_FEW, k):
            rows = np.flatnonzero(keep)
            points = self._points.points(rows)
            return [self._best(question, rows, points, k, score) for question in questions]
        found = []
        for start in range(0, len(questions), _AT_ONCE):
            part = questions[start : start + _AT_ONCE]
            for question, rows in zip(part, self._chosen(part, k, keep), strict=True):
                rows = np.unique(rows[rows >= 0])
                found.append(self._best(question, rows, self._points.points(rows), k, score))
        return found

    def _chosen(self, questions: np.ndarray, k: int, keep: np.ndarray | None) -> np.ndarray:
        """Choose rows, int64 `(questions, some)`; -1 where there are no more."""
        chosen = []
        for first, index in self._loaded():
            if isinstance(index, np.ndarray):
                among = None if keep is None else keep[first : first + len(index)]
                rows = _largest(_asked(questions, self._similarity), index, k + _MARGIN, among)
            else:
                faiss, asked = _faiss(), _in_place(questions, self._similarity)
                sel, few = None, False
                if keep is not None:
                    bits = np.packbits(keep[first : first + index.ntotal], bitorder="little")
                    sel = faiss.IDSelectorBitmap(bits)
                    # A filter may leave few rows in the nearest lists.
                    few = 2 * int(np.count_nonzero(keep)) < len(keep)
                probed = index.nlist if few else -(-index.nlist // _PROBED_SHARE)
                params = faiss.SearchParametersIVF(sel=sel, nprobe=probed)
                rows = index.search(asked, min(max(_CHOSEN, 10 * k), index.ntotal), params=params)[1]
            chosen.append(np.where(rows < 0, rows, rows + first))
        return np.concatenate(chosen, axis=1) if chosen else np.empty((len(questions), 0), np.int64)

    def _loaded(self) -> list[tuple[int, Any]]:
        """Give the index of faiss and the points beyond it, lifted, and the first row of each."""
        with self._lock:
            if self._indexes is None:
                indexes: list[tuple[int, Any]] = []
                if self._file is not None and self._path is not None:
                    try:
                        with self._file as file:
                            faiss = _faiss()
                            indexes.append((0, faiss.read_index(faiss.PyCallbackIOReader(file.read))))
                        if indexes[0][1].ntotal != self._quantised_rows:
                            raise ValueError("it has another number of points")
                    except (RuntimeError, ValueError) as error:
                        raise damaged(self._path, error) from error
                if len(self._points) > self._quantised_rows:
                    indexes.append((self._quantised_rows, self._flat()))
                self._indexes = indexes
            return self._indexes

    def _flat(self) -> np.ndarray:
        """Lift the points that are not quantised; these lie in the files as they are."""
        n = len(self._points) - self._quantised_rows
        width = self._points.dimension + (self._similarity == "hyperbolic")
        flat, done = np.empty((n, width), np.float32), 0
        for block in self._points.blocks(self._quantised_rows):
            flat[done : done + len(block)] = _lifted(block, self._similarity)
            done += len(block)
        return flat

    def _best(
        self, question: np.ndarray, rows: np.ndarray, points: np.ndarray, k: int, score: Score
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score rows, whose numbers rise, by their points, and give the `k` best."""
        if len(rows) > 4 * (k + _MARGIN):
            # One product with a thousand points takes a fraction of the time of their exact scores.
            asked, lifted = _asked(question[None], self._similarity), _lifted(points, self._similarity)
            few = np.sort(_largest(asked, lifted, k + _MARGIN, None)[0])
            rows, points = rows[few], points[few]
        scores = score(question, points).astype(float)
        order = np.argsort(-scores, kind="stable")[:k]
        return rows[order], scores[order]


def _largest(asked: np.ndarray, points: np.ndarray, n: int, keep: np.ndarray | None) -> np.ndarray:
    """Find the rows of the `n` largest inner products, in any order, `(questions, n)`; -1 for none."""
    n, found = min(n, len(points)), []
    # One matrix product for several questions takes a third of the time of faiss' search.
    for start in range(0, len(asked), max(1, _PRODUCTS // len(points))):
        part = asked[start : start + max(1, _PRODUCTS // len(points))]
        products = np.empty((len(part), len(points)), np.float32)
        if len(part) < 4:  # Up to twice as fast as one product for two or three questions.
            for product, question in zip(products, part, strict=True):
                np.matmul(points, question, out=product)
        else:
            for first in range(0, len(points), _BLOCK):
                block = slice(first, first + _BLOCK)
                products[:, block] = (points[block] @ part.T).T
        if keep is not None:
            products[:, ~keep] = -np.inf
        rows = np.argpartition(products, len(points) - n, axis=1)[:, len(points) - n :]
        found.append(np.where(np.isinf(np.take_along_axis(products, rows, 1)), -1, rows))
    return np.concatenate(found)


def lift(points: np.ndarray) -> np.ndarray:
    """Map points of the ball, float32 `(n, d)`, to `(a v, a)` with `a = 1 / (1 - |v|^2)`, `(n, d + 1)`."""
    factor = (1 / one_minus_squared_norm(points)).astype(np.float32)[:, None]
    return np.concatenate([points * factor, factor], axis=1)


def _lifted(points: np.ndarray, similarity: str) -> np.ndarray:
    """Map points to vectors whose inner products with `_asked` rise with the similarity."""
    return lift(points) if similarity == "hyperbolic" else unit(points)


def one_minus_squared_norm(points: np.ndarray) -> np.ndarray:
    """Compute 1 - |v|^2, at least 1e-5, of points `(n, d)` in float64 `(n,)`."""
    # Near the edge of the ball, float32 would leave no digit of the difference.
    squared = np.einsum("nd,nd->n", points, points, dtype=np.float64)
    return np.maximum(1 - squared, _SMALLEST_FACTOR)


def unit(points: np.ndarray) -> np.ndarray:
    """Divide vectors, float32 `(n, d)`, by their lengths; zero stays zero."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0, lengths, 1)


def train_quantiser(points: Points, similarity: str) -> np.ndarray:
    """Train an index of faiss without points, in bytes, which quantises four numbers to four bits.

    It has as many lists as the power of two next to the root of the number of points.
    """
    faiss = _faiss()
    n, d = len(points), points.dimension
    lists = 2 ** round(math.log2(math.sqrt(n)))
    parts = next(m for m in range(math.ceil(d / 4), d + 1) if d % m == 0)
    metric = faiss.METRIC_L2 if similarity == "hyperbolic" else faiss.METRIC_INNER_PRODUCT
    index = faiss.index_factory(d, f"IVF{lists},PQ{parts}x4fs", metric)
    sample = np.sort(np.random.default_rng(0).choice(n, min(n, _PER_LIST * lists), replace=False))
    index.train(_in_place(points.points(sample), similarity))
    return faiss.serialize_index(index)


def quantise(trained: tuple[np.ndarray, str], points: np.ndarray) -> np.ndarray:
    """Quantise points by what `train_quantiser` gave, and a similarity: their lists and codes, uint8."""
    quantiser, similarity = trained
    return _faiss().deserialize_index(quantiser).sa_encode(_in_place(points, similarity))


def write_quantised(folder: Path, quantiser: np.ndarray, codes: Iterable[np.ndarray]) -> None:
    """Write the index of all points, whose codes come in their order."""
    faiss = _faiss()
    trained = faiss.deserialize_index(quantiser)
    # The index for fast search takes no codes. This one does, and becomes the very bytes that adding all
    # points to the other gives.
    index = faiss.IndexIVFPQ(
        trained.quantizer, trained.d, trained.nlist, trained.pq.M, 4, trained.metric_type
    )
    index.pq, index.by_residual, index.is_trained = trained.pq, trained.by_residual, True
    for part in codes:
        index.add_sa_codes(part)
    try:
        faiss.write_index(faiss.IndexIVFPQFastScan(index), str(folder / _INDEX))
    except RuntimeError as error:  # It has no error of its own for a full disk.
        raise OSError(f"faiss could not write ({error!s:.200})") from error


def _in_place(points: np.ndarray, similarity: str) -> np.ndarray:
    return np.ascontiguousarray(points if similarity == "hyperbolic" else unit(points), np.float32)


def _asked(questions: np.ndarray, similarity: str) -> np.ndarray:
    """Map questions to the vectors whose inner products with the lifted points fall with the distance."""
    if similarity == "cosine":
        return _in_place(questions, similarity)
    last = -(1 + np.square(questions.astype(np.float64)).sum(axis=1, keepdims=True))
    return np.concatenate([2 * questions, last], axis=1).astype(np.float32)


def _faiss() -> Any:
    # Imported when it is needed; its types lack what it adds in Python.
    return importlib.import_module("faiss")
