"""What a search finds: rows and scores of the first stage, and the table that the user gets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker

_NAMED_AT_MOST = 5
_INTEGERS = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}


class Candidates(NamedTuple):
    """The rows that a first stage finds for several questions, the best of each first."""

    rows: list[np.ndarray]
    """For each question, int64 `(found,)`."""
    scores: list[np.ndarray]
    """For each question, `(found,)`."""
    unknown: np.ndarray
    """Whether the model knows no word of a question, bool `(questions,)`."""


@dataclass(frozen=True)
class Results:
    """The best answers to questions, and the questions that the model cannot read.

    Attributes:
        table: see `AnswerIndex.search`.
        rows: the rows of the index in which the answers stand, int64.
        unknown: the identifiers of the questions of which the model knows no word.
        refused: the identifiers of the questions to which no answer is as sure as was asked for.
        n_questions: how many questions were asked.
    """

    table: pd.DataFrame
    rows: np.ndarray
    unknown: list[str]
    refused: list[str]
    n_questions: int

    @property
    def warning(self) -> str:
        """Name the questions of which the model knows no word; "" where there are none."""
        if not self.unknown:
            return ""
        return (
            f"the model knows no word of {len(self.unknown)} of {self.n_questions} questions "
            f"({', '.join(self.unknown[:_NAMED_AT_MOST])}), and finds no answers to them; a first stage "
            "of words or letters may, where the index has one."
        )


@dataclass(frozen=True)
class Hits:
    """The rows found for several questions: those of a question together, the best first.

    Attributes:
        question: the place of each hit's question, int64 `(hits,)`.
        row: its row of the index, int64 `(hits,)`.
        score: its score, float64 `(hits,)`.

    Example:
        >>> found = Candidates([np.array([7]), np.array([3, 4])], [np.ones(1), np.array([2, 1])], np.zeros(2))
        >>> hits = Hits.of(found).rescored(np.array([1, 0.5, 0.8]))
        >>> hits.row.tolist(), hits.rank.tolist(), hits.first(1).row.tolist()
        ([7, 4, 3], [1, 1, 2], [7, 4])
    """

    question: np.ndarray
    row: np.ndarray
    score: np.ndarray

    @classmethod
    def of(cls, found: Candidates) -> "Hits":
        """Take what a first stage found."""
        question = np.repeat(np.arange(len(found.rows)), [len(rows) for rows in found.rows])
        return cls(
            question, np.concatenate(found.rows).astype(np.int64), np.concatenate(found.scores).astype(float)
        )

    def __len__(self) -> int:
        return len(self.row)

    @property
    def rank(self) -> np.ndarray:
        """The place among the hits of the same question, from 1, int64 `(hits,)`."""
        return np.arange(1, len(self) + 1) - np.searchsorted(self.question, self.question)

    def rescored(self, scores: np.ndarray) -> "Hits":
        """Put the hits of each question into the order of other scores; equal ones keep their order."""
        order = np.lexsort((-scores, self.question))
        return Hits(self.question, self.row[order], scores[order].astype(float))

    def keep(self, kept: np.ndarray) -> "Hits":
        """Keep some hits, bool `(hits,)`."""
        return Hits(self.question[kept], self.row[kept], self.score[kept])

    def first(self, k: int) -> "Hits":
        """Keep the first `k` of each question."""
        return self.keep(self.rank <= k)

    def rows_of(self, n_questions: int) -> list[np.ndarray]:
        """Give the rows found for each question, in turn."""
        return np.split(self.row, np.searchsorted(self.question, np.arange(1, n_questions)))


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Make a frame of columns; whole numbers stay whole where some are missing.

    Example:
        >>> to_frame(pa.table({"year": [2**60 + 1, None]}))["year"].tolist()
        [1152921504606846977, <NA>]
    """
    # At once: pandas takes longer for each of several small tables than a search takes.
    frame = table.to_pandas(use_threads=False)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and column.type in _INTEGERS:
            frame[name] = column.to_pandas(types_mapper=_INTEGERS.get)
    return frame


def as_json(table: pd.DataFrame, *, lines: bool = False) -> str:
    """Write what was found as JSON, an object each, in a list or in lines.

    Example:
        >>> as_json(pd.DataFrame({"on": [date(2001, 2, 3)], "n": [1]}))
        '[{"on":"2001-02-03","n":1}]'
    """
    if lines and not len(table):  # pandas would write an empty line.
        return ""
    # pandas would write a day as a time.
    days = {name: column.map(_day_as_text) for name, column in table.items() if column.dtype == object}
    form: dict[str, Any] = {"orient": "records", "lines": lines, "date_format": "iso"}
    return table.assign(**days).to_json(force_ascii=False, double_precision=15, **form)


def _day_as_text(value: object) -> object:
    return value.isoformat() if type(value) is date else value


def reranked(ranker: "Ranker", questions: Sequence[str], hits: Hits, answers: Sequence[str]) -> Hits:
    """Score the answers of hits by a ranker; those of one question are a list of their own."""
    scores = np.empty(len(hits))
    for place in np.unique(hits.question).tolist():
        own = np.flatnonzero(hits.question == place)
        scores[own] = ranker.score([(questions[place], answers[hit]) for hit in own.tolist()])
    return hits.rescored(scores)
