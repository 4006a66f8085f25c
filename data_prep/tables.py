"""The one table that every data set becomes, and the reading and checking of a user's own."""

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from data_prep.errors import UserError
from data_prep.files import decode_text, read_content

COLUMNS = ("question_id", "question", "candidate_id", "candidate", "label")

_LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "no": 0, "yes": 1}

_LINE = re.compile("[^\n]+|(?<=\n)(?=\n)|^(?=\n)")
_CSV_LINE = re.compile("[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_PARQUET_ROWS = 10_000
_WHITE_SPACE = re.compile(r"\s+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def load_table(path: str | Path, *, labelled: bool = True) -> pd.DataFrame:
    r"""Read a user's own table of questions and candidate answers.

    The format follows from the name: `.csv` (ordinary CSV quoting; separated by commas, or by the semicolons
    or tabs that the header shows), `.tsv` (tab-separated without quoting, so that a quote is a character like
    any other), `.jsonl` (one object a line) or `.parquet`; the first three may be gzipped (`.csv.gz`). The
    columns `question`, `candidate` and `label`, in capitals or not, are required. Without `question_id` the
    equal questions are one question; without `candidate_id` the rows are numbered. Other columns are
    dropped. The text "NA" or "null" is a text, not a missing value. A label is 1, true or yes for a correct
    candidate, 0, false or no for a wrong one, in capitals or not.

    Args:
        path: the file.
        labelled: whether the candidates have labels; otherwise the table comes without the column.

    Returns:
        The checked table, see `check_table`.

    Raises:
        UserError: the file cannot be read, or a row is wrong; the message names the line. No row is ever
            left out.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("/tmp/faq.csv").write_text("question,candidate,label\nWho?,Me.,1\nWho?,There.,0\n")
        >>> load_table("/tmp/faq.csv")[["question_id", "candidate", "label"]].values.tolist()
        [['q1', 'Me.', 1], ['q1', 'There.', 0]]
    """
    path = Path(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in (".csv", ".tsv", ".jsonl", ".parquet"):
        raise UserError(f"{path}: the name must end in .csv, .tsv, .jsonl or .parquet (.gz may follow).")
    # Nothing here holds on to the file's text, nor to the raw table, while the checked one is made: half a
    # million rows would fill the memory once more for each.
    if suffix == ".parquet":
        raw = [_read_parquet(path), None]
    else:
        read = {".csv": read_csv, ".tsv": read_tsv, ".jsonl": read_json_lines}[suffix]
        raw = list(read(decode_text(read_content(path), path), path))
    raw[0].columns = [_standard_name(name) for name in raw[0].columns]
    unit = "row" if suffix == ".parquet" else "line"
    return check_table(raw.pop(0), path, raw.pop(), unit=unit, labelled=labelled)


def check_table(
    table: pd.DataFrame,
    where: str | Path,
    lines: Sequence[int] | None = None,
    *,
    unit: str = "line",
    labelled: bool = True,
) -> pd.DataFrame:
    """Check a table and bring it into the form that everything downstream relies on.

    Args:
        table: at least the columns `question`, `candidate`, `label`.
        where: the file's name, for messages.
        lines: the line number of every row, for messages; the rows count from 1 where it is None.
        unit: what `lines` counts, for messages.
        labelled: whether there is to be a column `label`; otherwise it is left out.

    Returns:
        The columns `question_id`, `question`, `candidate_id`, `candidate` (str) and `label` (int, 0 or 1).
        The rows of a question are contiguous, in the order of the question's first row; the rows of one
        question keep their order.

    Raises:
        UserError: a column is missing, a label is not 0 or 1, a text is empty, an identifier holds white
            space (run files cannot), a question has two texts, a candidate identifier occurs twice in a
            question, or there are no rows.

    Example:
        >>> import pandas as pd
        >>> rows = {"question": ["a", "b", "a"], "candidate": ["x", "y", "z"], "label": [1, 0, 0]}
        >>> check_table(pd.DataFrame(rows), "rows")["candidate"].tolist()
        ['x', 'z', 'y']
    """
    twice = [name for name in COLUMNS if list(table.columns).count(name) > 1]
    if twice:
        raise UserError(f"{where}: the column {twice[0]!r} occurs twice. Name every column once.")
    required = ("question", "candidate", "label")[: 3 if labelled else 2]
    missing = [column for column in required if column not in table.columns]
    if missing:
        found = ", ".join(map(str, table.columns)) or "none"
        raise UserError(
            f"{where}: the column {missing[0]!r} is missing (found: {found}). "
            f"The first {unit} must name {', '.join(required)}; "
            "question_id and candidate_id may be added."
        )
    n_rows = len(table)
    if not n_rows:
        raise UserError(f"{where}: there are no rows.")
    lines = range(1, n_rows + 1) if lines is None else lines

    def fail(row: int, what: str) -> UserError:
        return UserError(f"{where}, {unit} {lines[row]}: {what}")

    columns: dict[str, list] = {}
    for name in COLUMNS[:-1]:
        if name not in table.columns:
            continue
        values = _shared(table[name])
        columns[name] = texts = ["" if _is_missing(value) else str(value) for value in values]
        for row, text in enumerate(texts):
            if not text.strip():
                raise fail(row, f"the {name} is empty. Write it or delete the {unit}.")
            if not isinstance(values[row], (str, int, float, np.number)):
                raise fail(row, f"the {name} is no text but {text[:40]!r}. Write it as a text.")
            if not text.isascii() and not text.isprintable() and _SURROGATE.search(text):
                raise fail(row, f"the {name} holds half of a character (a lone surrogate). Save it as UTF-8.")
            if name.endswith("_id") and _WHITE_SPACE.search(text):
                without = _WHITE_SPACE.sub("_", text.strip())
                raise fail(
                    row,
                    f"the {name} {text!r} holds white space, which run files cannot. Write {without!r}, say.",
                )
    labels = []
    for row, value in enumerate(table["label"].tolist() if labelled else ()):
        label = _LABELS.get(str(value).strip().lower())
        if label is None:
            raise fail(
                row,
                f"the label {value!r:.40} is not 0 or 1. Write 1 for a correct answer, 0 for a wrong one.",
            )
        labels.append(label)
    # The caller may have let it go, too: then a column's texts are freed as soon as it is made anew.
    del table, texts, values
    if labelled:
        columns["label"] = labels
    if "question_id" not in columns:
        number = {question: f"q{i}" for i, question in enumerate(dict.fromkeys(columns["question"]), start=1)}
        columns["question_id"] = [number[question] for question in columns["question"]]
    own_identifiers = "candidate_id" in columns
    if not own_identifiers:
        columns["candidate_id"] = [f"c{i}" for i in range(1, n_rows + 1)]

    question_of: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for row, (identifier, question, candidate) in enumerate(
        zip(columns["question_id"], columns["question"], columns["candidate_id"], strict=True)
    ):
        if question_of.setdefault(identifier, question) != question:
            raise fail(
                row,
                f"the question_id {identifier!r} had another question before. Give every question its own.",
            )
        if not own_identifiers:
            continue
        if (identifier, candidate) in seen:
            raise fail(
                row,
                f"the candidate_id {candidate!r} occurs twice in question {identifier!r}. Make it unique.",
            )
        seen.add((identifier, candidate))
    first_row = {identifier: i for i, identifier in enumerate(question_of)}
    place = np.fromiter(map(first_row.get, columns["question_id"]), np.int32, n_rows)
    order = None if (np.diff(place) >= 0).all() else np.argsort(place, kind="stable")
    del seen, question_of, first_row
    # Column by column, so that no text is held in both forms for longer than it has to be.
    return pd.DataFrame({name: _in_order(columns.pop(name), order) for name in COLUMNS if name in columns})


def _in_order(values: list, order: np.ndarray | None) -> pd.Series:
    return pd.Series(values if order is None else [values[row] for row in order])


def join_tables(tables: Sequence[pd.DataFrame], where: str | Path) -> pd.DataFrame:
    """Put checked tables of different questions one below the other, and add up what their `attrs` count.

    Args:
        tables: the tables.
        where: what they are, for messages.

    Returns:
        The table of all rows, numbered from 0.

    Raises:
        UserError: a question occurs in two of them.

    Example:
        >>> import pandas as pd
        >>> rows = {"question": ["a", "a"], "candidate": ["x", "y"], "label": [1, 0]}
        >>> tables = [check_table(pd.DataFrame({**rows, "question_id": name}), "rows") for name in ("1", "2")]
        >>> join_tables(tables, "rows")["question_id"].tolist()
        ['1', '1', '2', '2']
    """
    seen: set[str] = set()
    attrs: dict = {"questions_without_candidates": 0, "skipped": {}}
    for table in tables:
        identifiers = set(table["question_id"])
        if twice := seen & identifiers:
            raise UserError(f"{where}: the question {min(twice)!r} occurs in two of the files.")
        seen |= identifiers
        attrs["questions_without_candidates"] += table.attrs.get("questions_without_candidates", 0)
        for reason, count in table.attrs.get("skipped", {}).items():
            attrs["skipped"][reason] = attrs["skipped"].get(reason, 0) + count
    # pandas compares attrs when it concatenates; they are added up here.
    joined = pd.concat([table[list(COLUMNS)] for table in tables], ignore_index=True)
    joined.attrs = attrs
    return joined


def read_tsv(text: str, where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    r"""Split tab-separated text without quoting, header in the first line.

    Only a line feed ends a line: other control characters occur inside real sentences.

    Args:
        text: the file's text.
        where: the file's name, for messages.

    Returns:
        The table (all columns str) and the line number of every row.

    Raises:
        UserError: a line has another number of fields than the header.

    Example:
        >>> read_tsv("id\ttext\n1\ta\n", "a.tsv")[0].values.tolist()
        [['1', 'a']]
    """
    lines = (match[0] for match in _LINE.finditer(text))
    return _to_table(((i, line.split("\t")) for i, line in enumerate(lines, start=1) if line.strip()), where)


def read_csv(text: str, where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    r"""Split comma-separated text with ordinary quoting, header in the first line.

    Spreadsheets of many countries write semicolons in the place of commas: where the first line names the
    columns of `load_table` with semicolons or tabs between them, these separate; where it does not name
    them, what is most frequent there.

    Args:
        text: the file's text.
        where: the file's name, for messages.

    Returns:
        The table (all columns str) and the line on which every row begins.

    Raises:
        UserError: a quote is not closed, or a row has another number of fields than the header.

    Example:
        >>> read_csv('id,text\n1,"a, b"\n', "a.csv")[0].values.tolist()
        [['1', 'a, b']]
    """
    usual_limit = csv.field_size_limit(sys.maxsize)
    try:
        return _to_table(_csv_rows(text, where), where)
    finally:
        csv.field_size_limit(usual_limit)


def _csv_rows(text: str, where: str | Path) -> Iterator[tuple[int, list[str]]]:
    # Line by line: io.StringIO would hold the text once more, in four bytes a character.
    first = _CSV_LINE.search(text)
    separator = _separator(first[0]) if first else ","
    reader = csv.reader((match[0] for match in _CSV_LINE.finditer(text)), delimiter=separator, strict=True)
    begin = 1
    try:
        for fields in reader:
            if fields:
                yield begin, fields
            begin = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{where}, line {begin}: {error}. Put a text with a separator, a quote or a line end in quotes, "
            "and double the quotes inside it."
        ) from error


def _separator(header: str) -> str:
    for separator in ",;\t":
        names = {_standard_name(name.strip().strip('"')) for name in header.split(separator)}
        if {"question", "candidate"} <= names:
            return separator
    return max(",;\t", key=header.count)


def _standard_name(name: object) -> object:
    """Write the name of a column that `load_table` knows as it does, and leave others as they are."""
    plain = str(name).strip().lower()
    return plain if plain in COLUMNS else name


def _to_table(numbered: Iterator[tuple[int, list[str]]], where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    _, header = next(numbered, (0, None))
    if header is None:
        raise UserError(f"{where}: the file is empty.")
    columns: list[list[str]] = [[] for _ in header]
    lines = []
    once: dict[str, str] = {}
    for line, fields in numbered:
        if len(fields) != len(header):
            raise UserError(
                f"{where}, line {line}: {len(fields)} fields where the header has {len(header)}. "
                "Look for a missing or an extra separator."
            )
        if lines and fields[0] == columns[0][-1]:
            # The rows of a question follow each other: what they repeat is kept once.
            once.update((column[-1], column[-1]) for column in columns)
            fields = [once.get(field, field) for field in fields]
        once.clear()
        for column, field in zip(columns, fields, strict=True):
            column.append(field)
        lines.append(line)
    table = pd.DataFrame(dict(enumerate(columns)), dtype=object)
    table.columns = [name.strip() for name in header]
    return table, lines


def read_json_lines(text: str, where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    r"""Make a table of JSON lines: one object a line, its keys the columns.

    Args:
        text: the file's text.
        where: the file's name, for messages.

    Returns:
        The table, None where an object lacks a key, and the line number of every row.

    Raises:
        UserError: a line is not a JSON object, or there is none.

    Example:
        >>> read_json_lines('{"id": 1, "text": "a"}\n{"id": 2}', "a.jsonl")[0].values.tolist()
        [[1, 'a'], [2, None]]
    """
    # Built by column, because a DataFrame made of records would turn missing values and mixed types about.
    columns: dict[str, list] = {}
    lines: list[int] = []
    for number, line in enumerate((match[0] for match in _LINE.finditer(text)), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{where}, line {number}: not JSON ({error!s:.100}). Write one object a line."
            ) from error
        if not isinstance(record, dict):
            raise UserError(f"{where}, line {number}: not a JSON object. Write one object a line.")
        for name in record:
            # Names that cannot be printed are none of ours, and half characters in them would stop pandas.
            if name not in columns and name.isprintable():
                columns[name] = [None] * len(lines)
        for name, column in columns.items():
            value = record.get(name)
            column.append(column[-1] if column and value == column[-1] and type(value) is str else value)
        lines.append(number)
    if not lines:
        raise UserError(f"{where}: the file is empty.")
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()}), lines


def _read_parquet(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise UserError(f"{path} is no file, or does not exist. Check the path.")
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = [name for name in file.schema_arrow.names if _standard_name(name) in COLUMNS]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice:
                raise UserError(f"{path}: the column {twice!r} occurs twice. Name every column once.")
            # By column and part by part, so that no more than a part is held in Arrow's form beside Python's.
            columns = {}
            for name in names:
                parts = file.iter_batches(columns=[name], batch_size=_PARQUET_ROWS)
                values = _shared(value for part in parts for value in part.column(0).to_pylist())
                columns[name] = pd.Series(values, dtype=object)
            return pd.DataFrame(columns)
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise UserError(f"{path} is not a readable Parquet file ({error!s:.200}). Write it again.") from error


def _shared(column: Iterable) -> list:
    """Give a column's values in a list, a text that follows its equal as the same object."""
    values: list = []
    for value in column:
        last = values[-1] if values else None
        values.append(last if type(value) is type(last) is str and value == last else value)
    return values


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
