"""What a model with attention looks at in a pair of texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Explanation:
    """The words of a question and an answer, and the attention to each (Attentive Pooling, Fig. 5, 6).

    The words are those of the model's tokenizer; the weights of a text are float32 `(words,)` of sum 1.

    Example:
        >>> one = Explanation(["who", "?"], np.array([0.75, 0.25]), ["ann", "."], np.array([0.5, 0.5]))
        >>> one.strongest(1)
        {'question': [('who', 0.75)], 'answer': [('ann', 0.5)]}
    """

    question: list[str]
    question_weights: np.ndarray
    answer: list[str]
    answer_weights: np.ndarray

    def strongest(self, number: int = 8) -> dict[str, list[tuple[str, float]]]:
        """Give the words with the largest weights of both texts, the largest first."""
        return {
            side: [(words[i], float(weights[i])) for i in np.argsort(-weights, kind="stable")[:number]]
            for side, words, weights in (
                ("question", self.question, self.question_weights),
                ("answer", self.answer, self.answer_weights),
            )
        }

    def figure(self, title: str = "") -> "Figure":
        """Draw every word on a ground as strong as its weight; many scripts need `html` instead."""
        from answer_ranking.evaluation.attention_figures import attention_heat_map

        return attention_heat_map(*self._texts(), title=title)

    def html(self, title: str = "") -> str:
        """Write the same as a page that shows a word's weight when it is pointed at."""
        from answer_ranking.evaluation.attention_figures import attention_html

        return attention_html(*self._texts(), title=title)

    def _texts(self) -> tuple:
        return self.question, self.question_weights, self.answer, self.answer_weights
