"""The texts and columns of an index in Parquet, some ten thousand rows a folder."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from answer_ranking.ranking.search.manifest import FORMAT, Manifest, damaged, name_of

TEXTS = "texts.parquet"
"""The file of a segment that holds its texts and columns."""
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
        for name, rows in manifest.segments:
            path = folder / "segments" / name / TEXTS
            try:
                file = pq.ParquetFile(path, memory_map=True, page_checksum_verification=True)
                if file.metadata.num_rows != rows:
                    raise ValueError(f"{file.metadata.num_rows} rows instead of {rows}")
            except (OSError, ValueError, EOFError, pa.ArrowException) as error:
                raise damaged(path, error) from error
            self._files.append((path, file))
        self._starts = np.cumsum([0, *(rows for _, rows in manifest.segments)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self._files[0][1].schema_arrow.remove_metadata()

    def column(self, name: str) -> pa.ChunkedArray:
        """Read a whole column."""
        parts = [self._reading(i, lambda file: file.read([name])) for i in range(len(self._files))]
        return pa.concat_tables(parts).column(0)

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Read some rows, in their order; one that occurs several times is read once."""
        distinct, place_of_row = np.unique(rows, return_inverse=True)
        parts = []
        for i, local in of_segments(distinct, self._starts):
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

    def _reading(self, i: int, read: Callable[[pq.ParquetFile], pa.Table]) -> pa.Table:
        path, file = self._files[i]
        try:
            with self._lock:
                return read(file)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise damaged(path, error) from error


def of_segments(rows: np.ndarray, starts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Give the numbers of segments, and which of some rows lie in each; `starts` are their first rows."""
    bounds = np.searchsorted(rows, starts)
    for i in np.flatnonzero(np.diff(bounds)):
        yield int(i), rows[bounds[i] : bounds[i + 1]] - starts[i]


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

    def name(self, model: str, stages: Sequence[str]) -> str:
        """Name the segment by what it is made of, so that what was finished before a kill is known again."""
        sha256 = hashlib.sha256(self.content).hexdigest()
        return name_of(str(FORMAT), model, *stages, str(self.shift), sha256)

    def table(self) -> pa.Table:
        """Read the rows, and number on those that are named by numbers alone."""
        rows = pq.read_table(self.content)
        if not self.shift:
            return rows
        numbers = [int(name[1:]) + self.shift for name in rows["candidate_id"].to_pylist()]
        ids = pa.array([f"c{number}" for number in numbers], pa.string())
        return rows.set_column(rows.schema.get_field_index("candidate_id"), "candidate_id", ids)


def to_parquet(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=_GROUP, compression="zstd", write_page_checksum=True)
    return sink.getvalue()
