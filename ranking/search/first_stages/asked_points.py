"""The points of the questions that are asked."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker


class AskedPoints:
    """Encodes questions, and keeps the last ones: another first stage, or a confidence, asks for them again.

    Safe to use from several threads.
    """

    def __init__(self, ranker: "Callable[[], Ranker]"):
        self.ranker = ranker
        self._last: tuple[Ranker | None, dict[str, tuple[np.ndarray, bool]]] = (None, {})

    def __call__(self, questions: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Give the points of questions, float32 `(n, d)`, and which the model can read, bool `(n,)`."""
        ranker = self.ranker()
        encoder, last = self._last
        if encoder is not ranker or not last.keys() >= set(questions):
            points, known = ranker.encode_and_tell_known(questions)
            last = dict(zip(questions, zip(points, known, strict=True), strict=True))
            self._last = ranker, last
        found = [last[question] for question in questions]
        return np.stack([point for point, _ in found]), np.array([known for _, known in found])
