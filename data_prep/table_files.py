"""Reading the files in which users keep tables: the rows in each format."""

import codecs
import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base.errors import UserError, say
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.data_prep.column_names import ColumnNames
from answer_ranking.data_prep.excel_tables import read_excel
from answer_ranking.data_prep.formulas import has_formula_marks, without_formula_mark
from answer_ranking.data_prep.parquet_tables import read_parquet
from answer_ranking.data_prep.tables import Faults, numbered_lines, read_tsv, refuse_many_columns, to_table

SUFFIXES = (".csv", ".tsv", ".jsonl", ".xlsx", ".parquet")
_CSV_LINE = re.compile("[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_SEPARATOR_LINE = re.compile('"?sep=([^"\r\n])"?[\r\n]', re.IGNORECASE)
_NOT_ASCII = re.compile(b"[\x80-\xff]+")
_TOGETHER = 3
_KANA = (b"\x82", b"\x83")  # of Shift-JIS; in Windows-1252 a low quotation mark and a florin sign
_MOST_COLUMNS = 1_000
_MOST_OTHERS = 10  # of columns that are not asked for, to be named in an error


def read_table_file(
    path: Path, names: ColumnNames, drop_bad_rows: bool | None = None, sheet: str | None = None
) -> tuple[pd.DataFrame, list[int] | None, Faults]:
    """Read the rows of a file as they are; the name tells the format, and a UserError refuses another one.

    Returns the table, with our names for our columns; the number of every row (None: from 1); and the rows
    that cannot be read, of which `drop_bad_rows` says what becomes of them (`Faults`). The table's `attrs`
    hold the `separator` of the fields, and the `columns` as they are called there. `sheet` is the one to read
    of an Excel file (None: the first that is not hidden).
    """
    suffix = format_of(path)
    if suffix not in SUFFIXES:
        raise UserError(f"{path}: the name must end in {', '.join(SUFFIXES)} (.gz may follow).")
    if sheet is not None and suffix != ".xlsx":
        raise UserError(f"{path} has no sheets: leave sheet out.")
    faults = Faults(path, "row" if suffix in (".parquet", ".xlsx") else "line", drop_bad_rows)
    table, lines = _read(path, suffix, names, faults, sheet)
    names.require(table.columns, path)
    table.attrs.setdefault("columns", list(table.columns))
    table.columns = names.standard(table.columns)
    table.attrs.setdefault("separator", "\t" if suffix == ".tsv" else ",")
    return table, lines, faults


_QUOTED_FIELD = re.compile(r'(?:^|(?<=\t))"[^"\t\n]*(?:""[^"\t\n]*)+"(?=\t|$)', re.MULTILINE)
"""Of a tab-separated text: in quotes, and with doubled ones in it."""


def format_of(path: Path) -> str:
    """Give the suffix that tells a table's format, such as ".csv" of "a.CSV.gz"."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _read(
    path: Path, suffix: str, names: ColumnNames, faults: Faults, sheet: str | None
) -> tuple[pd.DataFrame, list[int] | None]:
    if suffix in (".parquet", ".xlsx"):
        if not path.is_file():
            raise UserError(f"{path} is not a file, or does not exist. Check the path.")
        if suffix == ".parquet":
            return read_parquet(path, names)
        return read_excel(path, names, faults, sheet)
    text = _text(path, suffix)
    if suffix == ".csv":
        return read_csv(text, faults, names)
    if suffix == ".tsv":
        if n_quoted := len(_QUOTED_FIELD.findall(text)):
            say(
                f"{path}: {n_quoted:,} fields are quoted as in a .csv file, and their quotes are kept: a "
                ".tsv file has none. Write it without quotes, or as .csv."
            )
        return read_tsv(text, path, faults)
    return read_json_lines(text, faults, names)


def _text(path: Path, suffix: str) -> str:
    """Read a file's text: UTF-8; UTF-16 with a byte order mark; or, not for JSON lines, Windows-1252."""
    content = read_content(path)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = _utf_16(content, path)
    elif _is("utf-8", content):
        text = decode_text(content, path)
    elif suffix != ".jsonl" and _is_windows_1252(content):
        text = content.decode("cp1252").replace("\r\n", "\n")
        say(f"{path}: not UTF-8, so read as Windows-1252. If letters are wrong, save it as UTF-8.")
    elif _is_not_latin(content):
        raise UserError(
            f"{path}: not UTF-8, but an encoding of other letters than Latin ones, such as Shift-JIS, GBK, "
            "Big5, EUC-KR or Windows-1251. Save the file with the encoding UTF-8, or convert it: "
            "iconv -f GBK -t UTF-8."
        )
    else:
        text = decode_text(content, path)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(f"{path}, line {line}: NUL bytes, which no text has. Save it as UTF-8.")
    return text


def _utf_16(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-16").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: damaged UTF-16 text ({error}). Save the file with the encoding UTF-8."
        ) from error


def _is(encoding: str, content: bytes) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_windows_1252(content: bytes) -> bool:
    """Say whether what is not UTF-8 may be Windows-1252; not so where its first special letters are UTF-8."""
    letters = _NOT_ASCII.search(content)
    if letters is None or b"\0" in content or _is("utf-8", letters[0]):
        return False
    return _is("cp1252", content) and not _is_not_latin(content)


def _is_not_latin(content: bytes) -> bool:
    """Say whether what is not UTF-8 may be in other letters: most special ones stand together.

    In Windows-1252 nearly all of them stand alone.
    """
    special = together = 0
    for run in _NOT_ASCII.finditer(content):
        special += len(run[0])
        if len(run[0]) >= _TOGETHER or run[0].startswith(_KANA):
            together += len(run[0])
    return 3 * together > special


def read_csv(text: str, faults: Faults, names: ColumnNames) -> tuple[pd.DataFrame, list[int]]:
    """Split comma-separated text with ordinary quoting, header in the first line.

    A line `sep=;` before it names the separator. Else, where the header names our columns with semicolons or
    tabs between them, these separate, as in the spreadsheets of many countries; where it does not name them,
    what is most frequent there. Returns the table (all columns str) and the line on which every row begins.
    """
    begin, separator = _header_of(text, faults, names)
    usual_limit = csv.field_size_limit(sys.maxsize)
    try:
        table, lines = to_table(_csv_rows(text, begin, separator, faults), faults)
    finally:
        csv.field_size_limit(usual_limit)
    table.attrs["separator"] = separator
    return table, lines


def _header_of(text: str, faults: Faults, names: ColumnNames) -> tuple[int, str]:
    """Give the place where the header begins, and the separator."""
    named = _SEPARATOR_LINE.match(text)
    begin = named.end() if named else 0
    lines = (found[0] for found in _CSV_LINE.finditer(text, begin))
    header = next(filter(str.strip, lines), "")
    refuse_many_columns(max(map(header.count, ",;\t")), faults)
    return begin, named[1] if named else _separator(header, names)


# Short on purpose, as `base.command._run`: without memory Python 3.11 loops in a later handler for ever.
def _csv_rows(text: str, begin: int, separator: str, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    reader = _csv_reader(text, begin, separator)
    marked = has_formula_marks(text, separator)
    before = 1 if begin else 0
    line = before + 1
    while True:
        try:
            for fields in reader:
                if fields:
                    yield line, list(map(without_formula_mark, fields)) if marked else fields
                line = before + reader.line_num + 1
            return
        except csv.Error as error:
            _note_csv_error(error, line, before + reader.line_num, faults)
            line = before + reader.line_num + 1


def _csv_reader(text: str, begin: int, separator: str) -> Any:
    # Line by line: io.StringIO would hold the text once more, in four bytes a character.
    return csv.reader(
        (match[0] for match in _CSV_LINE.finditer(text, begin)),
        delimiter=separator,
        strict=True,
        skipinitialspace=_has_blanks_before_quotes(text, separator),
    )


def _note_csv_error(error: csv.Error, line: int, last: int, faults: Faults) -> None:
    """Add to the faults a row from `line` to `last`."""
    what = (
        f"{error}. Put a text with a separator, a quote or a line end in quotes, "
        "and double the quotes inside it."
    )
    # A quote that is left open has taken in lines that may be right: these must not get lost.
    if last > line:
        raise UserError(f"{faults.where}, line {line}: {what}") from error
    faults.add(line, what)


def _has_blanks_before_quotes(text: str, separator: str) -> bool:
    """Say whether texts in quotes begin behind a blank; inside a quoted text no quote stands alone."""
    if f"{separator} " not in text or ' "' not in text:
        return False
    other = re.escape(separator)
    return re.search(f'{other} +"[^"{other}\r\n]', text) is not None


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
