"""Which questions an index had better not answer: measured with the confidence that it learns."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.search.confidence import FEWEST_QUESTIONS, Confidence, foreign_questions
from answer_ranking.ranking.search.index import AnswerIndex

KEPT = 0.9
"""The suggested confidence keeps this share of dev's questions."""
_STEPS = np.arange(0, 1, 0.1)

Questions = Mapping[str, set[str]]
"""The texts of questions, and the right answers of each."""


@dataclass(frozen=True)
class Refusals:
    """What is answered if no answer is given that is less sure than some confidence.

    `curve` has a row per `min_confidence`: `answered`, the share of test's questions that have an answer;
    `p1`, the share of these whose first answer is right, NaN where there is none; `foreign`, the share of
    foreign questions that have an answer.
    """

    confidence: Confidence
    suggested: float
    """The `min_confidence` that keeps nine of ten questions of dev."""
    curve: pd.DataFrame

    def as_json(self) -> dict[str, Any]:
        """Give what `result.json` keeps."""
        return {
            "confidence": asdict(self.confidence),
            "min_confidence": self.suggested,
            "answered": json.loads(self.curve.to_json(orient="records")),
        }

    def verdict(self) -> str:
        """Say what the suggested confidence keeps and refuses."""
        row = self.curve[self.curve["min_confidence"] == self.suggested].iloc[0]
        rightly = f", {row['p1']:.0%} of them rightly," if row["answered"] else ""
        return (
            f"With --min-confidence {self.suggested:.2f} it answers {row['answered']:.0%} of test's "
            f"questions{rightly} and {row['foreign']:.0%} of the foreign ones."
        )

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the curve."""
        rows = []
        for least, *shares in self.curve.itertuples(index=False):
            rows.append([f"{least:.2f}", *("–" if np.isnan(share) else f"{share:.3f}" for share in shares)])
        return ["confidence at least", "answered", "P@1 of these", "foreign answered"], rows


def measure_refusals(index: AnswerIndex, dev: Questions, test: Questions, **options: Any) -> Refusals:
    """Let an index learn its confidence on dev, and measure on test what it answers.

    Foreign questions are those of the bundled sample that are not among the table's own: general knowledge,
    in English; half of them are learnt from, the others measured. `options` are those of
    `AnswerIndex.search`. A UserError says that nothing can be learnt.
    """
    if len(dev) < FEWEST_QUESTIONS:
        raise UserError(f"no confidence is learnt: dev has fewer than {FEWEST_QUESTIONS} questions.")
    pairs = [(question, answer) for question, right in dev.items() for answer in right]
    foreign = foreign_questions([*dev, *test])
    # One half teaches the confidence, the other measures it.
    known, foreign = foreign[::2], foreign[1::2]
    confidence = index.calibrate(pd.DataFrame(pairs, columns=["question", "candidate"]), known, **options)
    # Rounded down: else it may refuse all that have the highest confidence.
    suggested = float(np.floor(100 * np.quantile(_surest(index, list(dev), options), 1 - KEPT)) / 100)
    found = index.find(list(test), **options).table
    of_foreign = _surest(index, foreign, options)
    rows = []
    for least in sorted({*_STEPS.round(1).tolist(), suggested}):
        first = found[found["confidence"] >= least].drop_duplicates("question")
        is_right = [row.candidate in test[row.question] for row in first.itertuples()]
        rows.append(
            {
                "min_confidence": least,
                "answered": len(first) / len(test),
                "p1": float(np.mean(is_right)) if is_right else np.nan,
                "foreign": float((of_foreign >= least).mean()) if len(foreign) else 0.0,
            }
        )
    return Refusals(confidence, suggested, pd.DataFrame(rows))


def _surest(index: AnswerIndex, questions: list[str], options: Mapping[str, Any]) -> np.ndarray:
    """Give the confidence of the surest answer to each question, 0 where none is found."""
    if not questions:
        return np.empty(0)
    found = index.find(questions, **options).table
    surest = found.groupby("question")["confidence"].max()
    return surest.reindex(questions).fillna(0).to_numpy()
