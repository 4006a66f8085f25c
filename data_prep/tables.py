"""The one table that every data set becomes, and the reading and checking of a user's own."""

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.data_prep.dataset import counts_under

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

    Without `labelled`, candidates need no labels and the table comes without the column.

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

    The result has the columns `question_id`, `question`, `candidate_id`, `candidate` (str) and, if
    `labelled`, `label` (int, 0 or 1). The rows of a question are contiguous, in the order of the question's
    first row, and keep their order. A UserError names `where` and the row's number among `lines` (None:
    counted from 1), which are counted in `unit`.
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
                what = f"the {name} {text!r} holds white space, which run files cannot."
                raise fail(row, f"{what} Write {without!r}, say.")
    raw_labels = table["label"].tolist() if labelled else []
    labels = [_LABELS.get(str(value).strip().lower()) for value in raw_labels]
    if None in labels:
        row = labels.index(None)
        what = f"the label {raw_labels[row]!r:.40} is not 0 or 1."
        raise fail(row, f"{what} Write 1 for a correct answer, 0 for a wrong one.")
    # The caller may have let it go, too: then a column's texts are freed as soon as it is made anew.
    del table, texts, values, raw_labels
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
            what = f"the question_id {identifier!r} had another question before."
            raise fail(row, f"{what} Give every question its own.")
        if not own_identifiers:
            continue
        if (identifier, candidate) in seen:
            what = f"the candidate_id {candidate!r} occurs twice in question {identifier!r}."
            raise fail(row, f"{what} Make it unique.")
        seen.add((identifier, candidate))
    first_row = {identifier: i for i, identifier in enumerate(question_of)}
    place = np.fromiter(map(first_row.get, columns["question_id"]), np.int32, n_rows)
    order = None if (np.diff(place) >= 0).all() else np.argsort(place, kind="stable")
    del seen, question_of, first_row
    # Column by column, so that no text is held in both forms for longer than it has to be.
    for name in COLUMNS[: len(columns)]:
        values = columns.pop(name)
        columns[name] = pd.Series(values if order is None else [values[row] for row in order])
    return pd.DataFrame(columns)


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, numbered from 1.

    Only a line feed ends a line: other control characters occur inside real sentences.
    """
    for number, match in enumerate(_LINE.finditer(text), start=1):
        if match[0].strip():
            yield number, match[0]


def read_tsv(text: str, where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    """Split tab-separated text without quoting, header in the first line; only a line feed ends a line.

    Returns the table (all columns str) and the line number of every row. Raises a UserError if a line has
    another number of fields than the header.
    """
    return _to_table(((number, line.split("\t")) for number, line in numbered_lines(text)), where)


def read_csv(text: str, where: str | Path) -> tuple[pd.DataFrame, list[int]]:
    """Split comma-separated text with ordinary quoting, header in the first line.

    Where the first line names the columns of `load_table` with semicolons or tabs between them, these
    separate, as in the spreadsheets of many countries; where it does not name them, what is most frequent
    there. Returns the table (all columns str) and the line on which every row begins.
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
    lines: list[int] = []
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
    """Make a table of JSON lines: one object a line, its keys the columns.

    Returns the table, None where an object lacks a key, and the line number of every row. Raises a UserError
    if a line is not a JSON object, or there is none.
    """
    # Built by column, because a DataFrame made of records would turn missing values and mixed types about.
    columns: dict[str, list] = {}
    lines: list[int] = []
    for number, line in numbered_lines(text):
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


def split_by_question(
    table: pd.DataFrame, shares: Mapping[str, float], seed: int = 0, where: str = "the table"
) -> dict[str, pd.DataFrame]:
    """Take whole questions out of a table, at random by a seed; the rest is for training.

    Questions of the same text, but for capitals and white space, go together, whatever their identifiers.
    Questions by which rankers can be told apart, those with a correct and a wrong candidate, and the others
    are dealt out separately, so that every part has its share of both, and at least one of the first kind.
    Who goes where depends on the texts of the questions and the seed, not on the order of the rows.

    `shares` are the shares of the questions that the parts get, such as {"dev": 0.15, "test": 0.15}; each
    above 0, together below 1. Returns "train" and the parts by name; their rows keep their order.
    """
    for name, share in shares.items():
        if not 0 < share < 1:
            raise UserError(f"the share of {name} must be above 0 and below 1, not {share}.")
    if sum(shares.values()) >= 1:
        raise UserError(f"the shares {dict(shares)} leave nothing to train on. Choose smaller ones.")
    texts = [" ".join(text.casefold().split()) for text in table["question"].unique()]
    group_of_text = pd.Series(texts, index=table["question"].unique())
    groups = table["question"].map(group_of_text).to_numpy(object)
    counts = table.groupby(groups)["label"].agg(["sum", "size"])  # by group, in alphabetical order
    clean = counts_under("clean", counts["sum"].to_numpy(), (counts["size"] - counts["sum"]).to_numpy())
    if clean.sum() <= len(shares):
        raise UserError(
            f"{where}: {clean.sum()} of its {len(counts)} questions have a correct and a wrong candidate. "
            f"{len(shares) + 1} such questions are the least from which train and {' and '.join(shares)} can "
            "be made. Add questions, or candidates of both kinds, or name tables of their own for these."
        )
    rng = np.random.default_rng(seed)
    part_of = pd.Series("train", index=counts.index, dtype=object)
    for kind, least in ((clean, 1), (~clean, 0)):
        names = rng.permutation(counts.index[kind].to_numpy(object))
        # What is left to the later parts, and one for training, must not be given away.
        start, reserved = 0, least * len(shares)
        for part, share in shares.items():
            size = min(max(round(share * len(names)), least), len(names) - start - reserved)
            part_of[names[start : start + size]] = part
            start, reserved = start + size, reserved - least
    part_of_row = part_of[groups].to_numpy()
    return {part: table[part_of_row == part].reset_index(drop=True) for part in ("train", *shares)}
