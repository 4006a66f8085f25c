"""Why a ranker gives a pair of texts its score: values of the words, and how they are drawn."""

import re
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

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
    "matches": "Attention to each word of the question; highest cosine of each word of the answer with them",
    "gates": "Output gate of the word, mean over the features",
}
_LEVELS = 9  # of the grounds of words; what is below half a level is noise and has none
_SMALLEST_LOSS = 0.01  # that a full ground stands for; where all losses are smaller they are noise
_UNRELATED = 0.5  # a cosine that words without anything in common have, too
_MOST_CELLS = 1_500
_LOSSES = (("plus s6", "raises the score"), ("minus s6", "lowers it"), ("plus s0", "changes nothing"))
_LEGENDS = {
    "shares": _LOSSES,
    "occlusion": _LOSSES,
    "attention": (("plus s3", "some attention"), ("plus s9", "much")),
    "relatedness": (("plus s0", "0.5 or less"), ("plus s5", "0.75"), ("plus s9", "1")),
    "matches": (("plus s9", "most attention, or a cosine of 1"), ("plus s0", "none, or 0.5 or less")),
    "gates": (("plus s3", "a third of its state"), ("plus s9", "all")),
}


class Word(NamedTuple):
    """A word as a page shows it."""

    text: str
    value: float
    look: str
    """Classes of the style sheet: the colour of its ground, how strong it is, and whether it is unknown."""


class Cell(NamedTuple):
    """A pair of words as a page shows it."""

    value: float
    look: str
    is_best: bool
    """Whether no other pair of one of the words has more."""


@dataclass(frozen=True)
class Explanation:
    """The words of a question and an answer, and a number for each that says what it does to the score.

    The words are those of the model's tokenizer.

    Attributes:
        question, answer: the words.
        question_weights, answer_weights: floats `(words,)`. What they are depends on the `kind`.
        kind: "shares" (HyperQA and CosineQA) and "occlusion": the score minus that without the word;
            "attention" (AP-CNN, AP-BiLSTM, Eq. 13 to 16): of sum 1; "relatedness" (Cosinet, Eq. 1): the
            highest cosine with a word of the other text; "matches" (aNMM): attention, of sum 1, to the
            question's words, and the relatedness of the answer's; "gates" (CTRN, QRNN): the word's own output
            gate.
        lent: for gates: those of the other text that CTRN lends to each word, for question and answer.
        matrix: for relatedness and matches: all cosines, `(words of the question, words of the answer)`.
        unknown: the words that the model does not know.

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
    unknown: frozenset[str] = frozenset()

    @property
    def summary(self) -> str:
        """What is shown, and the strongest words of both texts, in plain words."""
        sides = []
        for side, strongest in self.strongest(3).items():
            words = [f"{word} {weight:.3f}" for word, weight in strongest]
            sides.append(f"{side}: {', '.join(words)}")
        return f"{self.about}. Strongest in the {'; in the '.join(sides)}."

    @property
    def about(self) -> str:
        """What the numbers are, in plain words."""
        lent = "" if self.lent is None else ": its own, and that lent by the other text"
        return _ABOUT[self.kind] + lent

    def strongest(self, number: int = 8) -> dict[str, list[tuple[str, float]]]:
        """Give the words with the largest numbers, whatever their sign, of both texts, the largest first."""
        sides = {
            "question": (self.question, self.question_weights),
            "answer": (self.answer, self.answer_weights),
        }
        found = {}
        for side, (words, weights) in sides.items():
            largest = np.argsort(-abs(weights), kind="stable")[:number]
            found[side] = [(words[i], float(weights[i])) for i in largest]
        return found

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
        return words_figure(rows, self.matrix, colours=colours, title=_ABOUT[self.kind])

    def svg(self) -> str:
        """Give the drawing as an `<svg>` element, with the summary for readers who do not see it."""
        return svg_of(self.figure(), self.summary)

    def html(self) -> str:
        """Write the same as a page that shows a word's number when it is pointed at."""
        from answer_ranking.ranking.pages import render

        return render("why.html", title="Why this answer", reason=self)

    def _repr_html_(self) -> str:
        return self.svg()

    @property
    def rows(self) -> list[tuple[str, list[Word]]]:
        """What a page shows: titles, and words on grounds as strong as their values."""
        shown = []
        for title, texts, values, strengths in self._rows()[0]:
            words = []
            for text, value, strength in zip(texts, values, strengths, strict=True):
                look = _look(strength)
                if text in self.unknown:
                    look += " unknown"
                words.append(Word(text, float(value), look))
            shown.append((title, words))
        return shown

    @property
    def grid(self) -> list[tuple[str, list[Cell]]]:
        """The matrix as a page shows it, a row for each word of the answer; empty where it is too large."""
        from answer_ranking.evaluation.attention_figures import best_pairs

        if self.matrix is None or self.matrix.size > _MOST_CELLS:
            return []
        best, strengths = best_pairs(self.matrix), _relatedness(self.matrix)
        shown = []
        for column, word in enumerate(self.answer):
            cells = []
            for row in range(len(self.question)):
                value, look = float(self.matrix[row, column]), _look(strengths[row, column])
                cells.append(Cell(value, look, bool(best[row, column])))
            shown.append((word, cells))
        return shown

    @property
    def legend(self) -> list[tuple[str, str]]:
        """The looks of words and what they mean."""
        unknown = [("unknown", "not in the vocabulary")] if self.unknown else []
        return [*_LEGENDS[self.kind], *unknown]

    def _rows(self) -> "tuple[list[WordRow], Sequence[Colour] | None]":
        """Give what `words_figure` draws, and the colours that it has where they are not those of signs."""
        from answer_ranking.evaluation.attention_figures import SIDES, attention_rows

        texts = (self.question, self.question_weights, self.answer, self.answer_weights)
        if self.kind == "attention":
            return attention_rows(*texts), SIDES
        own = [("question", *texts[:2]), ("answer", *texts[2:])]
        if self.lent is not None:
            own = self._with_lent()
        rows: list[WordRow] = []
        scaled = own[:1] if self.kind == "matches" else own
        full = max(float(abs(values).max(initial=_SMALLEST_LOSS)) for _, _, values in scaled)
        for title, words, values in own:
            if self.kind == "relatedness" or (self.kind == "matches" and words is self.answer):
                strengths = _relatedness(values)
            elif self.kind == "gates":
                strengths = values
            else:
                strengths = values / full
            rows.append((title, words, values, np.clip(strengths, -1, 1)))
        return rows, None

    def _with_lent(self) -> list[tuple[str, list[str], np.ndarray]]:
        assert self.lent is not None
        return [
            ("question: own output gates", self.question, self.question_weights),
            ("question: output gates lent by the answer", self.question, self.lent[0]),
            ("answer: own output gates", self.answer, self.answer_weights),
            ("answer: output gates lent by the question", self.answer, self.lent[1]),
        ]


def _relatedness(cosines: np.ndarray) -> np.ndarray:
    """Give how strong cosines are drawn, from 0 to 1."""
    return np.clip((cosines - _UNRELATED) / (1 - _UNRELATED), 0, 1)


def _look(strength: float) -> str:
    """Name the classes of a ground, whose strength is from -1 to 1."""
    return f"{'minus' if strength < 0 else 'plus'} s{round(_LEVELS * abs(strength))}"


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
