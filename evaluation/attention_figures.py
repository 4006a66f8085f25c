"""What Attentive Pooling looks at, as a figure, and accuracy against the length of answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from answer_ranking.evaluation.figures import BLUE, GREEN, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = 78  # characters of a line of words
_DARK = 0.65  # a ground that is stronger has white words
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
    question: Sequence[str],
    question_attention: ArrayLike,
    answer: Sequence[str],
    answer_attention: ArrayLike,
) -> "list[WordRow]":
    """Give what `attention_heat_map` draws of a pair of texts; its colours are `SIDES`."""
    return [
        _attention_row("question", question, question_attention),
        _attention_row("answer", answer, answer_attention),
    ]


def _attention_row(side: str, words: Sequence[str], attention: ArrayLike) -> "WordRow":
    weights = np.asarray(attention, np.float64)
    sound = len(words) and weights.shape == (len(words),)
    if not sound or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"the {side} must have words, and one finite weight from 0 for each. "
            f"Received: {len(words)} words, weights of shape {weights.shape}."
        )
    title = f"{side} (largest weight {weights.max():.3f}, uniform {1 / len(words):.3f})"
    return title, words, weights, weights / max(weights.max(), min(1.0, 4 / len(words)))


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
    heights: list[float] = [_places(words)[-1][0] + 1 for _, words, *_ in rows]
    if matrix is not None:
        heights.append(3 + 1.3 * len(matrix))
    figure, _ = new_figure(1, 8.0, 0.24 * sum(heights) + 0.5 * len(rows))
    figure.clear()
    panels = np.ravel(figure.subplots(len(heights), 1, height_ratios=heights))
    for number, row in enumerate(rows):
        axes = panels[number]
        axes.set(xlim=(-0.5, _LINE + 0.5), ylim=(heights[number], 0))
        axes.set_axis_off()
        axes.set_title(row[0], loc="left", fontsize="small", color=GREY)
        _draw_words(axes, row, None if colours is None else colours[number])
    if matrix is not None:
        _draw_matrix(panels[-1], matrix, rows[0][1], rows[1][1])
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_words(axes: "Axes", row: WordRow, colour: Colour | None) -> None:
    from matplotlib.patches import Rectangle

    _, words, _, strengths = row
    for word, strength, (line, column) in zip(words, strengths, _places(words), strict=True):
        shown = _cut(word, _LINE)
        ground = (*_rgb(_ground(strength, colour)), abs(float(strength)))
        corner, width, height = (column - 0.4, line + 0.06), len(shown) + 0.8, 0.88
        axes.add_patch(Rectangle(corner, width, height, facecolor=ground, linewidth=0))
        axes.text(
            column + len(shown) / 2,
            line + 0.5,
            shown,
            color="white" if abs(strength) > _DARK else "black",
            # In a font of equal widths a word fits its place, which has one unit for a character.
            family="monospace",
            fontsize=9,
            ha="center",
            va="center",
            parse_math=False,
        )


def _places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the line and the column of every word's first character, in lines of equal characters."""
    places, line, column = [], 0, 0
    for word in words:
        width = min(len(word), _LINE)
        if column and column + width > _LINE:
            line, column = line + 1, 0
        places.append((line, column))
        column += width + 1
    return places


def _cut(word: str, length: int) -> str:
    return word if len(word) <= length else f"{word[: length - 1]}…"


def _ground(strength: float, colour: Colour | None) -> Colour:
    return colour or SIDES[1 if strength < 0 else 0]


def _draw_matrix(
    axes: "Axes",
    matrix: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Draw a matrix with a dot at the largest number of each row and each column."""
    axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    font = {"fontsize": 7, "parse_math": False}
    axes.set_xticks(range(len(columns)), [_cut(word, 14) for word in columns], rotation=90, **font)
    axes.set_yticks(range(len(rows)), [_cut(word, 14) for word in rows], **font)
    axes.tick_params(length=0)
    places = np.argwhere(best_pairs(matrix))
    axes.scatter(places[:, 1], places[:, 0], s=9, color=_rgb(SIDES[1]))


def best_pairs(matrix: np.ndarray) -> np.ndarray:
    """Mark the largest number of each row and of each column."""
    rows, columns = np.indices(matrix.shape)
    return (rows == matrix.argmax(axis=0)) | (columns == matrix.argmax(axis=1)[:, None])


def _rgb(colour: Colour) -> tuple[float, ...]:
    red, green, blue = colour
    return red / 255, green / 255, blue / 255


def correct_answer_lengths(
    question_ids: Sequence[str],
    labels: ArrayLike,
    lengths: ArrayLike,
) -> "pd.Series[float]":
    """Return the mean length of every question's correct answers; questions without one are left out."""
    correct = np.asarray(labels) == 1
    of_correct = pd.Series(np.asarray(lengths)[correct])
    return of_correct.groupby(np.asarray(question_ids)[correct], sort=False).mean()


def accuracy_up_to_length(
    per_question: pd.DataFrame,
    answer_lengths: Mapping[str, float],
) -> pd.DataFrame:
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
