"""Tables in Parquet, whose few bytes may stand for very many."""

from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base import files
from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.column_names import ColumnNames
from answer_ranking.data_prep.length_of_texts import MOST_TEXT, LengthOfTexts
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
            return pd.DataFrame(table), None
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
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            if column.path_in_schema in ours:
                size += column.total_uncompressed_size
                if "DELTA_BYTE_ARRAY" in column.encodings:
                    # Each value may begin with all that stands before it.
                    fit = MOST_TEXT // (4 * column.total_uncompressed_size + 1)
                    rows_of[column.path_in_schema] = min(
                        rows_of.get(column.path_in_schema, _ROWS), max(fit, 1)
                    )
    # A value that recurs has one place, and takes a pointer in each row.
    if max(8 * metadata.num_rows, size) > most:
        raise UserError(f"{path} unpacks to more than {most:,} bytes. Write it as .csv.")
    return ours, rows_of


def _values(column: Any, lengths: LengthOfTexts) -> list:
    import pyarrow
    import pyarrow.compute

    kind = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
    has_length = pyarrow.types.is_large_string(kind) or pyarrow.types.is_large_binary(kind)
    has_length = has_length or pyarrow.types.is_string(kind) or pyarrow.types.is_binary(kind)
    if not pyarrow.types.is_dictionary(column.type):
        if has_length:
            lengths.add(pyarrow.compute.sum(pyarrow.compute.binary_length(column)).as_py() or 0)
        return column.to_pylist()
    if has_length:
        of_each = pyarrow.compute.binary_length(column.dictionary).take(column.indices)
        lengths.add(pyarrow.compute.sum(of_each).as_py() or 0)
    distinct = [*column.dictionary.to_pylist(), None]
    return [distinct[-1 if place is None else place] for place in column.indices.to_pylist()]
