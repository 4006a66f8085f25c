"""Reading the files in which users keep tables: which columns are ours, and the rows in each format."""

import codecs
import csv
import json
import re
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base import files
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.data_prep.tables import (
    COLUMNS,
    Faults,
    is_missing,
    numbered_lines,
    read_tsv,
    shared,
    to_table,
)

SUFFIXES = (".csv", ".tsv", ".jsonl", ".xlsx", ".parquet")
_SYNONYMS = {"answer": "candidate", "answers": "candidate"}
_CSV_LINE = re.compile("[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_SEPARATOR_LINE = re.compile('"?sep=([^"\r\n])"?[\r\n]', re.IGNORECASE)
_NOT_ASCII = re.compile(b"[\x80-\xff]+")
_PARQUET_ROWS = 10_000
_MOST_COLUMNS = 1_000
_MOST_OTHERS = 10  # of columns that are not asked for, to be named in an error
# Texts may recur, so that a table has more of them than its file has bytes.
_MOST_TEXT, _TEXT_TIMES = 2**28, 20
_SHEET_ROWS = 2**20
# The cells of a sheet are written at length and pack well.
_SHEET_TIMES = 20
_SHEET_ERRORS = {"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"}


class ColumnNames:
    """Which columns of a table are ours: those of our names, in capitals or not, or as the user says.

    `theirs` maps our names to the user's. Where no column is a candidate's, one named answer or answers is.
    """

    def __init__(self, theirs: Mapping[str, str] | None = None, *, labelled: bool = True) -> None:
        self._theirs = dict(theirs or {})
        if unknown := set(self._theirs).difference(COLUMNS):
            raise UserError(f"unknown column {min(unknown)!r}: choose from {', '.join(COLUMNS)}.")
        self._ours = {name: name for name in COLUMNS if name not in self._theirs}
        self._ours |= {_plain(name): ours for ours, name in self._theirs.items()}
        self._synonyms = {} if "candidate" in self._theirs else _SYNONYMS
        # A table without labels has correct candidates alone, unless the user says where the labels are.
        with_labels = labelled and "label" in self._theirs
        self._required = ("question", "candidate", "label")[: 3 if with_labels else 2]

    def __contains__(self, name: object) -> bool:
        return _plain(name) in self._ours or _plain(name) in self._synonyms

    def standard(self, found: Iterable[object]) -> list[object]:
        """Write the names that are ours as we do, and leave the others as they are."""
        found = list(found)
        ours = [self._ours.get(_plain(name)) for name in found]
        # Where the user names another column for ours, the one of our name is any other.
        others = {name: f"other {name}" for name in self._theirs}
        others |= {} if "candidate" in ours else self._synonyms
        return [our or others.get(_plain(name), name) for our, name in zip(ours, found, strict=True)]

    def tell(self, header: Iterable[object]) -> bool:
        """Say whether a header names all columns that a table must have."""
        return set(self._required) <= set(self.standard(header))

    def require(self, found: Iterable[object], where: str | Path) -> None:
        """Raise a UserError that names a column that is missing, and the option that names it."""
        found = list(found)
        missing = [name for name in self._required if name not in self.standard(found)]
        if missing:
            names = ", ".join(str(name).strip() for name in found) or "none"
            raise UserError(
                f"{where}: the column {self._theirs.get(missing[0], missing[0])!r} is missing (found: "
                f"{names:.500}). The header must name question and candidate, and label where some are "
                f"wrong; say with --{missing[0]}-column how it is named there."
            )


class EveryColumn(ColumnNames):
    """All columns of a table, as they are called there; one of `known` tells a header."""

    def __init__(self, *known: str) -> None:
        super().__init__()
        self._known = set(known)

    def __contains__(self, name: object) -> bool:
        return True

    def standard(self, found: Iterable[object]) -> list[object]:
        return list(found)

    def tell(self, header: Iterable[object]) -> bool:
        return not self._known.isdisjoint(map(_plain, header))

    def require(self, found: Iterable[object], where: str | Path) -> None:
        """Require nothing: what is missing is the caller's to say."""


def _plain(name: object) -> str:
    return str(name).strip().lower()


def read_table_file(
    path: Path, names: ColumnNames, drop_bad_rows: bool | None = None
) -> tuple[pd.DataFrame, list[int] | None, Faults]:
    """Read the rows of a file as they are; the name tells the format, and a UserError refuses another one.

    Returns the table, with our names for our columns; the number of every row (None: from 1); and the rows
    that cannot be read, of which `drop_bad_rows` says what becomes of them (`Faults`). The table's `attrs`
    hold the `separator` of the fields.
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES:
        raise UserError(f"{path}: the name must end in {', '.join(SUFFIXES)} (.gz may follow).")
    faults = Faults(path, "row" if suffix in (".parquet", ".xlsx") else "line", drop_bad_rows)
    lines: list[int] | None
    if suffix in (".parquet", ".xlsx"):
        if not path.is_file():
            raise UserError(f"{path} is no file, or does not exist. Check the path.")
        table, lines = (
            _read_parquet(path, names) if suffix == ".parquet" else _read_excel(path, names, faults)
        )
    elif suffix == ".csv":
        table, lines = read_csv(_text(path, suffix), faults, names)
    elif suffix == ".tsv":
        table, lines = read_tsv(_text(path, suffix), path, faults)
        table.attrs["separator"] = "\t"
    else:
        table, lines = read_json_lines(_text(path, suffix), faults, names)
    names.require(table.columns, path)
    table.columns = names.standard(table.columns)
    table.attrs.setdefault("separator", ",")
    return table, lines, faults


def _text(path: Path, suffix: str) -> str:
    """Read a file's text: UTF-8; UTF-16 with a byte order mark; or, not for JSON lines, Windows-1252."""
    content = read_content(path)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            text = content.decode("utf-16").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{path}: damaged UTF-16 text ({error}). Save the file with the encoding UTF-8."
            ) from error
    else:
        try:
            text = decode_text(content, path)
        except UserError:
            if suffix == ".jsonl" or not _is_windows_1252(content):
                raise
            text = content.decode("cp1252").replace("\r\n", "\n")
            print(
                f"{path}: not UTF-8, so read as Windows-1252. If letters are wrong, save it as UTF-8.",
                file=sys.stderr,
            )
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(f"{path}, line {line}: NUL bytes, which no text has. Save it as UTF-8.")
    return text


def _is_windows_1252(content: bytes) -> bool:
    """Say whether what is not UTF-8 may be Windows-1252; not so where its first special letters are UTF-8."""
    letters = _NOT_ASCII.search(content)
    try:
        content.decode("cp1252")
        return letters is not None and b"\0" not in content and not letters[0].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.encoding == "utf-8"


def read_csv(text: str, faults: Faults, names: ColumnNames) -> tuple[pd.DataFrame, list[int]]:
    """Split comma-separated text with ordinary quoting, header in the first line.

    A line `sep=;` before it names the separator. Else, where the header names our columns with semicolons or
    tabs between them, these separate, as in the spreadsheets of many countries; where it does not name them,
    what is most frequent there. Returns the table (all columns str) and the line on which every row begins.
    """
    named = _SEPARATOR_LINE.match(text)
    begin = named.end() if named else 0
    header = _CSV_LINE.search(text, begin)
    separator = named[1] if named else _separator(header[0] if header else "", names)
    usual_limit = csv.field_size_limit(sys.maxsize)
    try:
        table, lines = to_table(_csv_rows(text, begin, separator, faults), faults)
    finally:
        csv.field_size_limit(usual_limit)
    table.attrs["separator"] = separator
    return table, lines


def _csv_rows(text: str, begin: int, separator: str, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    # Line by line: io.StringIO would hold the text once more, in four bytes a character.
    lines = (match[0] for match in _CSV_LINE.finditer(text, begin))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    before = 1 if begin else 0
    line = before + 1
    while True:
        try:
            for fields in reader:
                if fields:
                    yield line, fields
                line = before + reader.line_num + 1
            return
        except csv.Error as error:
            what = (
                f"{error}. Put a text with a separator, a quote or a line end in quotes, "
                "and double the quotes inside it."
            )
            # A quote that is left open has taken in lines that may be right: these must not get lost.
            if before + reader.line_num > line:
                raise UserError(f"{faults.where}, line {line}: {what}") from error
            faults.add(line, what)
            line = before + reader.line_num + 1


def _separator(header: str, names: ColumnNames) -> str:
    for separator in ",;\t":
        if names.tell(name.strip().strip('"') for name in header.split(separator)):
            return separator
    return max(",;\t", key=header.count)


def read_json_lines(text: str, faults: Faults, names: ColumnNames) -> tuple[pd.DataFrame, list[int]]:
    """Make a table of JSON lines: one object a line, its keys the columns.

    Returns the table, None where an object lacks a key, and the line number of every row. A line that is no
    JSON object is added to the faults.
    """
    # Built by column, because a DataFrame made of records would turn missing values and mixed types about.
    columns: dict[str, list] = {}
    lines: list[int] = []
    number = 0
    for number, line in numbered_lines(text):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.add(number, f"not JSON ({error!s:.100}). Write one object a line.")
            continue
        if not isinstance(record, dict):
            faults.add(number, "not a JSON object. Write one object a line.")
            continue
        for name in record:
            # Names that cannot be printed are none of ours, and half characters in them would stop pandas.
            # A name of its own in every line would make as many columns as lines.
            if name in columns or not name.isprintable():
                continue
            if name in names and len(columns) >= _MOST_COLUMNS:
                raise UserError(
                    f"{faults.where}, line {number}: more than {_MOST_COLUMNS} different keys in the file. "
                    "Write one object with the same keys a line."
                )
            if name in names or len(columns) < _MOST_OTHERS:
                columns[name] = [None] * len(lines)
        for name, column in columns.items():
            value = record.get(name)
            column.append(column[-1] if column and value == column[-1] and type(value) is str else value)
        lines.append(number)
    if not lines:
        faults.settle(0)
        raise UserError(f"{faults.where}: the file is empty.")
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()}), lines


def _read_parquet(path: Path, names: ColumnNames) -> tuple[pd.DataFrame, None]:
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
                parts = file.iter_batches(columns=[name], batch_size=rows_of.get(name, _PARQUET_ROWS))
                values = shared(value for part in parts for value in _values(part.column(0), lengths))
                table[name] = pd.Series(values, dtype=object)
            return pd.DataFrame(table), None
    except UserError:
        raise
    except Exception as error:  # what pyarrow raises for a damaged file may be anything
        raise UserError(f"{path} is not a readable Parquet file ({error!s:.200}). Write it again.") from error


def _parquet_columns(
    path: Path, file: Any, names: ColumnNames, lengths: "LengthOfTexts"
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
                    fit = _MOST_TEXT // (4 * column.total_uncompressed_size + 1)
                    rows_of[column.path_in_schema] = min(
                        rows_of.get(column.path_in_schema, _PARQUET_ROWS), max(fit, 1)
                    )
    # A value that recurs has one place, and takes a pointer in each row.
    if max(8 * metadata.num_rows, size) > most:
        raise UserError(f"{path} unpacks to more than {most:,} bytes. Write it as .csv.")
    return ours, rows_of


def _values(column: Any, lengths: "LengthOfTexts") -> list:
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


class LengthOfTexts:
    """Adds up the lengths of a table's texts; a UserError says that they are too long for the file's size.

    A text that recurs has one place in a Parquet file or a sheet, but one for each row in an index. A few
    kilobytes can stand for more than any memory.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._sum = path, 0
        self._most = max(_MOST_TEXT, _TEXT_TIMES * path.stat().st_size)

    def add(self, length: int) -> None:
        self._sum += length
        if self._sum > self._most:
            raise UserError(
                f"{self._path}: its texts have more than {self._most:,} bytes in all, since some stand in "
                "very many rows. Leave out what repeats, or write it as .csv."
            )


def _read_excel(path: Path, names: ColumnNames, faults: Faults) -> tuple[pd.DataFrame, list[int]]:
    """Read the first sheet; the first row that is not blank is the header."""
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f"{path}: Excel files need openpyxl: pip install 'answer-ranking[excel]'. Or save it as .csv."
        ) from error
    try:
        most = max(files.MOST_BYTES, _SHEET_TIMES * path.stat().st_size)
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > most:
                raise UserError(f"{path} unpacks to more than {most:,} bytes. Save the sheet as .csv.")
            # The sizes may be lies: reading in small parts shows it.
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} is damaged")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            try:
                return _first_sheet(book, names, faults)
            finally:
                book.close()
    except UserError:
        raise
    except Exception as error:  # what openpyxl raises for a damaged file may be anything
        raise UserError(
            f"{path} is not a readable Excel file ({error!s:.200}). "
            "Save it again as .xlsx, without a password."
        ) from error


def _first_sheet(book, names: ColumnNames, faults: Faults) -> tuple[pd.DataFrame, list[int]]:
    faults.if_empty += (
        " A merged cell has its text in its first row alone: unmerge it and fill every row. A formula has no "
        "value before Excel has saved it."
    )
    sheet = book.worksheets[0]
    # What the file says of its size may be wrong.
    sheet.reset_dimensions()
    rows = enumerate(sheet.iter_rows(max_row=_SHEET_ROWS, values_only=True), start=1)
    first, header = next(((n, row) for n, row in rows if any(map(_is_filled, row))), (0, ()))
    if not first:
        raise UserError(f"{faults.where}: the first sheet is empty.")
    found = {i: str(name) for i, name in enumerate(header) if _is_filled(name)}
    names.require(found.values(), faults.where)
    ours = [i for i, name in found.items() if name in names]
    columns: list[list] = [[] for _ in ours]
    lines: list[int] = []
    lengths = LengthOfTexts(Path(faults.where))
    rest = sheet.iter_rows(first + 1, _SHEET_ROWS, max_col=max(ours) + 1, values_only=True)
    for line, row in enumerate(rest, start=first + 1):
        if not any(map(_is_filled, row)):
            continue
        wrong = next((i for i in ours if row[i] in _SHEET_ERRORS), None)
        if wrong is not None:
            faults.add(line, f"the {found[wrong]} is Excel's error {row[wrong]}. Correct its formula.")
            continue
        for column, i in zip(columns, ours, strict=True):
            lengths.add(len(row[i]) if type(row[i]) is str else 0)
            column.append(column[-1] if column and type(row[i]) is str and row[i] == column[-1] else row[i])
        lines.append(line)
    table = pd.DataFrame(dict(enumerate(columns)), dtype=object)
    table.columns = [found[i] for i in ours]
    return table, lines


def _is_filled(value: object) -> bool:
    return not is_missing(value) and bool(str(value).strip())
