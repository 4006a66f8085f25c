"""The texts and columns of an index in Parquet, some ten thousand rows a folder."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.length_of_texts import MOST_TEXT, LengthOfTexts, has_length
from answer_ranking.ranking.search.manifest import FORMAT, UNREADABLE, Manifest, damaged, name_of

TEXTS = "texts.parquet"
"""The file of a segment that holds its texts and columns."""
_GROUP = 128  # rows: the least that is read for one text
_MANY = 64  # groups: fewer are read in half the time without threads
_KEPT = 2**26  # bytes of groups that stay in memory: read again at ten times the speed
_ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "BIT_PACKED"}


class Segments:
    """The rows of one state of an index, numbered from 0 over all segments; its files are opened at once.

    Safe to use from several threads. A state that is open stays readable while others replace it. What a
    received file expands to is bounded before it is expanded.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path, manifest: Manifest):
        self._lock = threading.Lock()
        self._kept: dict[tuple[int, int], pa.Table] = {}
        self._kept_bytes = 0
        self._folder = folder
        self._files: list[_File] = []
        for name, rows in manifest.segments:
            path = folder / "segments" / name / TEXTS
            with _reading(path):
                file = _opened(path, rows)
                packed = file.parquet.schema_arrow.remove_metadata()
                if not self._files:
                    self._packed = packed
                if _plain(packed) != self.schema:
                    raise ValueError("its columns are not those of the first segment")
                if packed != self._packed:
                    # Indexes of before may have pandas' categories in one, and their texts in another.
                    self._packed = self.schema
            self._files.append(file)
        self._starts = np.cumsum([0, *(rows for _, rows in manifest.segments)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return _plain(self._packed)

    def column(self, name: str) -> pa.ChunkedArray:
        """Read a whole column."""
        parts = []
        for i, file in enumerate(self._files):
            part = self._read(i, list(range(file.parquet.num_row_groups)), [name])
            with _reading(file.path):
                parts.append(part.cast(_plain(part.schema)))
        return pa.concat_tables(parts).column(0)

    def take(self, rows: np.ndarray) -> pa.Table:
        """Read some rows, in their order; one that occurs several times is read once."""
        distinct, place_of_row = np.unique(rows, return_inverse=True)
        parts = [self._packed.empty_table()]
        for i, local in of_segments(distinct, self._starts):
            groups = self._groups(i, np.unique(local // _GROUP).tolist())
            for row in local.tolist():
                # Only a segment's last group may be shorter, and no other follows it.
                parts.append(groups[row // _GROUP].slice(row % _GROUP, 1))
        with _reading(self._folder):
            return pa.concat_tables(parts).cast(self.schema).combine_chunks().take(place_of_row)

    def _groups(self, i: int, groups: list[int]) -> dict[int, pa.Table]:
        """Read groups of rows of a segment; those that were read last are kept."""
        found = {group: self._kept.get((i, group)) for group in groups}
        missing = [group for group, table in found.items() if table is None]
        if missing:
            read = self._read(i, missing, self._packed.names)
            for n, group in enumerate(missing):
                found[group] = read.slice(n * _GROUP, _GROUP)
            self._keep(i, {group: found[group] for group in missing}, read.nbytes)
        return found

    def _keep(self, i: int, groups: dict[int, pa.Table], size: int) -> None:
        if self._kept_bytes + size > _KEPT:
            self._kept.clear()
            self._kept_bytes = 0
        if size <= _KEPT:
            self._kept_bytes += size
            for group, table in groups.items():
                self._kept[i, group] = table

    def _read(self, i: int, groups: list[int], columns: list[str]) -> pa.Table:
        """Read groups as they are packed: a text that recurs in a group is there once."""
        file = self._files[i]
        fields = [self._packed.field(name) for name in columns]
        with _reading(file.path):
            _check_groups(file, groups, fields)
            with self._lock:
                packed = file.parquet.read_row_groups(groups, columns, use_threads=len(groups) > _MANY)
            _check_texts(file, packed)
            return packed.cast(pa.schema(fields))


class _File(NamedTuple):
    """A segment's file, which stays readable when its folder is moved or removed."""

    path: Path
    parquet: pq.ParquetFile
    size: int


def _opened(path: Path, rows: int) -> _File:
    """Open a file so that a text that recurs is read once, and not once for each row of a group."""
    options = {"memory_map": True, "page_checksum_verification": True, "pre_buffer": False}
    file = pq.ParquetFile(path, **options)
    found, n_groups = file.metadata.num_rows, file.num_row_groups
    if found != rows or n_groups != -(-rows // _GROUP):
        raise ValueError(f"{found} rows in {n_groups} groups instead of {rows}")
    for name in ("candidate_id", "candidate"):
        if file.schema_arrow.field(name).type != pa.string():
            raise ValueError(f"the column {name!r} is not text")
    names = [each.name for each in file.schema_arrow if has_length(each.type)]
    size = path.stat().st_size
    return _File(path, pq.ParquetFile(path, metadata=file.metadata, read_dictionary=names, **options), size)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise damaged(path, ValueError("it expands to far more than an index does")) from error
    except MemoryError as error:
        cure = "Free some, or ask for fewer answers at a time."
        raise UserError(f"{path} needs more memory than there is. {cure}") from error
    except (*UNREADABLE, pa.ArrowException) as error:
        raise damaged(path, error) from error


def _check_groups(file: _File, groups: list[int], columns: list[pa.Field]) -> None:
    """Refuse groups that this package does not write, or that say that they are very large."""
    lengths, metadata = LengthOfTexts(file.path, file.size), file.parquet.metadata
    names = {each.name for each in columns}
    for number in groups:
        group = metadata.row_group(number)
        expected = min(_GROUP, metadata.num_rows - number * _GROUP)
        if group.num_rows != expected:
            raise ValueError(f"{group.num_rows} rows in a group instead of {expected}")
        for place in range(group.num_columns):
            column = group.column(place)
            if not _ENCODINGS.issuperset(column.encodings):
                raise ValueError(f"{column.encodings} are not all encodings of an index")
            name, in_list, _ = column.path_in_schema.partition(".")
            if column.path_in_schema in names:
                lengths.add(column.total_uncompressed_size)
            elif in_list and name in names:
                # A list may hold a value any number of times.
                lengths.add(column.total_uncompressed_size * column.num_values)
    for each in columns:
        if pa.types.is_fixed_size_binary(each.type):
            # pyarrow expands these as it reads.
            lengths.add(each.type.byte_width * _GROUP * len(groups))


def _check_texts(file: _File, packed: pa.Table) -> None:
    """Refuse texts that take far more memory, one in each row, than the file has bytes."""
    chunks = []
    for column in packed.columns:
        if pa.types.is_dictionary(column.type):
            chunks += column.chunks
    if sum(chunk.dictionary.nbytes * len(chunk) for chunk in chunks) <= MOST_TEXT:
        return
    lengths = LengthOfTexts(file.path, file.size)
    for chunk in chunks:
        lengths.add_texts(chunk)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Give the types of the columns as they were written."""
    fields = []
    for each in schema.remove_metadata():
        packed = pa.types.is_dictionary(each.type)
        fields.append(each.with_type(each.type.value_type) if packed else each)
    return pa.schema(fields)


def of_segments(rows: np.ndarray, starts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Give the numbers of segments, and which of some rows lie in each; `starts` are their first rows."""
    bounds = np.searchsorted(rows, starts)
    for i in np.flatnonzero(np.diff(bounds)):
        yield int(i), rows[bounds[i] : bounds[i + 1]] - starts[i]


class Part(NamedTuple):
    """The rows of a segment that is not made yet."""

    content: pa.Buffer
    """A Parquet file."""
    rows: int
    shift: int = 0
    """What is added to the numbers in `candidate_id`, where the rows are named by these alone."""

    def name(self, manifest: Manifest) -> str:
        """Name the segment by what it is made of, so that what was finished before a kill is known again."""
        sha256 = hashlib.sha256(self.content).hexdigest()
        words = (manifest.words.stemmer, *manifest.words.stop_words)
        made_by = (manifest.model, *manifest.first_stages, *manifest.searched, *words)
        return name_of(str(FORMAT), *made_by, str(self.shift), sha256)

    def table(self) -> pa.Table:
        """Read the rows, and number on those that are named by numbers alone."""
        rows = pq.read_table(self.content)
        if not self.shift:
            return rows
        numbers = [int(name[1:]) + self.shift for name in rows["candidate_id"].to_pylist()]
        ids = pa.array([f"c{number}" for number in numbers], pa.string())
        place = rows.schema.get_field_index("candidate_id")
        return rows.set_column(place, "candidate_id", ids)


def joined(columns: pa.Table) -> list[str]:
    """Join the texts of each row; what is missing is left out.

    Example:
        >>> joined(pa.table({"question": ["Who?", None, None], "answer": ["Ann.", "Rain.", None]}))
        ['Who? Ann.', 'Rain.', '']
    """
    texts = [column.cast(pa.string()).to_pylist() for column in columns.itercolumns()]
    # Not Arrow's own, which leaves out rows of which all is missing.
    return [" ".join(filter(None, row)) for row in zip(*texts, strict=True)]


def to_parquet(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=_GROUP, compression="zstd", write_page_checksum=True)
    return sink.getvalue()
