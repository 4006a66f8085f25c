"""How sure it is that an answer is right, from 0 to 1, by the scores of an index's first stages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError


@dataclass(frozen=True)
class Confidence:
    """A logistic regression on the scores of an answer (Platt, 1999).

    It is 1 / (1 + exp(-(bias + weights · scores))).

    Example:
        >>> confidence = Confidence(("bm25",), weights=(1.0,), lowest=(0.0,), bias=-3.0)
        >>> confidence.of(pd.DataFrame({"bm25": [3.0, np.nan]})).round(3).tolist()
        [0.5, 0.047]
    """

    stages: tuple[str, ...]
    """The first stages, each with one of the numbers below."""
    weights: tuple[float, ...]
    lowest: tuple[float, ...]
    """The score that counts where a first stage does not find the answer."""
    bias: float

    @classmethod
    def fit(cls, scores: pd.DataFrame, is_right: np.ndarray) -> "Confidence":
        """Learn from the scores of right and wrong answers, which weigh the same together."""
        from sklearn.linear_model import LogisticRegression

        lowest = scores.min().fillna(0)
        scores = scores.fillna(lowest)
        mean, spread = scores.mean(), scores.std(ddof=0).replace(0, 1)
        model = LogisticRegression(class_weight="balanced").fit((scores - mean) / spread, is_right)
        weights = model.coef_[0] / spread
        bias = model.intercept_[0] - weights @ mean
        return cls(tuple(scores.columns), tuple(weights.tolist()), tuple(lowest.tolist()), float(bias))

    def of(self, scores: pd.DataFrame) -> np.ndarray:
        """Give the confidence of answers, float64, from their scores, a column per first stage."""
        found = scores[list(self.stages)].to_numpy(float)
        found = np.where(np.isnan(found), self.lowest, found)
        return 1 / (1 + np.exp(-np.clip(found @ self.weights + self.bias, -500, 500)))

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> "Confidence":
        """Make one of plain values, as `dataclasses.asdict` gives them; a ValueError refuses others."""
        if facts.keys() != {"stages", "weights", "lowest", "bias"}:
            raise ValueError("its confidence has other fields")
        numbers = [*facts["weights"], *facts["lowest"], facts["bias"]]
        if not all(type(each) in (int, float) and np.isfinite(each) for each in numbers):
            raise ValueError("its confidence holds what is no number")
        if not len(facts["stages"]) == len(facts["weights"]) == len(facts["lowest"]):
            raise ValueError("its confidence has not as many weights as first stages")
        lists = {name: tuple(facts[name]) for name in ("stages", "weights", "lowest")}
        return cls(**lists, bias=facts["bias"])


def foreign_questions(texts: Sequence[str]) -> list[str]:
    """Give questions to which a table has no answer: the bundled sample's that are not among its texts."""
    from answer_ranking.data_prep import load_dataset
    from answer_ranking.data_prep.tables import same_text

    known = set(map(same_text, texts))
    sample = pd.concat(load_dataset("sample").splits.values())["question"].drop_duplicates()
    return [question for question in sample if same_text(question) not in known]


def rows_to_learn(found: pd.DataFrame, right: Mapping[str, set[str]]) -> tuple[pd.DataFrame, np.ndarray]:
    """Take from what was found the first right and the first wrong answer of each question.

    Args:
        found: the columns `question` and `candidate`, the best answers first.
        right: the right answers of each question; of one that is not named here, none is.

    Returns the rows, and whether each is right, bool. A UserError says that there are not both kinds.
    """
    is_right = [row.candidate in right.get(row.question, ()) for row in found.itertuples()]
    rows = found.assign(is_right=is_right).drop_duplicates(["question", "is_right"])
    if rows["is_right"].nunique() < 2:
        raise UserError(
            "no confidence can be learnt: give questions that find right answers, and wrong ones."
        )
    return rows.drop(columns="is_right"), rows["is_right"].to_numpy()
