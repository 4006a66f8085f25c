"""What Attentive Pooling looks at, as a figure and as HTML, and accuracy against the length of answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from answer_ranking.evaluation.figures import BLUE, GREEN, GREY, ORANGE, new_figure
from answer_ranking.evaluation.html_page import HtmlPage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = 78  # characters of a line of words
Colour = tuple[int, int, int]
SIDES: tuple[Colour, Colour] = ((31, 95, 168), (217, 115, 26))
"""Blue and orange of the other figures, for question and answer."""


def attention_heat_map(
    question: Sequence[str],
    question_attention: ArrayLike,
    answer: Sequence[str],
    answer_attention: ArrayLike,
    *,
    title: str = "",
) -> "Figure":
    """Draw a pair of texts, each word on a ground as strong as its attention (Attentive Pooling, Fig. 5, 6).

    A window's weight is drawn at the word in its centre. The full ground stands for four times the weight of
    uniform attention, 1/n for n words, or for the text's largest weight where that is more: nearly uniform
    attention looks uniform and pale. A word that is longer than a line is cut.

    A weight stands for every word, without padding.
    """
    rows = attention_rows(question, question_attention, answer, answer_attention)
    return words_figure(rows, colours=SIDES, title=title)


def attention_rows(
    question: Sequence[str], question_attention: ArrayLike, answer: Sequence[str], answer_attention: ArrayLike
) -> "list[WordRow]":
    """Give what `attention_heat_map` draws of a pair of texts; its colours are `SIDES`."""
    return [
        (
            f"{side} (largest weight {weights.max():.3f}, uniform {1 / len(words):.3f})",
            words,
            weights,
            strengths,
        )
        for side, words, weights, strengths in _checked(
            question, question_attention, answer, answer_attention
        )
    ]


WordRow = tuple[str, Sequence[str], np.ndarray, np.ndarray]
"""A title, words, a number for each, and the strengths of their grounds from -1 to 1."""


def words_figure(
    rows: Sequence[WordRow],
    matrix: np.ndarray | None = None,
    *,
    colours: Sequence[Colour] | None = None,
    title: str = "",
) -> "Figure":
    """Draw words on grounds as strong as their strengths: blue, or orange below 0.

    `colours` are those of the rows' grounds instead. `matrix` `(words of the first row, of the second)` is
    drawn below, with a dot at the largest number of each row and each column.
    """
    from matplotlib.patches import Rectangle

    shown = [[w if len(w) <= _LINE else f"{w[: _LINE - 1]}…" for w in words] for _, words, *_ in rows]
    places = [_places(words) for words in shown]
    heights: list[float] = [placed[-1][0] + 1 for placed in places]
    below = [] if matrix is None else [3 + 1.3 * len(matrix)]
    figure, _ = new_figure(1, 8.0, 0.24 * sum(heights + below) + 0.5 * len(rows))
    figure.clear()
    panels = np.ravel(figure.subplots(len(heights + below), 1, height_ratios=heights + below))
    for number, (axes, height, placed, words, (about, _, _, strengths)) in enumerate(
        zip(panels, heights, places, shown, rows, strict=False)
    ):
        axes.set(xlim=(-0.5, _LINE + 0.5), ylim=(height, 0))
        axes.set_axis_off()
        axes.set_title(about, loc="left", fontsize="small", color=GREY)
        for word, strength, (row, column) in zip(words, strengths, placed, strict=True):
            ground = (*_rgb(_ground(strength, colours, number)), abs(float(strength)))
            corner, size = (column - 0.4, row + 0.06), (len(word) + 0.8, 0.88)
            axes.add_patch(Rectangle(corner, *size, facecolor=ground, linewidth=0))
            # In a font of equal widths a word fits its place, which has one unit for a character.
            font = {"family": "monospace", "fontsize": 9, "ha": "center", "va": "center", "parse_math": False}
            colour = "white" if abs(strength) > 0.65 else "black"
            axes.text(column + len(word) / 2, row + 0.5, word, color=colour, **font)
    if matrix is not None:
        _draw_matrix(panels[-1], matrix, shown[0], shown[1])
    figure.suptitle(title, fontsize="medium")
    return figure


def _ground(strength: float, colours: Sequence[Colour] | None, number: int) -> Colour:
    return SIDES[1 if strength < 0 else 0] if colours is None else colours[number]


def _draw_matrix(axes: "Axes", matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for numbers, names, texts in (("x", "xticks", columns), ("y", "yticks", rows)):
        cut = [text if len(text) <= 14 else f"{text[:13]}…" for text in texts]
        getattr(axes, f"set_{names}")(range(len(texts)), cut, fontsize=7, parse_math=False)
        axes.tick_params(axis=numbers, length=0, labelrotation=90 if numbers == "x" else 0)
    best = {(i, int(line.argmax())) for i, line in enumerate(matrix)}
    best |= {(int(line.argmax()), j) for j, line in enumerate(matrix.T)}
    axes.scatter([j for _, j in best], [i for i, _ in best], s=9, color=_rgb(SIDES[1]))


def _rgb(colour: Colour) -> tuple[float, ...]:
    return tuple(part / 255 for part in colour)


def words_html(
    rows: Sequence[WordRow],
    matrix: np.ndarray | None,
    summary: str,
    *,
    colours: Sequence[Colour] | None = None,
) -> str:
    """Write what `words_figure` draws as one HTML page; pointing at a word shows its number."""
    page = HtmlPage("explanation")
    page.paragraph(summary)
    for number, (about, words, values, strengths) in enumerate(rows):
        page.heading(about)
        styles = [_style(float(strength), _ground(strength, colours, number)) for strength in strengths]
        page.words(words, [f"{value:+.4f}" for value in values], styles)
    if matrix is not None:
        page.figure(words_figure(rows, matrix, colours=colours), summary)
    return page.render()


def _style(strength: float, colour: Colour) -> str:
    ink = "#fff" if abs(strength) > 0.65 else "#000"
    return f"background:rgba({','.join(map(str, colour))},{abs(strength):.3f});color:{ink}"


def correct_answer_lengths(
    question_ids: Sequence[str], labels: ArrayLike, lengths: ArrayLike
) -> "pd.Series[float]":
    """Return the mean length of every question's correct answers; questions without one are left out."""
    given = {"question_id": question_ids, "label": labels, "length": lengths}
    rows = pd.DataFrame({name: np.asarray(values) for name, values in given.items()})
    return rows[rows["label"] == 1].groupby("question_id", sort=False)["length"].mean()


def accuracy_up_to_length(per_question: pd.DataFrame, answer_lengths: Mapping[str, float]) -> pd.DataFrame:
    """Compute accuracy over the questions whose answers are at most so long (Attentive Pooling, Fig. 3, 4).

    One row per length that occurs, rising: `length`, `accuracy` (over all questions up to that length) and
    `questions` (how many these are).
    """
    lengths = pd.Series(dict(answer_lengths), dtype=np.float64)
    absent = lengths.index.difference(per_question.index)
    if not len(lengths) or len(absent):
        raise ValueError(
            "answer_lengths must name questions that have a result. "
            f"Received: {len(lengths)} lengths, {len(absent)} of them without, such as {list(absent[:3])}."
        )
    if not np.isfinite(lengths).all() or (lengths < 0).any():
        raise ValueError("answer_lengths must be finite numbers from 0. Received: others.")
    by_length = per_question.loc[lengths.index, "p@1"].groupby(lengths.to_numpy()).agg(["sum", "size"])
    running = by_length.sort_index().cumsum()
    accuracy = (running["sum"] / running["size"]).to_numpy()
    columns = {"length": running.index, "accuracy": accuracy, "questions": running["size"].to_numpy()}
    return pd.DataFrame(columns)


def accuracy_by_answer_length(
    results: Mapping[str, Sequence[pd.DataFrame]],
    answer_lengths: Mapping[str, float],
    *,
    fewest: int = 20,
    title: str = "",
) -> "Figure":
    """Draw accuracy against the largest length of the answers counted (Attentive Pooling, Fig. 3, 4)."""
    if not results or not all(results.values()):
        raise ValueError("results must hold at least one table for each model. Received: none.")
    figure, (axes,) = new_figure(1, 5.2, 3.2)
    colours, styles = (BLUE, ORANGE, GREY, GREEN), ("-", "--", "-.", ":")
    for number, (model, tables) in enumerate(results.items()):
        curves = [accuracy_up_to_length(table, answer_lengths) for table in tables]
        questions = curves[0]["questions"]
        counted = questions >= min(fewest, questions.max() / 2)
        accuracy = np.mean([curve["accuracy"] for curve in curves], axis=0)
        style = {"color": colours[number % len(colours)], "linestyle": styles[number % len(styles)]}
        if counted.sum() == 1:
            style["marker"] = "o"  # a line of one point cannot be seen
        label = model if len(tables) == 1 else f"{model} (mean of {len(tables)} seeds)"
        places = curves[0]["length"][counted]
        axes.plot(places, 100 * accuracy[counted], linewidth=2, label=label, **style)
    axes.set(xlabel="answers of at most so many tokens", ylabel="accuracy (P@1, %)")
    axes.legend(frameon=False, fontsize="small")
    axes.set_title(title, fontsize="medium")
    return figure


def _checked(
    question: Sequence[str], question_attention: ArrayLike, answer: Sequence[str], answer_attention: ArrayLike
) -> list[tuple[str, Sequence[str], np.ndarray, np.ndarray]]:
    """Return each text's side, words, weights and the strengths of their grounds from 0 to 1."""
    texts = []
    pairs = (("question", question, question_attention), ("answer", answer, answer_attention))
    for side, words, attention in pairs:
        weights = np.asarray(attention, np.float64)
        sound = len(words) and weights.shape == (len(words),)
        if not sound or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(
                f"the {side} must have words, and one finite weight from 0 for each. "
                f"Received: {len(words)} words, weights of shape {weights.shape}."
            )
        texts.append((side, words, weights, weights / max(weights.max(), min(1.0, 4 / len(words)))))
    return texts


def _places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the row and the column of every word's first character, in lines of equal characters."""
    places, row, column = [], 0, 0
    for word in words:
        if column and column + len(word) > _LINE:
            row, column = row + 1, 0
        places.append((row, column))
        column += len(word) + 1
    return places
