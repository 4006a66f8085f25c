"""Tables in Parquet, whose few bytes may stand for very many."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base import files
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.column_names import ColumnNames
from answer_ranking.data_prep.length_of_texts import MOST_TEXT, LengthOfTexts, has_length
from answer_ranking.data_prep.tables import shared

_ROWS = 10_000


def read_parquet(path: Path, names: ColumnNames) -> tuple[pd.DataFrame, None]:
    """Read our columns; a UserError says that the file is damaged, or would take too much memory."""
    import pyarrow.parquet

    try:
        lengths = LengthOfTexts(path)
        with pyarrow.parquet.ParquetFile(path) as file:
            ours, rows_of = _parquet_columns(path, file, names, lengths)
        # By column and part by part, so that no more than a part is held in Arrow's form beside Python's; a
        # dictionary's text is held once, however many rows of the part have it.
        with pyarrow.parquet.ParquetFile(path, read_dictionary=[*set(ours).difference(rows_of)]) as file:
            table = {}
            for name in ours:
                parts = file.iter_batches(columns=[name], batch_size=rows_of.get(name, _ROWS))
                values = shared(value for part in parts for value in _values(part.column(0), lengths))
                table[name] = pd.Series(values, dtype=object)
            read = pd.DataFrame(table)
            read.attrs["columns"] = file.schema_arrow.names
            return read, None
    except UserError:
        raise
    except MemoryError as error:
        raise UserError(f"{path} needs more memory than there is. Split it into several files.") from error
    except Exception as error:  # what pyarrow raises for a damaged file may be anything
        raise UserError(f"{path} is not a readable Parquet file ({error!s:.200}). Write it again.") from error


def _parquet_columns(
    path: Path, file: Any, names: ColumnNames, lengths: LengthOfTexts
) -> tuple[list[str], dict[str, int]]:
    """Check what a Parquet file says of itself, and give the columns to read.

    For columns whose texts are stored by what they do not have in common with the one before, which pyarrow
    reads at full length alone, also gives how many rows fit the memory.
    """
    import pyarrow.types

    schema, metadata = file.schema_arrow, file.metadata
    names.require(schema.names, path)
    ours = [name for name in schema.names if name in names]
    for name in ours:
        if ours.count(name) > 1:
            raise UserError(f"{path}: the column {name!r} occurs twice. Name every column once.")
        kind = schema.field(name).type
        if pyarrow.types.is_nested(kind):
            raise UserError(
                f"{path}: the column {name!r} holds lists or structures ({kind!s:.80}). "
                "Write it as text, or leave it out."
            )
        if pyarrow.types.is_fixed_size_binary(kind):
            # pyarrow expands these as it reads, so they count before.
            lengths.add(kind.byte_width * metadata.num_rows)
    most = max(files.MOST_BYTES, files.MOST_TIMES * path.stat().st_size)
    size, rows_of = 0, dict[str, int]()
    for name, column in _chunks(file, ours):
        size += column.total_uncompressed_size
        if "DELTA_BYTE_ARRAY" in column.encodings:
            # Each value may begin with all that stands before it.
            fit = max(1, MOST_TEXT // (4 * column.total_uncompressed_size + 1))
            rows_of[name] = min(rows_of.get(name, _ROWS), fit)
    # A value that recurs has one place, and takes a pointer in each row.
    if max(8 * metadata.num_rows, size) > most:
        raise UserError(f"{path} unpacks to more than {most:,} bytes. Write it as .csv.")
    return ours, rows_of


def _chunks(file: Any, ours: list[str]) -> Iterator[tuple[str, Any]]:
    """Give what the file says of the parts in which our columns are stored."""
    paths = [file.schema.column(place).path for place in range(file.metadata.num_columns)]
    places = [place for place, name in enumerate(paths) if name in ours]
    for group in range(file.metadata.num_row_groups):
        # pyarrow ends the process where it is asked for what is damaged. To begin reading checks it.
        next(file.reader.iter_batches(0, [group], column_indices=places, use_threads=False), None)
        for place in places:
            yield paths[place], file.metadata.row_group(group).column(place)


def _values(column: Any, lengths: LengthOfTexts) -> list:
    import pyarrow.types

    is_dictionary = pyarrow.types.is_dictionary(column.type)
    if has_length(column.type.value_type if is_dictionary else column.type):
        lengths.add_texts(column)
    if not is_dictionary:
        return column.to_pylist()
    distinct = [*column.dictionary.to_pylist(), None]
    return [distinct[-1 if place is None else place] for place in column.indices.to_pylist()]
