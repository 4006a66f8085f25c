"""The ranks of several first stages, fused."""

from collections.abc import Sequence

import numpy as np

from answer_ranking.ranking.search.first_stages.protocol import Searcher
from answer_ranking.ranking.search.results import Candidates

_FUSED, _FUSION = 100, 60
"""Reciprocal rank fusion adds up 1 / (60 + rank) over the first 100 of each (Cormack et al., 2009)."""


class Fusion:
    """Adds up the reciprocal ranks of what several stages find."""

    def __init__(self, stages: Sequence[Searcher]):
        self._stages = stages

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None) -> Candidates:
        found = [stage.search(questions, max(k, _FUSED), keep) for stage in self._stages]
        rows, sums = [], []
        for rankings in zip(*(each.rows for each in found), strict=True):
            fused_rows, their_sums = fused(rankings, k)
            rows.append(fused_rows)
            sums.append(their_sums)
        return Candidates(rows, sums, np.any([each.unknown for each in found], axis=0))


def fused(rankings: Sequence[np.ndarray], k: int) -> tuple[np.ndarray, np.ndarray]:
    """Add up the reciprocal ranks of the rows of several rankings; the best `k`, and their sums.

    Example:
        >>> rows, sums = fused([np.array([7, 8]), np.array([8])], k=2)
        >>> rows.tolist(), (1 / sums).round(1).tolist()
        ([8, 7], [30.7, 61.0])
    """
    every = np.concatenate(rankings).astype(np.int64)
    rows, place = np.unique(every, return_inverse=True)
    ranks = np.concatenate([np.arange(1, len(each) + 1) for each in rankings])
    sums = np.bincount(place, 1 / (_FUSION + ranks), len(rows))
    order = np.argsort(-sums, kind="stable")[:k]
    return rows[order], sums[order]
