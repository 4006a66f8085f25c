"""The figures of the rankers that come with the package, beside BM25's and those of both fused."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.evaluation.metrics import MAIN_METRICS, mean_confidence_interval, questions_that_count
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test

RRF_CONSTANT = 60
"""The constant of reciprocal rank fusion (Cormack et al., 2009)."""


def fuse(question_ids: Sequence[str], *scores: np.ndarray) -> np.ndarray:
    """Add up 1 / (60 + rank) over several rankings of each question's candidates (Cormack et al., 2009).

    All arguments are parallel, an entry per candidate; equal scores share the mean of their ranks.

    Example:
        >>> fuse(["q", "q"], np.array([2.0, 1.0]), np.array([5.0, 5.0])).round(5).tolist()
        [0.03265, 0.03239]
    """
    questions = pd.factorize(np.asarray(question_ids, object))[0]
    ranks = pd.DataFrame(np.transpose(scores)).groupby(questions).rank(ascending=False)
    return (1 / (RRF_CONSTANT + ranks)).to_numpy().sum(axis=1)


def compare(tables: Mapping[str, pd.DataFrame], rule: str) -> dict[str, Any]:
    """Compare rankers on the questions that count: the fields of a card's condition that hold figures.

    `tables` are of `evaluate_ranking`, by ranker; intervals are 95 % t intervals over the questions, p the
    paired randomisation tests of their average precision, not yet corrected.
    """
    counted, p = {}, {}
    for name, table in tables.items():
        counted[name] = table[questions_that_count(table, rule)]
    for a, b in combinations(counted, 2):
        p[f"{a} - {b}"] = paired_randomisation_test(counted[a]["map"], counted[b]["map"])
    return {
        "questions": len(next(iter(counted.values()))),
        "metrics": {name: _intervals(table) for name, table in counted.items()},
        "p": p,
    }


def _intervals(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    found = {}
    for metric in MAIN_METRICS:
        mean, half_width = mean_confidence_interval(table[metric])
        found[metric] = {"mean": mean, "ci95": half_width}
    return found


def correct_for_number(conditions: Sequence[dict[str, Any]]) -> None:
    """Correct the p-values of all conditions of a card together, after Holm."""
    raw: list[float] = []
    for condition in conditions:
        raw += condition["p"].values()
    corrected = iter(holm_correction(raw).tolist())
    for condition in conditions:
        condition["p"] = {pair: next(corrected) for pair in condition["p"]}
