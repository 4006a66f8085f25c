"""How sure it is that an answer is right, from 0 to 1, by what an index's first stages tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError, say
from answer_ranking.data_prep.tables import same_text

FEWEST_QUESTIONS = 10
"""From fewer questions no confidence is learnt by itself: a tenth of them is not one."""
RIGHT, WRONG, FOREIGN = "right", "wrong", "foreign"
"""Kinds of answers to learn from: right and wrong ones, and answers to questions to which there is none."""


@dataclass(frozen=True)
class Confidence:
    """A logistic regression on features of an answer and its question (Platt, 1999).

    It is 1 / (1 + exp(-(bias + weights · features))).

    Example:
        >>> confidence = Confidence(("bm25",), weights=(1.0,), lowest=(0.0,), bias=-3.0)
        >>> confidence.of(pd.DataFrame({"bm25": [3.0, np.nan]})).round(3).tolist()
        [0.5, 0.047]
    """

    features: tuple[str, ...]
    """The features, each with one of the numbers below: the name of a first stage for its score, or
    with another word after it, such as "bm25 terms", for what it tells of the question."""
    weights: tuple[float, ...]
    lowest: tuple[float, ...]
    """What counts where a first stage does not find the answer."""
    bias: float

    @classmethod
    def fit(cls, features: pd.DataFrame, kinds: np.ndarray) -> "Confidence":
        """Learn from the features of answers and their kinds.

        Right answers weigh as much as all others; of these, wrong and foreign ones weigh the same.
        """
        from sklearn.linear_model import LogisticRegression

        lowest = features.min().fillna(0)
        features = features.fillna(lowest)
        mean, spread = features.mean(), features.std(ddof=0).replace(0, 1)
        counts = pd.Series(kinds).value_counts()
        share = {kind: 1 / (2 * (len(counts) - 1)) for kind in counts.index} | {RIGHT: 1 / 2}
        each = len(kinds) * pd.Series(kinds).map(share) / pd.Series(kinds).map(counts)
        model = LogisticRegression().fit((features - mean) / spread, kinds == RIGHT, sample_weight=each)
        weights = model.coef_[0] / spread
        bias = model.intercept_[0] - weights @ mean
        return cls(tuple(features.columns), tuple(weights.tolist()), tuple(lowest.tolist()), float(bias))

    def of(self, features: pd.DataFrame) -> np.ndarray:
        """Give the confidence of answers, float64, from their features, a column each."""
        found = features[list(self.features)].to_numpy(float)
        found = np.where(np.isnan(found), self.lowest, found)
        return 1 / (1 + np.exp(-np.clip(found @ self.weights + self.bias, -500, 500)))

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> "Confidence":
        """Make one of plain values, as `dataclasses.asdict` gives them; a ValueError refuses others."""
        if "stages" in facts:  # as indexes had it when scores were the only features
            facts = {"features" if name == "stages" else name: value for name, value in facts.items()}
        if facts.keys() != {"features", "weights", "lowest", "bias"}:
            raise ValueError("its confidence has other fields")
        numbers = [*facts["weights"], *facts["lowest"], facts["bias"]]
        if not all(type(each) in (int, float) and np.isfinite(each) for each in numbers):
            raise ValueError("its confidence holds something that is not a number")
        if not len(facts["features"]) == len(facts["weights"]) == len(facts["lowest"]):
            raise ValueError("its confidence has not as many weights as features")
        lists = {name: tuple(facts[name]) for name in ("features", "weights", "lowest")}
        return cls(**lists, bias=facts["bias"])


def foreign_questions(texts: Sequence[str]) -> list[str]:
    """Give questions to which a table has no answer: the bundled sample's that are not among its texts."""
    from answer_ranking.data_prep import load_dataset

    known = set(map(same_text, texts))
    sample = pd.concat(load_dataset("sample").splits.values())["question"].drop_duplicates()
    return [question for question in sample if same_text(question) not in known]


def rows_to_learn(
    found: pd.DataFrame, right: Mapping[str, set[str]], are_passages: bool = False
) -> pd.DataFrame:
    """Take from what was found the first right and the first wrong answer of each question.

    Args:
        found: the columns `question` and `candidate`, the best answers first.
        right: the right answers of each question; one that is not named here is foreign. White space and
            capitals do not tell answers apart.
        are_passages: whether what was found are parts of answers: those of a right one are right.

    Returns the rows with their `kind`. A UserError says that there are none to compare.
    """
    plain = {question: set(map(same_text, answers)) for question, answers in right.items()}
    kinds = []
    for row in found.itertuples():
        text, answers = same_text(row.candidate), plain.get(row.question)
        if answers is None:
            kinds.append(FOREIGN)
        elif text in answers or (are_passages and any(text in answer for answer in answers)):
            kinds.append(RIGHT)
        else:
            kinds.append(WRONG)
    rows = found.assign(kind=kinds).drop_duplicates(["question", "kind"])
    if RIGHT not in kinds or len(set(kinds)) < 2:
        raise UserError(
            "no confidence can be learnt: give questions that find right answers, and wrong ones."
        )
    return rows


def say_what_is_lacking(right: Sequence[str], indexed: Sequence[str]) -> None:
    """Say how many right answers are not among those of an index: what is found in their place is wrong."""
    known = set(map(same_text, indexed))
    lacking = [answer for answer in right if same_text(answer) not in known]
    if lacking:
        say(
            f"{len(lacking):,} of the right answers stand in no row of the index, such as "
            f"{lacking[0]!r:.80}: what is found in their place is learnt as wrong."
        )
