"""Reading the files in which users keep tables: the rows in each format."""

import codecs
import csv
import json
import re
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from answer_ranking.base import files
from answer_ranking.base.errors import UserError, say
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.data_prep.column_names import ColumnNames
from answer_ranking.data_prep.length_of_texts import LengthOfTexts
from answer_ranking.data_prep.parquet_tables import read_parquet
from answer_ranking.data_prep.tables import Faults, is_missing, numbered_lines, read_tsv, to_table

SUFFIXES = (".csv", ".tsv", ".jsonl", ".xlsx", ".parquet")
_CSV_LINE = re.compile("[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_SEPARATOR_LINE = re.compile('"?sep=([^"\r\n])"?[\r\n]', re.IGNORECASE)
_NOT_ASCII = re.compile(b"[\x80-\xff]+")
_MOST_COLUMNS = 1_000
_MOST_OTHERS = 10  # of columns that are not asked for, to be named in an error
_SHEET_ROWS = 2**20
# The cells of a sheet are written at length and pack well.
_SHEET_TIMES = 20
_SHEET_ERRORS = {"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"}


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
        table, lines = read_parquet(path, names) if suffix == ".parquet" else _read_excel(path, names, faults)
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
            say(f"{path}: not UTF-8, so read as Windows-1252. If letters are wrong, save it as UTF-8.")
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
    except MemoryError as error:
        raise UserError(f"{path} needs more memory than there is. Split it into several files.") from error
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
