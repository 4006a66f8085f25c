"""The scores of several first stages, fused."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from answer_ranking.ranking.search.first_stages.protocol import Searcher
from answer_ranking.ranking.search.results import Candidates

FUSED = 100
"""The first so many of each stage are fused; a text that is not among them has 0."""


class Part(NamedTuple):
    """A first stage that is fused with others."""

    searcher: Searcher
    lowest: float | None
    """The score of a text that has nothing in common with a question; None where no score says that."""


class Fusion(Searcher):
    """Adds up what several stages find, the best of each counting 1 (CombSUM, Fox and Shaw, 1994)."""

    def __init__(self, parts: Sequence[Part]):
        self._parts = parts

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None) -> Candidates:
        found = [part.searcher.search(questions, max(k, FUSED), keep) for part in self._parts]
        rows, sums = [], []
        for number in range(len(questions)):
            scaled = []
            for each, part in zip(found, self._parts, strict=True):
                scaled.append(shares_of_best(each.scores[number], part.lowest))
            fused_rows, their_sums = fused([each.rows[number] for each in found], scaled, k)
            rows.append(fused_rows)
            sums.append(their_sums)
        return Candidates(rows, sums, np.any([each.unknown for each in found], axis=0))


def shares_of_best(scores: np.ndarray, lowest: float | None) -> np.ndarray:
    """Put scores, the best first, on a scale from 0 at `lowest` to 1 at the best; None: from the last one.

    Example:
        >>> shares_of_best(np.array([8.0, 4.0]), lowest=0).tolist()
        [1.0, 0.5]
        >>> shares_of_best(np.array([-1.0, -2.0, -3.0]), lowest=None).tolist()
        [1.0, 0.5, 0.0]
    """
    if not len(scores):
        return np.empty(0)
    scores = scores.astype(float)
    floor = scores[-1] if lowest is None else lowest
    spread = scores[0] - floor
    return (scores - floor) / spread if spread > 0 else np.ones(len(scores))


def fused(
    rankings: Sequence[np.ndarray], scores: Sequence[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Add up the scores of the rows of several rankings; the best `k`, and their sums.

    Example:
        >>> rows, sums = fused([np.array([7, 8]), np.array([8])], [np.array([1, 0.5]), np.array([1])], k=2)
        >>> rows.tolist(), sums.tolist()
        ([8, 7], [1.5, 1.0])
    """
    every = np.concatenate(rankings).astype(np.int64)
    rows, place = np.unique(every, return_inverse=True)
    sums = np.bincount(place, np.concatenate(scores), len(rows))
    order = np.argsort(-sums, kind="stable")[:k]
    return rows[order], sums[order]
