"""What Attentive Pooling looks at, as figures and as HTML, and accuracy against the length of answers.

As in `evaluation.figures`, figures are made without pyplot; save one with `figure.savefig(path)`.
"""

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evaluation.figures import _BLUE, _GREY, _ORANGE, _figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 78  # characters of a line of words
_STYLE = (
    "body{font-family:sans-serif;max-width:50em;margin:2em auto;line-height:1.8;background:#fff;color:#000}"
    "h1,h2{font-size:1em;margin-bottom:0}h2{font-weight:normal;color:#555}span{padding:0.15em 0.2em}"
)
_QUESTION_COLOUR, _ANSWER_COLOUR = (31, 95, 168), (217, 115, 26)  # blue and orange of the other figures


def attention_heat_map(
    question: Sequence[str],
    question_attention: ArrayLike,
    answer: Sequence[str],
    answer_attention: ArrayLike,
    *,
    title: str = "",
) -> "Figure":
    """Draw a pair of texts, each word on a ground as strong as its attention (Attentive Pooling, Fig. 5, 6).

    A window's weight is drawn at the word in its centre. The strongest ground of each text is its largest
    weight: the weights of a text add up to 1, so that those of a long one are all small. A word that is
    longer than a line, such as an address, is cut.

    Args:
        question: the question's words.
        question_attention: float (n,), the weight of every word, without padding.
        answer: the answer's words.
        answer_attention: float (m,).
        title: above the figure.

    Returns:
        A matplotlib figure with one axes for each text.

    Raises:
        ValueError: a text has no words, or not one weight for each, or a weight is negative or not finite.

    Example:
        >>> figure = attention_heat_map(["who", "?"], [0.8, 0.2], ["me", "."], [0.9, 0.1])
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['who', '?']
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    texts = [
        ("question", question, *_checked("question", question, question_attention), _QUESTION_COLOUR),
        ("answer", answer, *_checked("answer", answer, answer_attention), _ANSWER_COLOUR),
    ]
    texts = [
        (side, [word if len(word) <= _LINE else f"{word[: _LINE - 1]}…" for word in words], *rest)
        for side, words, *rest in texts
    ]
    places = [_places(words) for _, words, *_ in texts]
    heights = [places_of[-1][0] + 1 for places_of in places]
    figure = Figure(figsize=(8.0, 0.24 * sum(heights) + 1.0), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, height, placed, (side, words, weights, strengths, colour) in zip(
        panels, heights, places, texts, strict=True
    ):
        axes.set_xlim(-0.5, _LINE + 0.5)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        axes.set_title(f"{side} (darkest: {weights.max():.3f})", loc="left", fontsize="small", color=_GREY)
        for word, strength, (row, column) in zip(words, strengths, placed, strict=True):
            ground = (*(part / 255 for part in colour), float(strength))
            axes.add_patch(
                Rectangle((column - 0.4, row + 0.06), len(word) + 0.8, 0.88, facecolor=ground, linewidth=0)
            )
            # In a font of equal widths a word fits its place, which has one unit for a character.
            axes.text(
                column + len(word) / 2,
                row + 0.5,
                word,
                parse_math=False,
                family="monospace",
                fontsize=9,
                ha="center",
                va="center",
                color="white" if strength > 0.65 else "black",
            )
    if title:
        figure.suptitle(title, fontsize="medium")
    return figure


def attention_html(
    question: Sequence[str],
    question_attention: ArrayLike,
    answer: Sequence[str],
    answer_attention: ArrayLike,
    *,
    title: str = "",
) -> str:
    """Write what `attention_heat_map` draws as one HTML page that needs nothing else.

    Words and title are escaped, so that no text can do more than be read. Pointing at a word shows its
    weight.

    Args:
        question: the question's words.
        question_attention: float (n,), the weight of every word, without padding.
        answer: the answer's words.
        answer_attention: float (m,).
        title: the page's title.

    Returns:
        The page.

    Raises:
        ValueError: as `attention_heat_map`.

    Example:
        >>> page = attention_html(["who", "?"], [0.8, 0.2], ["<me>"], [1.0])
        >>> "&lt;me&gt;" in page, "<me>" in page
        (True, False)
    """
    paragraphs = []
    for side, words, weights, colour in (
        ("question", question, question_attention, _QUESTION_COLOUR),
        ("answer", answer, answer_attention, _ANSWER_COLOUR),
    ):
        values, strengths = _checked(side, words, weights)
        spans = " ".join(
            f'<span title="{value:.4f}" style="background:rgba({colour[0]},{colour[1]},{colour[2]},'
            f'{strength:.3f});color:{"#fff" if strength > 0.65 else "#000"}">{html.escape(word)}</span>'
            for word, value, strength in zip(words, values, strengths, strict=True)
        )
        paragraphs.append(f"<h2>{side}</h2>\n<p>{spans}</p>")
    heading = html.escape(title or "attention")
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f"<title>{heading}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{heading}</h1>",
        *paragraphs,
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def correct_answer_lengths(
    question_ids: Sequence[str], labels: ArrayLike, lengths: ArrayLike
) -> "pd.Series[float]":
    """Give every question the mean length of its correct answers.

    Args:
        question_ids: the question of every row.
        labels: 0 or 1 (n_rows,).
        lengths: tokens of every row's candidate (n_rows,).

    Returns:
        Lengths by question identifier; a question without a correct answer is not in it.

    Raises:
        ValueError: the three have different lengths.

    Example:
        >>> correct_answer_lengths(["a", "a", "a", "b"], [1, 0, 1, 0], [10, 99, 20, 5]).to_dict()
        {'a': 15.0}
    """
    labels, lengths = np.asarray(labels), np.asarray(lengths, np.float64)
    if not len(question_ids) == len(labels) == len(lengths):
        raise ValueError(
            "question_ids, labels and lengths must be of one length. "
            f"Received: {len(question_ids)}, {len(labels)}, {len(lengths)}."
        )
    rows = pd.DataFrame({"question_id": np.asarray(question_ids, object), "length": lengths})
    return rows[labels == 1].groupby("question_id", sort=False)["length"].mean()


def accuracy_up_to_length(per_question: pd.DataFrame, answer_lengths: Mapping[str, float]) -> pd.DataFrame:
    """Aggregate accuracy over the questions whose answers are at most so long (Attentive Pooling, Fig. 3, 4).

    Args:
        per_question: what `evaluation.evaluate_ranking` gives, question identifiers as index, with the column
            "p@1": precision at 1, which the paper calls accuracy.
        answer_lengths: tokens of the correct answer of every question that counts, see
            `correct_answer_lengths`. Other questions are left out.

    Returns:
        One row per length that occurs, rising: `length`, `accuracy` (over all questions up to that length)
        and `questions` (how many these are).

    Raises:
        ValueError: a question has no result, a length is negative or not finite, or there are none.

    Example:
        >>> table = pd.DataFrame({"p@1": [1.0, 0.0, 1.0]}, index=["a", "b", "c"])
        >>> accuracy_up_to_length(table, {"a": 5, "b": 9, "c": 9})["accuracy"].round(2).tolist()
        [1.0, 0.67]
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
    return pd.DataFrame(
        {
            "length": running.index.to_numpy(),
            "accuracy": (running["sum"] / running["size"]).to_numpy(),
            "questions": running["size"].to_numpy(),
        }
    )


def accuracy_by_answer_length(
    results: Mapping[str, Sequence[pd.DataFrame]],
    answer_lengths: Mapping[str, float],
    *,
    fewest: int = 20,
    title: str = "",
) -> "Figure":
    """Draw accuracy over the questions with answers up to a length, a line per model (Fig. 3, 4).

    Args:
        results: per model the per-question results of its seeds, see `accuracy_up_to_length`; the line is
            the mean over the seeds.
        answer_lengths: tokens of the correct answer by question.
        fewest: int, the lines begin where so many questions are counted, or half of them where that is less:
            before that they only jump.
        title: above the figure, such as the data set and split.

    Returns:
        A matplotlib figure.

    Raises:
        ValueError: there are no results, or they do not go with the lengths.

    Example:
        >>> table = pd.DataFrame({"p@1": [1.0, 0.0]}, index=["a", "b"])
        >>> axes = accuracy_by_answer_length({"AP-CNN": [table]}, {"a": 5, "b": 9}, fewest=1).axes[0]
        >>> axes.get_lines()[0].get_ydata().tolist()
        [100.0, 50.0]
    """
    if not results or not all(results.values()):
        raise ValueError("results must hold at least one table for each model. Received: none.")
    figure, (axes,) = _figure(1, 5.2, 3.2)
    colours, styles = (_BLUE, _ORANGE, _GREY, "#3a8f4d"), ("-", "--", "-.", ":")
    for number, (model, tables) in enumerate(results.items()):
        curves = [accuracy_up_to_length(table, answer_lengths) for table in tables]
        counted = curves[0]["questions"] >= min(fewest, curves[0]["questions"].max() / 2)
        accuracy = np.mean([curve["accuracy"] for curve in curves], axis=0)
        axes.plot(
            curves[0]["length"][counted],
            100 * accuracy[counted],
            color=colours[number % len(colours)],
            linestyle=styles[number % len(styles)],
            linewidth=2,
            marker="o" if counted.sum() == 1 else None,  # a line of one point is not seen
            label=model if len(tables) == 1 else f"{model} (mean of {len(tables)} seeds)",
        )
    axes.set_xlabel("answers of at most so many tokens")
    axes.set_ylabel("accuracy (P@1, %)")
    axes.legend(frameon=False, fontsize="small")
    if title:
        axes.set_title(title, fontsize="medium")
    return figure


def _checked(side: str, words: Sequence[str], weights: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Give the weights, and each as a share of the largest."""
    weights = np.asarray(weights, np.float64)
    if not len(words) or weights.shape != (len(words),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"the {side} must have words, and one finite weight from 0 for each. "
            f"Received: {len(words)} words, weights of shape {weights.shape}."
        )
    return weights, weights / (weights.max() or 1.0)


def _places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Give the row and the column of every word's first character, in lines of equal characters."""
    places, row, column = [], 0, 0
    for word in words:
        if column and column + len(word) > _LINE:
            row, column = row + 1, 0
        places.append((row, column))
        column += len(word) + 1
    return places
