"""A question and answers in the Poincaré disk."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.explanation import svg_of
from answer_ranking.ranking.numpy_hyperqa import poincare_distance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Disk:
    """Places in the disk whose distances to the question's are those in the ball.

    The Poincaré distance of two points (HyperQA, Eq. 4) depends on their norms and the angle between them. So
    the question lies on the x axis at its norm, and every answer at its norm and at its angle from the
    question: all distances to the question are exact. Those between answers are not, and the side, above or
    below, says nothing.

    CosineQA compares angles alone: its points are brought onto the circle, and the distance is 1 minus the
    cosine.

    Attributes:
        question: its norm.
        answers: the texts, the nearest first.
        places: float64 `(answers, 2)`.
        distances: float64 `(answers,)`, to the question.
        by_angle: whether the points lie on the circle (CosineQA).

    Example:
        >>> disk = Disk.of(np.array([0.5, 0.0]), np.array([[0.0, 0.5], [0.5, 0.0]]), ["far", "near"])
        >>> disk.answers, disk.distances.round(3).tolist(), disk.places[1].round(3).tolist()
        (['near', 'far'], [0.0, 1.681], [0.0, -0.5])
    """

    question: float
    answers: list[str]
    places: np.ndarray
    distances: np.ndarray
    by_angle: bool = False

    @classmethod
    def of(
        cls, question: np.ndarray, answers: np.ndarray, texts: list[str], *, by_angle: bool = False
    ) -> "Disk":
        """Place answers, `(answers, d)`, around a question, `(d,)`, all in the unit ball; see `by_angle`."""
        if not texts:
            raise UserError("there are no answers. Give one or more.")
        u, v = question.astype(np.float64), answers.astype(np.float64)
        if by_angle:  # A text without a vector stays in the centre: its cosine is 0.
            u, v = _units(u), _units(v)
        own, norms = float(np.linalg.norm(u)), np.linalg.norm(v, axis=1)
        lengths = norms * own
        cosines = np.divide(v @ u, lengths, np.ones(len(v)), where=lengths > 0)
        angles = np.arccos(np.clip(cosines, -1, 1))
        distances = 1 - v @ u if by_angle else poincare_distance(u, v, "asinh")
        order = np.argsort(distances, kind="stable")
        # One above, one below, so that neighbours are seen apart.
        angles = angles[order] * np.where(np.arange(len(order)) % 2, -1, 1)
        places = norms[order, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return cls(own, [texts[i] for i in order], places, distances[order], by_angle)

    @property
    def summary(self) -> str:
        """What is shown, in plain words."""
        near, far = self.distances[[0, -1]]
        where = "on the circle of angles (1 minus the cosine)" if self.by_angle else "in the Poincaré disk"
        return (
            f"The question and {len(self.answers)} answers {where}; the nearest at the distance "
            f"{near:.2f}, the farthest at {far:.2f}. Distances to the question are exact."
        )

    def figure(self) -> "Figure":
        """Draw the disk; the numbers are ranks."""
        from matplotlib.patches import Circle

        from answer_ranking.evaluation.figures import BLUE, GREY, ORANGE, new_figure

        figure, (axes,) = new_figure(1, 4.6, 4.6)
        axes.add_patch(Circle((0, 0), 1, fill=False, color=GREY))
        axes.scatter(self.places[:, 0], self.places[:, 1], color=ORANGE, s=24, alpha=0.8)
        axes.scatter([self.question], [0], marker="*", color=BLUE, s=140, zorder=3)
        for rank, place in enumerate(self.places[:10], start=1):
            axes.annotate(str(rank), place, xytext=(4, 3), textcoords="offset points", fontsize=8)
        axes.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
        axes.set_axis_off()
        return figure

    def svg(self) -> str:
        """Give the drawing as an `<svg>` element, with the summary for readers who do not see it."""
        return svg_of(self.figure(), self.summary)

    def html(self) -> str:
        """Write a page with the drawing and the answers' distances."""
        from answer_ranking.ranking.pages import render

        return render("why.html", title="The answers around the question", disk=self)

    def _repr_html_(self) -> str:
        return self.svg()


def _units(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-7)
