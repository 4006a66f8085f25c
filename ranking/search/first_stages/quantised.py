"""Points in few bytes, in lists of neighbours: faiss' inverted file with product quantisation."""

import importlib
import math
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.ranking.search.first_stages.geometry import in_place
from answer_ranking.ranking.search.first_stages.stored_points import Points
from answer_ranking.ranking.search.manifest import reading

_CHOSEN = 1_000
_SCANNED, _PROBED_SHARE = 100_000, 4  # codes of few points are all looked through, of more a quarter
_PER_LIST = 64  # points that train the quantiser
_INDEX = "points.faiss"


class QuantisedPoints:
    """The first points of an index, quantised in the ball: the lift's lengths differ too much.

    They choose 1,000 rows in the nearest lists, which hold 100,000 points or a quarter of all, whichever is
    more. faiss uses as many threads as OMP_NUM_THREADS says.

    Args:
        folder: the folder that `write_quantised` filled. It is opened at once and read when needed.
        rows: how many points it holds.
        similarity: see `geometry`.
    """

    def __init__(self, folder: Path, rows: int, similarity: str):
        self._folder, self._rows, self._similarity = folder, rows, similarity
        self._lock = threading.Lock()
        self._index: Any = None
        # What was open stays readable when an addition replaces the file.
        with reading(folder):
            self._file = (folder / _INDEX).open("rb")

    def choose(self, questions: np.ndarray, k: int, keep: np.ndarray | None) -> np.ndarray:
        """Choose rows for questions `(n, d)`, int64 `(n, some)`; -1 where there are no more."""
        faiss, index = _faiss(), self._loaded()
        share = max(1 / _PROBED_SHARE, min(1, _SCANNED / self._rows))
        selected, lists = None, math.ceil(index.nlist * share)
        if keep is not None:
            bits = np.packbits(keep[: self._rows], bitorder="little")
            selected = faiss.IDSelectorBitmap(bits)
            # A filter may leave few rows in the nearest lists.
            if 2 * int(np.count_nonzero(keep)) < len(keep):
                lists = index.nlist
        params = faiss.SearchParametersIVF(sel=selected, nprobe=lists)
        n = min(max(_CHOSEN, 10 * k), self._rows)
        return index.search(in_place(questions, self._similarity), n, params=params)[1]

    def _loaded(self) -> Any:
        with self._lock:
            if self._index is None:
                faiss = _faiss()
                with reading(self._folder, RuntimeError), self._file as file:
                    index = faiss.read_index(faiss.PyCallbackIOReader(file.read))
                    if index.ntotal != self._rows:
                        raise ValueError("it has another number of points")
                self._index = index
            return self._index


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
    draw = np.random.default_rng(0)
    sample = draw.choice(n, min(n, _PER_LIST * lists), replace=False)
    index.train(in_place(points.points(np.sort(sample)), similarity))
    return faiss.serialize_index(index)


def quantise(trained: tuple[np.ndarray, str], points: np.ndarray) -> np.ndarray:
    """Quantise points by what `train_quantiser` gave, and a similarity: their lists and codes, uint8."""
    quantiser, similarity = trained
    return _faiss().deserialize_index(quantiser).sa_encode(in_place(points, similarity))


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


def _faiss() -> Any:
    # Imported when it is needed; its types lack what it adds in Python.
    return importlib.import_module("faiss")
