"""What a search finds: rows and scores of the first stage, and the table that the user gets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker

_NAMED_AT_MOST = 5


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
            f"({', '.join(self.unknown[:_NAMED_AT_MOST])}), and finds no answers to them; the other first "
            "stages may."
        )


def ranked(
    asked: pd.DataFrame, n_found: Sequence[int], answers: pd.DataFrame, scores: pd.DataFrame
) -> pd.DataFrame:
    """Put the answers of each question into the order of their scores; equal ones keep their order.

    Args:
        asked: the questions, with `question_id` and `question`.
        n_found: how many of the answers belong to each question, in turn.
        answers: the answers to all questions.
        scores: their `score`, float64, and further columns that stand beside it.
    """
    question = np.repeat(np.arange(len(asked)), n_found)
    order = np.lexsort((-scores["score"], question))
    begins = np.cumsum(n_found) - n_found
    rank = np.arange(1, len(order) + 1) - begins[question]
    head = asked.iloc[question].reset_index(drop=True)
    parts = [part.iloc[order].reset_index(drop=True) for part in (scores, answers)]
    return pd.concat([head.assign(rank=rank), *parts], axis=1)


def rescored(
    ranker: "Ranker", questions: Sequence[str], n_found: Sequence[int], answers: Sequence[str]
) -> np.ndarray:
    """Score answers by a ranker, float64; those of one question are a list of their own."""
    scores, begin = [np.empty(0)], 0
    for question, n in zip(questions, n_found, strict=True):
        of_question = answers[begin : begin + n]
        begin += n
        if n:
            scores.append(ranker.score([(question, answer) for answer in of_question]))
    return np.concatenate(scores).astype(float)
