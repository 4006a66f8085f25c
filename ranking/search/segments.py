"""The rows of an index: texts in Parquet, points in memory-mapped arrays, some ten thousand rows a folder."""

import hashlib
import io
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import allow_files
from answer_ranking.ranking.search.bm25 import WORDS, counts_of
from answer_ranking.ranking.search.checked_array import CheckedArray
from answer_ranking.ranking.search.manifest import FORMAT, Manifest, damaged, name_of
from answer_ranking.ranking.search.tasks import Model

_GROUP = 128  # rows: the least that is read for one text
_KEPT = 1_024  # groups, or a hundred thousand texts, that stay in memory: read again at ten times the speed


class Segments:
    """The rows of one state of an index, numbered from 0 over all segments; its files are opened at once.

    Safe to use from several threads. A state that is open stays readable while others replace it.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path, manifest: Manifest):
        self._lock = threading.Lock()
        self._kept: dict[tuple[int, int], pa.Table] = {}
        self._files: list[tuple[Path, pq.ParquetFile]] = []
        self._points: list[tuple[Path, CheckedArray]] = []
        allow_files(2 * len(manifest.segments))
        for name, rows in manifest.segments:
            path = folder / "segments" / name / "texts.parquet"
            try:
                file = pq.ParquetFile(path, memory_map=True, page_checksum_verification=True)
                if file.metadata.num_rows != rows:
                    raise ValueError(f"{file.metadata.num_rows} rows instead of {rows}")
                self._files.append((path, file))
                if manifest.similarity:
                    path = path.with_name("points.npy")
                    points = CheckedArray(path)
                    shape, dtype = points.array.shape, points.array.dtype
                    if dtype != np.float32 or len(shape) != 2 or shape[0] != rows:
                        raise ValueError(f"{dtype} {shape} instead of float32 ({rows}, d)")
                    self._points.append((path, points))
            except (OSError, ValueError, EOFError, pa.ArrowException) as error:
                raise damaged(path, error) from error
        self._starts = np.cumsum([0, *(rows for _, rows in manifest.segments)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self._files[0][1].schema_arrow.remove_metadata()

    @property
    def dimension(self) -> int:
        """How many numbers a point has."""
        return self._points[0][1].array.shape[1]

    def column(self, name: str) -> pa.ChunkedArray:
        """Read a whole column."""
        parts = [self._reading(i, lambda file: file.read([name])) for i in range(len(self._files))]
        return pa.concat_tables(parts).column(0)

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Read some rows, in their order; one that occurs several times is read once."""
        distinct, place_of_row = np.unique(rows, return_inverse=True)
        parts = []
        for i, local in self._split(distinct):
            groups, place = np.unique(local // _GROUP, return_inverse=True)
            table = pa.concat_tables(self._groups(i, groups.tolist())).combine_chunks()
            # Only a segment's last group may be shorter, and no other follows it.
            parts.append(table.take(pa.array(place * _GROUP + local % _GROUP)))
        table = pa.concat_tables(parts) if parts else self.schema.empty_table()
        return table.to_pandas().iloc[place_of_row].reset_index(drop=True)

    def _groups(self, i: int, groups: list[int]) -> list[pa.Table]:
        """Read groups of rows of a segment; those that were read last are kept."""
        found = {group: self._kept.get((i, group)) for group in groups}
        missing = [group for group, table in found.items() if table is None]
        if missing:
            read = self._reading(i, lambda file: file.read_row_groups(missing))
            found |= {group: read.slice(n * _GROUP, _GROUP) for n, group in enumerate(missing)}
            if len(self._kept) > _KEPT:
                self._kept.clear()
            if len(missing) <= _KEPT:
                self._kept.update({(i, group): found[group] for group in missing})
        return list(found.values())

    def points(self, rows: np.ndarray) -> np.ndarray:
        """Copy the points of some rows, whose numbers rise: float32 `(rows, d)`."""
        parts = []
        for i, local in self._split(rows):
            parts.append(self._read_points(i, partial(CheckedArray.rows, rows=local)))
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def blocks(self, first: int = 0) -> Iterator[np.ndarray]:
        """Give all points from a row on, float32 `(rows of the segment, d)`, memory-mapped."""
        for i, (_, every) in enumerate(self._points):
            begin = max(first - int(self._starts[i]), 0)
            if begin < len(every):
                yield self._read_points(i, partial(CheckedArray.slice, start=begin, stop=len(every)))

    def _split(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        bounds = np.searchsorted(rows, self._starts)
        for i in np.flatnonzero(np.diff(bounds)):
            yield int(i), rows[bounds[i] : bounds[i + 1]] - self._starts[i]

    def _read_points(self, i: int, read: Callable[[CheckedArray], np.ndarray]) -> np.ndarray:
        path, points = self._points[i]
        try:
            return read(points)
        except (OSError, ValueError) as error:
            raise damaged(path, error) from error

    def _reading(self, i: int, read: Callable[[pq.ParquetFile], pa.Table]) -> pa.Table:
        path, file = self._files[i]
        try:
            with self._lock:
                return read(file)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise damaged(path, error) from error


def matching(column: pa.ChunkedArray, values: Sequence) -> np.ndarray:
    """Say which rows have one of the values, bool `(rows,)`; text, such as "3", is read as the column's type.

    An ArrowException says that a value is none of this type.
    """
    wanted = pa.array([pa.scalar(value).cast(column.type).as_py() for value in values], column.type)
    return pc.is_in(column, wanted).to_numpy()


class Part(NamedTuple):
    """The rows of a segment that is not made yet."""

    content: pa.Buffer
    """A Parquet file."""
    rows: int
    shift: int = 0
    """What is added to the numbers in `candidate_id`, where the rows are named by these alone."""

    def name(self, model: str) -> str:
        """Name the segment by rows and model, so that what was finished before a kill is known again."""
        return name_of(str(FORMAT), model, str(self.shift), hashlib.sha256(self.content).hexdigest())


def to_parquet(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=_GROUP, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def make_segment(model: Model | None, part: Part) -> dict[str, pa.Buffer]:
    """Make the files of a segment: its texts, the counts of their words and, with a model, their points."""
    content, rows = part.content, pq.read_table(part.content)
    if part.shift:
        numbers = [int(each[1:]) + part.shift for each in rows["candidate_id"].to_pylist()]
        ids = pa.array([f"c{number}" for number in numbers], pa.string())
        content = to_parquet(
            rows.set_column(rows.schema.get_field_index("candidate_id"), "candidate_id", ids)
        )
    texts = rows["candidate"].to_pylist()
    files = {"texts.parquet": content, WORDS: _file(np.savez, **counts_of(texts))}
    if model is not None:
        points = model.encode(texts)
        if points.ndim != 2 or len(points) != len(rows) or not np.isfinite(points).all():
            raise ValueError(f"the model must give {len(rows)} finite points. Received: {points.shape}")
        files["points.npy"] = _file(np.save, points)
    return files


def _file(save: Callable[..., None], *arrays: np.ndarray, **named: np.ndarray) -> pa.Buffer:
    sink = io.BytesIO()
    save(sink, *arrays, **named)
    return pa.py_buffer(sink.getbuffer())


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path`, which takes its name when the block ends without an error.

    The caller holds the lock of the index. A UserError says that the disk is full.
    """
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        for each in part.iterdir():
            with each.open("rb+") as file:
                os.fsync(file.fileno())
        part.rename(path)
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}. Free space, then run the same command again: "
            "what is finished is kept."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
