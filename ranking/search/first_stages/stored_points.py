"""The points of an index: a memory-mapped array for each segment."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from answer_ranking.ranking.search.checked_array import CheckedArray
from answer_ranking.ranking.search.manifest import Manifest, damaged, reading
from answer_ranking.ranking.search.segments import of_segments

POINTS = "points.npy"
"""The file of a segment that holds its points, float32 `(rows, d)`."""


class Points(Protocol):
    """Where points come from; `StoredPoints` is one."""

    @property
    def dimension(self) -> int: ...
    def __len__(self) -> int: ...
    def points(self, rows: np.ndarray) -> np.ndarray: ...
    def blocks(self, first: int = 0) -> Iterator[np.ndarray]: ...


class StoredPoints:
    """The points of all rows of one state of an index; the files are opened at once.

    Args:
        folder: the folder of the index.
        manifest: its state.
        file: the name of the file of points in each segment.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path, manifest: Manifest, file: str = POINTS):
        self._arrays: list[tuple[Path, CheckedArray]] = []
        for name, rows in manifest.segments:
            path = folder / "segments" / name / file
            with reading(path):
                array = CheckedArray(path)
                shape, dtype = array.array.shape, array.array.dtype
                if dtype != np.float32 or len(shape) != 2 or shape[0] != rows:
                    raise ValueError(f"{dtype} {shape} instead of float32 ({rows}, d)")
                if self._arrays and shape[1] != self.dimension:
                    raise ValueError(f"{shape[1]} numbers a point instead of {self.dimension}")
            self._arrays.append((path, array))
        self._starts = np.cumsum([0, *(rows for _, rows in manifest.segments)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def dimension(self) -> int:
        """How many numbers a point has."""
        return self._arrays[0][1].array.shape[1]

    def points(self, rows: np.ndarray) -> np.ndarray:
        """Copy the points of some rows, whose numbers rise: float32 `(rows, d)`."""
        found, done = np.empty((len(rows), self.dimension), np.float32), 0
        for i, local in of_segments(rows, self._starts):
            into = found[done : done + len(local)]
            self._read(i, partial(CheckedArray.rows, rows=local, into=into))
            done += len(local)
        if done < len(rows):
            raise damaged(self._arrays[0][0].parents[2], IndexError(f"no row {rows[-1]}"))
        return found

    def blocks(self, first: int = 0) -> Iterator[np.ndarray]:
        """Give all points from a row on, float32 `(rows of the segment, d)`, memory-mapped."""
        for i, (_, every) in enumerate(self._arrays):
            begin = max(first - int(self._starts[i]), 0)
            if begin < len(every):
                yield self._read(i, partial(CheckedArray.slice, start=begin, stop=len(every)))

    def _read(self, i: int, read: Callable[[CheckedArray], np.ndarray]) -> np.ndarray:
        path, array = self._arrays[i]
        with reading(path):
            return read(array)
