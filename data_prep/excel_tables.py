"""Tables in Excel's files, read sheet by sheet."""

import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base import files
from answer_ranking.base.errors import UserError, say
from answer_ranking.data_prep.column_names import ColumnNames
from answer_ranking.data_prep.length_of_texts import LengthOfTexts
from answer_ranking.data_prep.tables import Faults, is_blank, is_missing

_MOST_ROWS, _MOST_COLUMNS = 2**20, 2**14
_LONGEST_TEXT = 32_767
# The cells of a sheet are written at length and pack well.
_TIMES = 20
_ERRORS = ["#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"]
_IF_EMPTY = (
    " A merged cell has its text in its first row alone: unmerge it and fill every row. "
    "A formula has no value before Excel has saved it."
)
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


def read_excel(
    path: Path, names: ColumnNames, faults: Faults, sheet: str | None = None
) -> tuple[pd.DataFrame, list[int]]:
    """Read a sheet (None: the first that is not hidden); its first row that is not blank is the header.

    Where the file has further sheets, they are named in a note.
    """
    openpyxl = _openpyxl(path)
    if path.name.startswith("~$"):
        raise UserError(f"{path} is Excel's mark that the file is open. Close Excel, or name the file.")
    faults.if_empty += _IF_EMPTY
    try:
        _refuse_bomb(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            try:
                return _read_sheet(_chosen(book, path, sheet), names, faults)
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


def write_excel(table: pd.DataFrame, path: Path) -> None:
    """Write a table as .xlsx; a text that begins with = stays one, and is no formula.

    Characters that Excel's files cannot hold are left out, and texts are cut where Excel's cells end, which a
    note says. A UserError refuses more rows or columns than a sheet has.
    """
    openpyxl = _openpyxl(path)
    if len(table) >= _MOST_ROWS or len(table.columns) > _MOST_COLUMNS:
        raise UserError(
            f"{path}: {len(table):,} rows of {len(table.columns):,} columns, and a header, are more than a "
            f"sheet has ({_MOST_ROWS:,} rows of {_MOST_COLUMNS:,} columns). Take .csv."
        )
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL

    book = openpyxl.Workbook()
    sheet = book.active
    plain = table.astype(object).where(table.notna(), None)
    n_cut = 0
    for row, values in enumerate([table.columns, *plain.itertuples(index=False)], start=1):
        for column, value in enumerate(values, start=1):
            is_number = isinstance(value, (int, float)) and math.isfinite(value)
            as_it_is = value is None or is_number or _is_day(value)
            shown = value if as_it_is else ILLEGAL.sub("", str(value))
            n_cut += isinstance(shown, str) and len(shown) > _LONGEST_TEXT
            cell = sheet.cell(row, column, shown)
            if cell.data_type == "f":
                cell.data_type = "s"
    with files.atomic_write(path, "wb") as file:
        book.save(file)
    if n_cut:
        what = f"{n_cut:,} texts are cut after {_LONGEST_TEXT:,} characters, the most of Excel's cells"
        say(f"{path}: {what}. Take .csv to keep them whole.")


def _is_day(value: Any) -> bool:
    """Say whether Excel has this for a day or a time; it knows no zones."""
    return isinstance(value, date) and (not isinstance(value, datetime) or value.tzinfo is None)


def _openpyxl(path: Path) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f"{path}: Excel files need openpyxl: pip install 'answer-ranking[excel]'. Or take .csv."
        ) from error
    return openpyxl


def _refuse_bomb(path: Path) -> None:
    most = max(files.MOST_BYTES, _TIMES * path.stat().st_size)
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > most:
            raise UserError(f"{path} unpacks to more than {most:,} bytes. Save the sheet as .csv.")
        # The sizes may be lies: reading in small parts shows it.
        if damaged := archive.testzip():
            raise ValueError(f"{damaged} is damaged")


def _chosen(book: Any, path: Path, sheet: str | None) -> Any:
    shown = ", ".join(map(_with_state, book.worksheets))
    first = None
    for each in book.worksheets:
        if each.title == sheet:
            return each
        if first is None and each.sheet_state == "visible":
            first = each
    if sheet is not None:
        raise UserError(f"{path}: no sheet is called {sheet!r}. Choose one of {shown:.500}.")
    if first is None:
        first = book.worksheets[0]
    if len(book.worksheets) > 1:
        say(
            f"{path}: the sheet {first.title!r} is read, of {shown:.500}. Choose another with the option "
            "sheet, or, where a command has none, make it the first."
        )
    return first


def _with_state(sheet: Any) -> str:
    return repr(sheet.title) + ("" if sheet.sheet_state == "visible" else " (hidden)")


def _read_sheet(sheet: Any, names: ColumnNames, faults: Faults) -> tuple[pd.DataFrame, list[int]]:
    # What the file says of its size may be wrong.
    sheet.reset_dimensions()
    first, header = next(_filled_rows(sheet), (0, ()))
    if not first:
        raise UserError(f"{faults.where}: the sheet {sheet.title!r} is empty.")
    found = [str(_unescaped(name)) if _is_filled(name) else "" for name in header]
    names.require(filter(None, found), faults.where)
    ours = [place for place, name in enumerate(found) if name and name in names]
    columns: dict[int, list] = {place: [] for place in ours}
    lines: list[int] = []
    lengths = LengthOfTexts(Path(faults.where))
    for line, row in _filled_rows(sheet, first + 1, max(ours) + 1):
        if wrong := _error_of(row, found, ours):
            faults.add(line, wrong)
            continue
        for place, column in columns.items():
            value = _unescaped(row[place])
            if type(value) is str:
                lengths.add(len(value))
                # The rows of a question follow each other: what they repeat is kept once.
                value = column[-1] if column and value == column[-1] else value
            column.append(value)
        lines.append(line)
    table = pd.DataFrame(columns, dtype=object)
    table.columns = [found[place] for place in ours]
    table.attrs["columns"] = list(filter(None, found))
    return table, lines


def _error_of(row: tuple, found: list[str], ours: list[int]) -> str | None:
    for place in ours:
        if row[place] in _ERRORS:
            return f"the {found[place]} is Excel's error {row[place]}. Correct its formula."
    return None


def _filled_rows(sheet: Any, first: int = 1, n_columns: int | None = None) -> Iterator[tuple[int, tuple]]:
    """Give the rows that are not blank, by their numbers in the sheet."""
    rows = sheet.iter_rows(first, _MOST_ROWS, max_col=n_columns, values_only=True)
    for line, row in enumerate(rows, start=first):
        if any(map(_is_filled, row)):
            yield line, row


def _unescaped(value: object) -> object:
    """Undo how Excel writes control characters, such as `_x000D_` for a carriage return."""
    if type(value) is not str or "_x" not in value:
        return value
    text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), value)
    return text.replace("\r\n", "\n")


def _is_filled(value: object) -> bool:
    return not is_missing(value) and not is_blank(str(value))
