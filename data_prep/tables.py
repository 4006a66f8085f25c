"""The one table that every data set becomes, and which of its questions count."""

import re
import unicodedata
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError, say
from answer_ranking.data_prep.words import plain_text, with_hyphens

COLUMNS = ("question_id", "question", "candidate_id", "candidate", "label")

# The words of spreadsheets and people, in capitals or not.
_WORDS = {
    1: "1 true yes y correct ja wahr richtig oui vrai sí si verdadero sim verdadeiro vero waar",
    0: "0 false no n incorrect wrong nein falsch non faux falso não nao nee onwaar",
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
_MOST_COLUMNS = 100_000
_LONGEST_ID = 1_000  # characters; a run file repeats an identifier in every row
_SURROGATE = re.compile("[\ud800-\udfff]")
HALF_CHARACTER = "holds half of a character (a lone surrogate). Save it as UTF-8."
"""What is said of a text with one."""

# Formatting and control characters.
_INVISIBLE = ("Cf", "Cc")
# The fillers of Hangul and the blank of Braille count as printable.
_EMPTY = "\u115f\u1160\u3164\uffa0\u2800"

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
    """Write a question as all that differ from it in capitals, white space, dashes and `plain_text` alone.

    Example:
        >>> same_text(" Who  IS it?")
        'who is it?'
    """
    return " ".join(with_hyphens(plain_text(text)).casefold().split())


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
        say(f"{self.where}: {self._count:,} bad rows are left out ({self.unit} {lines}{more}).")

    def _message(self) -> str:
        cure = "" if self._drop is None else "Correct what is wrong, or leave it out with --drop-bad-rows."
        if self._drop:
            cure = "Correct what is wrong: no other row is left."
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
    # Before the columns: of a table without rows it does not matter that there are no labels.
    if not len(table):
        faults.settle(0)
        raise UserError(f"{where}: there are no rows.")
    _require_columns(table, where, labelled)
    rows = _Rows(len(table), lines, faults)
    for name in COLUMNS[:-1]:
        if name in table.columns:
            rows.columns[name] = _checked_texts(name, shared(table[name]), rows)
    if labelled:
        rows.columns["label"] = _checked_labels(table["label"].tolist(), rows)
    # The caller may have let it go, too: then its texts are freed as soon as a column is made anew.
    del table
    rows.leave_out_marked()
    if drop_duplicates:
        _leave_out_repeats(rows, where)
    own_identifiers = "candidate_id" in rows.columns
    _add_identifiers(rows.columns)
    _check_identifiers(rows, own_identifiers)
    rows.leave_out_marked()
    faults.settle(len(rows))
    return _to_frame(rows.columns)


class _Rows:
    """The columns of a table while it is checked: rows are marked as wrong, and then left out."""

    def __init__(self, n_rows: int, lines: Sequence[int] | None, faults: Faults) -> None:
        self.columns: dict[str, list] = {}
        self.faults = faults
        self._lines: Sequence[int] = range(1, n_rows + 1) if lines is None else lines
        self._keep = bytearray(b"\1") * n_rows

    def __len__(self) -> int:
        return len(self._lines)

    def mark(self, row: int, what: str) -> None:
        """Note the first that is wrong with a row."""
        if self._keep[row]:
            self._keep[row] = 0
            self.faults.add(self._lines[row], what)

    def leave_out_marked(self) -> None:
        self.keep_only(self._keep)

    def keep_only(self, keep: bytearray) -> None:
        if 0 in keep:
            for name, values in self.columns.items():
                self.columns[name] = list(compress(values, keep))
            self._lines = list(compress(self._lines, keep))
        self._keep = bytearray(b"\1") * len(self._lines)


def _require_columns(table: pd.DataFrame, where: str | Path, labelled: bool) -> None:
    found = list(table.columns)
    for name in COLUMNS:
        if found.count(name) > 1:
            raise UserError(f"{where}: the column {name!r} occurs twice. Name every column once.")
    required = ["question", "candidate", "label"] if labelled else ["question", "candidate"]
    for name in required:
        if name not in found:
            raise UserError(
                f"{where}: the column {name!r} is missing "
                f"(found: {', '.join(map(str, found)) or 'none'}). "
                f"The columns {', '.join(required)} are needed; "
                "question_id and candidate_id may be added."
            )


def _checked_texts(name: str, values: list, rows: _Rows) -> list[str]:
    texts = []
    is_id = name.endswith("_id")
    for row, value in enumerate(values):
        text = value if type(value) is str else "" if is_missing(value) else str(value)
        texts.append(text)
        # Most texts need no further look.
        if text is value and text[:1].isalnum() and text.isascii() and not is_id:
            continue
        if what := _fault_of_text(name, value, text, rows.faults.if_empty):
            rows.mark(row, what)
    return texts


def _fault_of_text(name: str, value: object, text: str, if_empty: str) -> str | None:
    if is_blank(text):
        return f"the {name} is empty. {if_empty}"
    if not isinstance(value, (str, int, float, np.number)):
        return f"the {name} is not a text but {text[:40]!r}. Write it as a text."
    if has_half_character(text):
        return f"the {name} {HALF_CHARACTER}"
    if not name.endswith("_id"):
        return None
    if len(text) > _LONGEST_ID:
        return f"the {name} has {len(text):,} characters, more than {_LONGEST_ID}. Shorten it."
    if _WHITE_SPACE.search(text):
        without = _WHITE_SPACE.sub("_", text.strip())
        what = f"the {name} {text!r:.80} holds white space, which run files cannot."
        return f"{what} Write {without!r:.80}, say."
    return None


def has_half_character(text: str) -> bool:
    """Say whether a text holds a lone surrogate, which no file and no answer of a server can have."""
    return not text.isascii() and not text.isprintable() and bool(_SURROGATE.search(text))


def read_label(value: object) -> int | None:
    """Read a label as spreadsheets and people write it: 1 for correct, 0 for wrong, None for neither.

    Example:
        >>> [read_label(value) for value in ("Yes", 0.0, "1.00", "maybe")]
        [1, 0, 1, None]
    """
    word = str(value).strip().lower()
    if word in _LABELS:
        return _LABELS[word]
    try:
        return {0.0: 0, 1.0: 1}.get(float(word))
    except ValueError:
        return None


def _checked_labels(values: list, rows: _Rows) -> list[int | None]:
    labels = []
    for row, value in enumerate(values):
        label = read_label(value)
        labels.append(label)
        if label is None:
            empty = is_missing(value) or is_blank(str(value))
            what = "is empty" if empty else f"{value!r:.40} is not 0 or 1"
            rows.mark(row, f"the label {what}. Write 1 for a correct answer, 0 for a wrong one.")
    return labels


def _leave_out_repeats(rows: _Rows, where: str | Path) -> None:
    """Keep one row of those that have question and candidate in common: the first that is correct, if any."""
    columns, keep = rows.columns, bytearray(b"\1") * len(rows)
    labels = columns.get("label", keep)  # without labels all of them are alike
    stays: dict[tuple[str, str], int] = {}
    pairs = zip(columns["question"], columns["candidate"], strict=True)
    for row, (question, candidate) in enumerate(pairs):
        pair = question.strip(), candidate.strip()
        other = stays.setdefault(pair, row)
        if other == row:
            continue
        if labels[row] > labels[other]:
            stays[pair], row = row, other
        keep[row] = 0
    if n_repeats := keep.count(0):
        say(f"{where}: {n_repeats:,} rows that repeat another are left out.")
    rows.keep_only(keep)


def _add_identifiers(columns: dict[str, list]) -> None:
    """Number the distinct questions, and the candidates, where they have no identifiers of their own."""
    questions = columns["question"]
    if "question_id" not in columns:
        name_of: dict[str, str] = {}
        for question in questions:
            name_of.setdefault(question, f"q{len(name_of) + 1}")
        columns["question_id"] = list(map(name_of.__getitem__, questions))
    if "candidate_id" not in columns:
        columns["candidate_id"] = [f"c{i}" for i in range(1, len(questions) + 1)]


def _check_identifiers(rows: _Rows, own_identifiers: bool) -> None:
    question_of: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    names = ("question_id", "question", "candidate_id")
    values = zip(*(rows.columns[name] for name in names), strict=True)
    for row, (identifier, question, candidate) in enumerate(values):
        if question_of.setdefault(identifier, question) != question:
            what = f"the question_id {identifier!r:.80} had another question before."
            rows.mark(row, f"{what} Give every question its own.")
        elif not own_identifiers:
            continue
        elif (identifier, candidate) in seen:
            what = f"the candidate_id {candidate!r:.80} occurs twice in question {identifier!r:.80}."
            rows.mark(row, f"{what} Make it unique.")
        else:
            seen.add((identifier, candidate))


def _to_frame(columns: dict[str, list]) -> pd.DataFrame:
    """Make a frame in which the rows of a question follow each other."""
    place, _ = pd.factorize(np.array(columns["question_id"], object))
    order = None if (np.diff(place) >= 0).all() else np.argsort(place, kind="stable")
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


def refuse_many_columns(n: int, faults: "Faults") -> None:
    """Raise a UserError for a header that is none: to look at millions of names takes minutes."""
    if n > _MOST_COLUMNS:
        raise UserError(
            f"{faults.where}: the first line has {n:,} fields. It must name the columns: leave out others."
        )


def to_table(numbered: Iterator[tuple[int, list[str]]], faults: Faults) -> tuple[pd.DataFrame, list[int]]:
    """Make a table of numbered lines of fields, the first of which names the columns."""
    _, header = next(numbered, (0, None))
    if header is None:
        raise UserError(f"{faults.where}: the file is empty.")
    refuse_many_columns(len(header), faults)
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
    """Say whether a cell has no value: None, or not a number or time of any library's kind."""
    if type(value) is str:
        return False
    return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))


def is_blank(text: str) -> bool:
    r"""Say whether a text shows nothing: it is white space and invisible characters, such as U+200B, alone.

    Example:
        >>> is_blank(" \u200b"), is_blank("\u200ba")
        (True, False)
    """
    shown = text.strip()
    if not shown or (shown[0].isprintable() and shown[0] not in _EMPTY):
        return not shown
    return all(each.isspace() or unicodedata.category(each) in _INVISIBLE or each in _EMPTY for each in shown)
