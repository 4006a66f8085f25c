"""What the readers share: collecting rows, refusing malformed records, joining and splitting tables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError, damaged
from answer_ranking.data_prep.tables import COLUMNS, check_table, numbered_lines


def read_pairs(text: str, where: str | Path, *, may_be_empty: bool = False) -> dict[str, str]:
    """Read a file of distinct names and texts, a tab between them, one pair a line."""
    texts: dict[str, str] = {}
    for number, line in numbered_lines(text):
        name, tab, content = line.partition("\t")
        name, content = name.strip(), " ".join(content.split())
        if not tab or not name or name in texts or not (content or may_be_empty):
            raise damaged(f"{where}, line {number}", "not a name of its own, a tab and a text")
        texts[name] = content
    return texts


class TableRows:
    """Collects the rows of a reader's table, and counts what the reader leaves out, by reason (`skipped`).

    The reader counts the questions (`n_questions`) where some may have no candidates. `where` and `unit` say
    in messages which file it is and what its rows are counted in.
    """

    def __init__(self, where: str | Path, unit: str = "line") -> None:
        self._where, self._unit = where, unit
        self._columns: dict[str, list] = {name: [] for name in COLUMNS}
        self._lines: list[int] = []
        self._article_of: dict[str, str] = {}
        self.n_questions = 0
        self.skipped: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._columns["label"])

    def add(self, line: int | None, *row: Any, article: str | None = None) -> None:
        """Add a row, the values in the order of `COLUMNS`, from a line; None for the rows' own count."""
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)
        if line is not None:
            self._lines.append(line)
        if article is not None:
            self._article_of[row[0]] = article

    def table(self) -> pd.DataFrame:
        """Check the rows. The table's `attrs` hold `questions_without_candidates` and `skipped`.

        Where the rows were added with their articles, the table has a further column `article` (str).
        """
        raw = pd.DataFrame(self._columns, dtype=object)
        table = check_table(raw, self._where, self._lines or None, unit=self._unit)
        if self._article_of:
            table["article"] = table["question_id"].map(self._article_of)
        empty = max(0, self.n_questions - table["question_id"].nunique())
        table.attrs = {"questions_without_candidates": empty, "skipped": dict(self.skipped)}
        return table


_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@contextmanager
def refuse_malformed(place: object, what: str) -> Iterator[None]:
    """Turn the errors of taking a value of another form apart into a UserError: at `place` is `what`."""
    try:
        yield
    except _MALFORMED as error:
        raise damaged(place, f"{what} ({error!r:.100})") from error


def as_identifier(value: Any) -> str:
    """Give a record's own name, a text or a whole number, as text; a ValueError if it is anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{value!r:.50} is not an identifier")
    return str(value)


def join_tables(tables: Sequence[pd.DataFrame], where: str | Path) -> pd.DataFrame:
    """Put checked tables of different questions one below the other, and add up what their `attrs` count.

    Raises a UserError if a question occurs in two of them.
    """
    seen: set[str] = set()
    skipped: Counter[str] = Counter()
    for table in tables:
        identifiers = set(table["question_id"])
        if twice := seen & identifiers:
            raise UserError(f"{where}: the question {min(twice)!r} occurs in two of the files.")
        seen |= identifiers
        skipped.update(table.attrs["skipped"])
    joined = pd.concat(tables, ignore_index=True)
    empty = sum(table.attrs["questions_without_candidates"] for table in tables)
    joined.attrs = {"questions_without_candidates": empty, "skipped": dict(skipped)}
    return joined


def split_by_article(
    table: pd.DataFrame, share: float = 0.1, seed: int = 2020
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split into the rest and whole articles drawn at random, until these hold a share of the questions.

    The papers set 10 % of the training questions aside and do not say which. By article, no paragraph is on
    both sides. Raises a UserError if all questions are about one article.
    """
    sizes = table.drop_duplicates("question_id")["article"].value_counts().sort_index()
    order = np.random.default_rng(seed).permutation(len(sizes))
    before = np.concatenate([[0], np.cumsum(sizes.to_numpy()[order])[:-1]])
    chosen = set(sizes.index[order[before < share * sizes.sum()]])
    if len(sizes) == len(chosen):
        raise UserError("all questions are about the articles that would be set aside. More are needed.")
    apart = table["article"].isin(chosen)
    rest, part = table[~apart].reset_index(drop=True), table[apart].reset_index(drop=True)
    part.attrs = {}  # what was left out of the whole is counted once, with the rest
    return rest, part
