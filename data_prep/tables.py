"""The one table that every data set becomes, and which of its questions count."""

import re
import sys
import unicodedata
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError

COLUMNS = ("question_id", "question", "candidate_id", "candidate", "label")

# The words of spreadsheets and people, in capitals or not.
_WORDS = {
    1: "1 1.0 true yes y correct ja wahr richtig oui vrai sí si verdadero sim verdadeiro vero waar",
    0: "0 0.0 false no n incorrect wrong nein falsch non faux falso não nao nee onwaar",
}
# An accent may be a character of its own.
_LABELS = {
    unicodedata.normalize(form, word): label
    for label, words in _WORDS.items()
    for word in words.split()
    for form in ("NFC", "NFD")
}
_SHOWN = 20

_LINE = re.compile("[^\n]+|(?<=\n)(?=\n)|^(?=\n)")
_WHITE_SPACE = re.compile(r"\s+")
_LONGEST_ID = 1_000  # characters; a run file repeats an identifier in every row
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


def same_text(text: str) -> str:
    """Write a question as all that differ from it in capitals and white space alone.

    Example:
        >>> same_text(" Who  IS it?")
        'who is it?'
    """
    return " ".join(text.casefold().split())


class Faults:
    """Collects the errors of a table's rows: their number, and the first messages.

    `drop` says what becomes of these rows:

    * True: they are left out, and their number is printed;
    * False: a UserError lists them, and names the option that leaves them out;
    * None: a UserError says what is wrong with the first of them.
    """

    def __init__(self, where: str | Path, unit: str = "line", drop: bool | None = None) -> None:
        self.where, self.unit, self._drop = where, unit, drop
        self.if_empty = f"Write it or delete the {unit}."
        self._count, self._first = 0, list[tuple[int, str]]()

    def add(self, line: int, what: str) -> None:
        """Note what is wrong with the row that begins on a line."""
        # A table of a million wrong rows must not need the memory of a million messages.
        self._count += 1
        insort(self._first, (line, what))
        del self._first[_SHOWN:]

    def settle(self, n_left: int) -> None:
        """Refuse the rows, or say that they are left out; refuse them, too, where no others are left."""
        if not self._count:
            return
        if not self._drop or not n_left:
            raise UserError(self._message())
        lines = ", ".join(str(line) for line, _ in self._first)
        more = ", ..." if self._count > _SHOWN else ""
        print(
            f"{self.where}: {self._count:,} bad rows are left out ({self.unit} {lines}{more}).",
            file=sys.stderr,
        )

    def _message(self) -> str:
        cure = "" if self._drop is None else "Correct what is wrong, or leave it out with --drop-bad-rows."
        if self._count == 1 or self._drop is None:
            line, what = self._first[0]
            return f"{self.where}, {self.unit} {line}: {what} {cure}".rstrip()
        listed = [f"{self.unit} {line}: {what}" for line, what in self._first]
        more = f"and {self._count - _SHOWN:,} more." if self._count > _SHOWN else ""
        head = f"{self.where}: {self._count:,} rows are wrong."
        return "\n".join(filter(None, (head, *listed, more, cure)))


def check_table(
    table: pd.DataFrame,
    where: str | Path,
    lines: Sequence[int] | None = None,
    *,
    unit: str = "line",
    labelled: bool = True,
    faults: Faults | None = None,
    drop_duplicates: bool = False,
) -> pd.DataFrame:
    """Check a table and bring it into the form that everything downstream relies on.

    The result has the columns `question_id`, `question`, `candidate_id`, `candidate` (str) and, if
    `labelled`, `label` (int, 0 or 1). The rows of a question are contiguous, in the order of the question's
    first row, and keep their order. A UserError names `where` and the numbers of the wrong rows among `lines`
    (None: counted from 1), which are counted in `unit`; `faults` holds what is known to be wrong already, and
    may say to leave such rows out. With `drop_duplicates`, of the rows that have question and candidate in
    common one stays, a correct one if there is any, and how many do not is printed.
    """
    faults = faults or Faults(where, unit)
    twice = [name for name in COLUMNS if list(table.columns).count(name) > 1]
    if twice:
        raise UserError(f"{where}: the column {twice[0]!r} occurs twice. Name every column once.")
    required = ("question", "candidate", "label")[: 3 if labelled else 2]
    missing = [column for column in required if column not in table.columns]
    if missing:
        found = ", ".join(map(str, table.columns)) or "none"
        raise UserError(
            f"{where}: the column {missing[0]!r} is missing (found: {found}). "
            f"The columns {', '.join(required)} are needed; question_id and candidate_id may be added."
        )
    if not len(table):
        faults.settle(0)
        raise UserError(f"{where}: there are no rows.")
    numbers: Sequence[int] = range(1, len(table) + 1) if lines is None else lines
    keep = bytearray(b"\1") * len(table)

    def mark(row: int, what: str) -> None:
        if keep[row]:
            keep[row] = 0
            faults.add(numbers[row], what)

    columns: dict[str, list] = {}
    for name in COLUMNS[:-1]:
        if name not in table.columns:
            continue
        values = shared(table[name])
        columns[name] = texts = ["" if is_missing(value) else str(value) for value in values]
        for row, text in enumerate(texts):
            if not text.strip():
                mark(row, f"the {name} is empty. {faults.if_empty}")
            elif not isinstance(values[row], (str, int, float, np.number)):
                mark(row, f"the {name} is no text but {text[:40]!r}. Write it as a text.")
            elif not text.isascii() and not text.isprintable() and _SURROGATE.search(text):
                mark(row, f"the {name} holds half of a character (a lone surrogate). Save it as UTF-8.")
            elif name.endswith("_id") and len(text) > _LONGEST_ID:
                mark(row, f"the {name} has {len(text):,} characters, more than {_LONGEST_ID}. Shorten it.")
            elif name.endswith("_id") and _WHITE_SPACE.search(text):
                without = _WHITE_SPACE.sub("_", text.strip())
                what = f"the {name} {text!r:.80} holds white space, which run files cannot."
                mark(row, f"{what} Write {without!r:.80}, say.")
    raw_labels = table["label"].tolist() if labelled else []
    labels = [_LABELS.get(str(value).strip().lower()) for value in raw_labels]
    if None in labels:
        for row, (label, value) in enumerate(zip(labels, raw_labels, strict=True)):
            if label is None:
                empty = is_missing(value) or not str(value).strip()
                what = "is empty" if empty else f"{value!r:.40} is not 0 or 1"
                mark(row, f"the label {what}. Write 1 for a correct answer, 0 for a wrong one.")
    # The caller may have let it go, too: then a column's texts are freed as soon as it is made anew.
    del table, texts, values, raw_labels
    if labelled:
        columns["label"] = labels
    numbers = _leave_out(columns, numbers, keep)
    if drop_duplicates:
        keep = _one_of_equals(columns)
        if n_repeats := keep.count(0):
            print(f"{where}: {n_repeats:,} rows that repeat another are left out.", file=sys.stderr)
        numbers = _leave_out(columns, numbers, keep)
    if "question_id" not in columns:
        number = {question: f"q{i}" for i, question in enumerate(dict.fromkeys(columns["question"]), start=1)}
        columns["question_id"] = [number[question] for question in columns["question"]]
    own_identifiers = "candidate_id" in columns
    if not own_identifiers:
        columns["candidate_id"] = [f"c{i}" for i in range(1, len(numbers) + 1)]

    keep = bytearray(b"\1") * len(numbers)
    question_of: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for row, (identifier, question, candidate) in enumerate(
        zip(columns["question_id"], columns["question"], columns["candidate_id"], strict=True)
    ):
        if question_of.setdefault(identifier, question) != question:
            what = f"the question_id {identifier!r:.80} had another question before."
            mark(row, f"{what} Give every question its own.")
        elif not own_identifiers:
            continue
        elif (identifier, candidate) in seen:
            what = f"the candidate_id {candidate!r:.80} occurs twice in question {identifier!r:.80}."
            mark(row, f"{what} Make it unique.")
        else:
            seen.add((identifier, candidate))
    n_rows = len(_leave_out(columns, numbers, keep))
    faults.settle(n_rows)
    first_row = {identifier: i for i, identifier in enumerate(question_of)}
    place = np.fromiter(map(first_row.get, columns["question_id"]), np.int32, n_rows)
    order = None if (np.diff(place) >= 0).all() else np.argsort(place, kind="stable")
    del seen, question_of, first_row
    # Column by column, so that no text is held in both forms for longer than it has to be.
    for name in COLUMNS[: len(columns)]:
        values = columns.pop(name)
        columns[name] = pd.Series(values if order is None else [values[row] for row in order])
    return pd.DataFrame(columns)


def _leave_out(columns: dict[str, list], lines: Sequence[int], keep: bytearray) -> Sequence[int]:
    """Keep the marked rows of the columns, and return their lines."""
    if 0 not in keep:
        return lines
    for name, values in columns.items():
        columns[name] = list(compress(values, keep))
    return list(compress(lines, keep))


def _one_of_equals(columns: Mapping[str, list]) -> bytearray:
    """Mark one row of those that have question and candidate in common: the first that is correct, if any."""
    keep = bytearray(b"\1") * len(columns["question"])
    labels = columns.get("label", keep)  # without labels all of them are alike
    stays: dict[tuple[str, str], int] = {}
    for row, texts in enumerate(zip(columns["question"], columns["candidate"], strict=True)):
        question, candidate = texts
        pair = question.strip(), candidate.strip()
        other = stays.setdefault(pair, row)
        if other == row:
            continue
        if labels[row] > labels[other]:
            stays[pair], row = row, other
        keep[row] = 0
    return keep


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, numbered from 1.

    Only a line feed ends a line: other control characters occur inside real sentences.
    """
    for number, match in enumerate(_LINE.finditer(text), start=1):
        if match[0].strip():
            yield number, match[0]


def read_tsv(text: str, where: str | Path, faults: Faults | None = None) -> tuple[pd.DataFrame, list[int]]:
    """Split tab-separated text without quoting, header in the first line; only a line feed ends a line.

    Returns the table (all columns str) and the line number of every row. A line with another number of
    fields than the header is added to the `faults`; without them, a UserError is raised.
    """
    noted = faults or Faults(where)
    table, lines = to_table(((number, line.split("\t")) for number, line in numbered_lines(text)), noted)
    if faults is None:
        noted.settle(len(lines))
    return table, lines


def to_table(numbered: Iterator[tuple[int, list[str]]], faults: Faults) -> tuple[pd.DataFrame, list[int]]:
    """Make a table of numbered lines of fields, the first of which names the columns."""
    _, header = next(numbered, (0, None))
    if header is None:
        raise UserError(f"{faults.where}: the file is empty.")
    columns: list[list[str]] = [[] for _ in header]
    lines: list[int] = []
    once: dict[str, str] = {}
    for line, fields in numbered:
        if len(fields) != len(header):
            what = f"{len(fields)} fields where the header has {len(header)}."
            faults.add(line, f"{what} Look for a missing or an extra separator.")
            continue
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


def is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
