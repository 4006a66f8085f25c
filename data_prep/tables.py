"""The one table that every data set becomes, and which of its questions count."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError

COLUMNS = ("question_id", "question", "candidate_id", "candidate", "label")

_LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "no": 0, "yes": 1}

_LINE = re.compile("[^\n]+|(?<=\n)(?=\n)|^(?=\n)")
_WHITE_SPACE = re.compile(r"\s+")
_SURROGATE = re.compile("[\ud800-\udfff]")

RULES = ("all", "answerable", "clean")


def counts_under(rule: str, n_correct: np.ndarray, n_wrong: np.ndarray) -> np.ndarray:
    """Tell for every question whether it counts, bool (n_questions,), by its correct and wrong candidates.

    The rule is "all"; "answerable", at least one correct candidate; or "clean", one correct and one wrong.
    """
    if rule == "all":
        return np.ones(len(n_correct), bool)
    if rule == "answerable":
        return np.asarray(n_correct) > 0
    if rule == "clean":
        return (np.asarray(n_correct) > 0) & (np.asarray(n_wrong) > 0)
    raise UserError(f"unknown protocol rule {rule!r}: choose one of {', '.join(RULES)}.")


def apply_protocol(table: pd.DataFrame, rule: str) -> pd.DataFrame:
    """Keep the rows of the questions that count under "all", "answerable" or "clean", in their order.

    A UserError is raised for an unknown rule.

    Example:
        >>> table = pd.DataFrame({"question_id": ["a", "a", "b"], "label": [1, 0, 0]})
        >>> apply_protocol(table, "answerable")["question_id"].tolist()
        ['a', 'a']
    """
    questions = table.groupby("question_id", sort=False)["label"].agg(["sum", "size"])
    keep = counts_under(rule, questions["sum"].to_numpy(), (questions["size"] - questions["sum"]).to_numpy())
    kept = table[table["question_id"].isin(questions.index[keep])].reset_index(drop=True)
    # A question without candidates has no row; it counts under "all" only.
    kept.attrs = dict(table.attrs) if rule == "all" else {}
    return kept


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
        values = shared(table[name])
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
    return to_table(((number, line.split("\t")) for number, line in numbered_lines(text)), where)


def to_table(numbered: Iterator[tuple[int, list[str]]], where: str | Path) -> tuple[pd.DataFrame, list[int]]:
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


def shared(column: Iterable) -> list:
    """Give a column's values in a list, a text that follows its equal as the same object."""
    values: list = []
    for value in column:
        last = values[-1] if values else None
        values.append(last if type(value) is type(last) is str and value == last else value)
    return values


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
