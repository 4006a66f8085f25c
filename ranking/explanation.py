"""Why a ranker gives a pair of texts its score: values of the words, and how they are drawn."""

import re
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from answer_ranking.evaluation.attention_figures import Colour, WordRow

_DRAWING = threading.Lock()
# Control characters and the like, which no XML may hold.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ABOUT = {
    "shares": "What the score loses without the word (exact: a text is the sum of its words)",
    "occlusion": "What the score loses without the word",
    "attention": "Attention to the word",
    "relatedness": "Highest cosine of the word with a word of the other text",
    "gates": "Output gate of the word, mean over the features",
}


@dataclass(frozen=True)
class Explanation:
    """The words of a question and an answer, and a number for each that says what it does to the score.

    The words are those of the model's tokenizer.

    Attributes:
        question, answer: the words.
        question_weights, answer_weights: floats `(words,)`. What they are depends on the `kind`.
        kind: "shares" (HyperQA and CosineQA) and "occlusion": the score minus that without the word;
            "attention" (AP-CNN, AP-BiLSTM, Eq. 13 to 16): of sum 1; "relatedness" (Cosinet, Eq. 1): the
            highest cosine with a word of the other text; "gates" (CTRN, QRNN): the word's own output gate.
        lent: for gates: those of the other text that CTRN lends to each word, for question and answer.
        matrix: for relatedness: all cosines, `(words of the question, words of the answer)`.

    Example:
        >>> one = Explanation(["who", "?"], np.array([0.75, 0.25]), ["ann", "."], np.array([0.5, 0.5]))
        >>> one.strongest(1)
        {'question': [('who', 0.75)], 'answer': [('ann', 0.5)]}
    """

    question: list[str]
    question_weights: np.ndarray
    answer: list[str]
    answer_weights: np.ndarray
    kind: str = "attention"
    lent: tuple[np.ndarray, np.ndarray] | None = None
    matrix: np.ndarray | None = None

    @property
    def summary(self) -> str:
        """What is shown, and the strongest words of both texts, in plain words."""
        words = (
            f"{side}: {', '.join(f'{word} {weight:.3f}' for word, weight in strongest)}"
            for side, strongest in self.strongest(3).items()
        )
        lent = "" if self.lent is None else ": its own, and that lent by the other text"
        return f"{_ABOUT[self.kind]}{lent}. Strongest in the {'; in the '.join(words)}."

    def strongest(self, number: int = 8) -> dict[str, list[tuple[str, float]]]:
        """Give the words with the largest numbers, whatever their sign, of both texts, the largest first."""
        return {
            side: [(words[i], float(weights[i])) for i in np.argsort(-abs(weights), kind="stable")[:number]]
            for side, words, weights in (
                ("question", self.question, self.question_weights),
                ("answer", self.answer, self.answer_weights),
            )
        }

    def data(self) -> dict[str, Any]:
        """Give everything as values of JSON."""
        arrays = {"question_weights": self.question_weights, "answer_weights": self.answer_weights}
        if self.matrix is not None:
            arrays["matrix"] = self.matrix
        if self.lent is not None:
            arrays |= {"question_lent": self.lent[0], "answer_lent": self.lent[1]}
        values = {name: np.round(array.astype(float), 6).tolist() for name, array in arrays.items()}
        words = {"question": self.question, "answer": self.answer}
        return {"kind": self.kind, "summary": self.summary, **words, **values}

    def figure(self) -> "Figure":
        """Draw every word on a background as strong as its value, in Latin, Greek or Cyrillic letters."""
        from answer_ranking.evaluation.attention_figures import words_figure

        rows, colours = self._rows()
        return words_figure(rows, self.matrix, colours=colours)

    def svg(self) -> str:
        """Give the drawing as an `<svg>` element, with the summary for readers who do not see it."""
        return svg_of(self.figure(), self.summary)

    def html(self) -> str:
        """Write the same as a page that shows a word's number when it is pointed at."""
        from answer_ranking.evaluation.attention_figures import words_html

        rows, colours = self._rows()
        return words_html(rows, self.matrix, self.summary, colours=colours)

    def _repr_html_(self) -> str:
        return self.svg()

    def _texts(self) -> tuple:
        return self.question, self.question_weights, self.answer, self.answer_weights

    def _rows(self) -> "tuple[list[WordRow], Sequence[Colour] | None]":
        """Give what `words_figure` draws, and the colours that it has where they are not those of signs."""
        from answer_ranking.evaluation.attention_figures import SIDES, attention_rows

        if self.kind == "attention":
            return attention_rows(*self._texts()), SIDES
        pairs = (("question", *self._texts()[:2]), ("answer", *self._texts()[2:]))
        rows = [(f"{side}: {_ABOUT[self.kind]}", words, values) for side, words, values in pairs]
        full = 1.0
        if self.kind in ("shares", "occlusion"):
            full = max(float(abs(values).max(initial=0)) for _, _, values in rows) or 1.0
        elif self.lent is not None:
            rows = [(f"{side}: own output gates", words, values) for side, words, values in pairs]
            rows += [
                (f"{side}: output gates lent by the {other}", words, lent)
                for (side, words, _), other, lent in zip(
                    pairs, ("answer", "question"), self.lent, strict=True
                )
            ]
            rows = [rows[0], rows[2], rows[1], rows[3]]
        return [(about, words, values, np.clip(values / full, -1, 1)) for about, words, values in rows], None


def svg_of(figure: "Figure", summary: str) -> str:
    """Give a figure as an `<svg>` element that stands for itself: no links, no scripts.

    Words are text, so that the reader's own fonts show every script.
    """
    from html import escape

    from matplotlib import rc_context

    image = BytesIO()
    facts = {"Date": None, "Creator": None, "Format": None, "Type": None}
    # Matplotlib's settings and the filter of warnings belong to the whole process.
    with _DRAWING, rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(image, format="svg", metadata=facts)
    text = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", image.getvalue().decode())
    label = _NO_XML.sub("", escape(summary))
    about = f'<svg role="img" aria-label="{label}" style="max-width:100%;height:auto" '
    return text[text.index("<svg") :].replace("<svg ", about, 1)
