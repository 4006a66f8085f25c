"""The figures of results: learning curves, norms, wins and losses, quality against speed.

Figures are made without pyplot, so nothing global is changed and no display is needed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from answer_ranking.base.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, GREEN = "#1f5fa8", "#d9731a", "#555555", "#3a8f4d"


def save_figure(figure: "Figure", path: str | Path, drawn_from: str = "") -> None:
    """Write a figure as PNG; a UserError says why it cannot be written.

    `drawn_from` is kept in the file, where `drawn_from` finds it.
    """
    with atomic_write(path, "wb") as file:
        figure.savefig(
            file, dpi=150, format="png", metadata={"Description": drawn_from} if drawn_from else None
        )


def drawn_from(path: Path) -> str:
    """Return the text that a figure was saved with; "" for none, or no figure."""
    from PIL import Image

    if not path.is_file():
        return ""
    try:
        with Image.open(path) as picture:
            return getattr(picture, "text", {}).get("Description", "")
    except OSError:
        return ""


def new_figure(columns: int, width: float, height: float, *, rows: int = 1) -> "tuple[Figure, list[Axes]]":
    """Make a figure with panels in the common style."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure, panels


def learning_curves(histories: Sequence[Sequence[Mapping[str, float]]], *, title: str = "") -> "Figure":
    """Draw loss and ranking quality against the epoch: a thin line per seed and a thick one for their mean.

    Runs may differ in length; the mean at an epoch is over the runs that reached it. A run's best epoch is
    marked with a dot.
    """
    if not histories or not all(histories):
        raise ValueError("histories must hold at least one epoch for each seed. Received: none.")
    metrics = {"loss": ("training loss", ORANGE), "dev_map": ("MAP on dev", BLUE)}
    missing = {key for history in histories for epoch in history for key in metrics if key not in epoch}
    if missing:
        raise ValueError(f"histories lack {sorted(missing)}. Received: {sorted(histories[0][0])}.")
    from matplotlib.ticker import MaxNLocator

    figure, panels = new_figure(2, 8.0, 3.2)
    epochs = np.arange(1, max(map(len, histories)) + 1)
    single = len(histories) == 1
    thin = {"linewidth": 2.2} if single else {"linewidth": 0.9, "alpha": 0.4}
    for axes, (key, (label, colour)) in zip(panels, metrics.items(), strict=True):
        values = np.full((len(histories), len(epochs)), np.nan)
        for row, history in zip(values, histories, strict=True):
            row[: len(history)] = [epoch[key] for epoch in history]
        for i, row in enumerate(values):
            name = f"each of {len(histories)} seeds" if i == 0 and not single else None
            axes.plot(epochs, row, color=colour, label=name, **thin)
            if key == "dev_map":
                best = int(np.nanargmax(row))
                dot = {"color": colour, "markersize": 4, "label": "best epoch" if i == 0 else None}
                axes.plot(epochs[best], row[best], "o", **dot)
        if not single:
            axes.plot(epochs, np.nanmean(values, axis=0), color=colour, linewidth=2.4, label="mean")
        axes.set(xlabel="epoch", ylabel=label)
        axes.set_xlim(left=0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    return figure


def norm_histogram(
    question_norms: ArrayLike, answer_norms: ArrayLike, *, max_norm: float | None = None, title: str = ""
) -> "Figure":
    """Draw the histogram of the norms of question and answer embeddings (HyperQA, Fig. 5)."""
    questions, answers = (np.asarray(x, dtype=np.float64).ravel() for x in (question_norms, answer_norms))
    together = np.concatenate([questions, answers])
    if not len(questions) or not len(answers) or not np.isfinite(together).all() or (together < 0).any():
        raise ValueError(
            "norms must be finite numbers from 0, some of questions and some of answers. "
            f"Received: {len(questions)} and {len(answers)}."
        )
    figure, (axes,) = new_figure(1, 5.2, 3.2)
    bins = np.linspace(0, max(together.max() * 1.02, max_norm or 0, 1e-6), 41)
    for norms, name, colour in ((answers, "answers", ORANGE), (questions, "questions", BLUE)):
        # Shares, because there are several answers to a question.
        shares = np.full(len(norms), 100 / len(norms))
        axes.hist(norms, bins=bins, weights=shares, color=colour, alpha=0.6, label=f"{name} ({len(norms):,})")
    if max_norm is not None:
        line = {"color": GREY, "linestyle": "--", "linewidth": 1.4}
        axes.axvline(max_norm, label=f"edge of the ball ({max_norm:g})", **line)
    axes.set(xlabel="Euclidean norm before the ball constraint", ylabel="share of texts (%)")
    axes.set_xlim(0, bins[-1])
    axes.legend(frameon=False, fontsize="small")
    axes.set_title(title, fontsize="medium")
    return figure


def wins_and_losses(differences: Mapping[str, ArrayLike], *, model: str) -> "Figure":
    """Draw by how much a model is better or worse on each question, sorted: a panel per rival."""
    values = {name: np.sort(np.asarray(each, dtype=np.float64))[::-1] for name, each in differences.items()}
    if not values or any(not len(each) or not np.isfinite(each).all() for each in values.values()):
        raise ValueError(f"differences must be finite numbers for each rival. Received: {dict(values)}.")
    figure, panels = new_figure(len(values), 4.2 * len(values), 3.2)
    for axes, (name, ordered) in zip(panels, values.items(), strict=True):
        places = np.arange(1, len(ordered) + 1)
        axes.fill_between(places, ordered.clip(min=0), step="mid", color=BLUE, alpha=0.8)
        axes.fill_between(places, ordered.clip(max=0), step="mid", color=ORANGE, alpha=0.8)
        axes.axhline(0, color=GREY, linewidth=0.8)
        better, worse = int((ordered > 0).sum()), int((ordered < 0).sum())
        equal = len(ordered) - better - worse
        axes.set_title(f"against {name}: {better} better, {equal} equal, {worse} worse", fontsize="medium")
        axes.set(xlabel="questions, sorted", ylabel=f"average precision, {model} minus {name}")
    return figure


def best_trade_offs(points: Mapping[str, Sequence[float]]) -> list[str]:
    """Find the models that are faster, by a sixth at least, than all better ones, from the best on.

    Example:
        >>> best_trade_offs({"slow": [10, 0.7], "fast": [1000, 0.6], "neither": [11, 0.5]})
        ['slow', 'fast']
    """
    front: list[str] = []
    for name in sorted(points, key=lambda each: (-points[each][1], -points[each][0])):
        # The measured speeds of one model differ by a tenth.
        if not front or points[name][0] > 7 / 6 * points[front[-1]][0]:
            front.append(name)
    return front


def quality_against_speed(points: Mapping[str, Sequence[float]]) -> "Figure":
    """Draw MAP against questions per second, with intervals; a line joins the best trade-offs.

    `points` has for every model: questions per second, MAP, and the half width of its interval.
    """
    figure, (axes,) = new_figure(1, 7.0, 4.2)
    front = best_trade_offs(points)
    axes.plot(*zip(*(points[name][:2] for name in front), strict=True), color=ORANGE, label="best trade-offs")
    for name, (speed, quality, half_width) in points.items():
        colour = ORANGE if name in front else BLUE
        axes.errorbar(speed, quality, yerr=half_width, fmt="o", color=colour, capsize=3, markersize=5)
    speeds = [speed for speed, *_ in points.values()]
    decades = 10.0 ** np.floor(np.log10(min(speeds))), 10.0 ** np.ceil(np.log10(max(speeds)) + 0.1)
    axes.set(xscale="log", xlim=decades, xlabel="questions per second, one core", ylabel="MAP on test")
    axes.legend(frameon=False, fontsize="small")
    _label(axes, {name: point[:2] for name, point in points.items()})
    return figure


def _label(axes: "Axes", points: Mapping[str, Sequence[float]]) -> None:
    """Write names beside points, where they cover no other name or point as far as that is possible."""
    figure = axes.figure
    figure.draw_without_rendering()
    taken = [axes.transData.transform(point) for point in points.values()]
    boxes: list[Any] = []
    sides = [
        (6, 4, "left"),
        (6, -11, "left"),
        (-6, 4, "right"),
        (-6, -11, "right"),
        (6, 14, "left"),
        (6, -21, "left"),
    ]
    for name, point in points.items():
        tried = []
        for x, y, side in sides:
            label = axes.annotate(
                name, point, xytext=(x, y), textcoords="offset points", fontsize="small", ha=side
            )
            box = label.get_window_extent()
            covered = sum(box.overlaps(other) for other in boxes) + sum(box.contains(*each) for each in taken)
            tried.append((covered, label, box))
            if not covered:
                break
        _, kept, box = min(tried, key=lambda each: each[0])
        boxes.append(box)
        for _, label, _ in tried:
            if label is not kept:
                label.remove()


def quality_by_questions(panels: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> "Figure":
    """Draw MAP against the number of training questions, a panel per data set.

    `panels` has by data set and line, "model, way": questions, MAP and the half width of its interval.
    """
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    figure, found = new_figure(columns, 5.0 * columns, 3.6 * rows, rows=rows)
    names = list(dict.fromkeys(name.rpartition(", ")[0] for lines in panels.values() for name in lines))
    colours = dict(zip(names, (BLUE, ORANGE, GREEN, GREY, "#7a4fa3", "#b03a48"), strict=False))
    for axes, (title, lines) in zip(found, panels.items(), strict=False):
        for name, points in lines.items():
            model, _, way = name.rpartition(", ")
            style = {"linestyle": "--", "markerfacecolor": "white"} if way == "from scratch" else {}
            questions, quality, half_widths = zip(*points, strict=True)
            axes.errorbar(
                questions,
                quality,
                yerr=half_widths,
                marker="o",
                markersize=4,
                capsize=2,
                color=colours.get(model, GREY),
                label=name,
                **style,
            )
        axes.set_xscale("symlog", linthresh=10, linscale=0.5)
        axes.set(xlim=(-1, None), xlabel="training questions of the data set", ylabel="MAP on test")
        axes.set_title(title, fontsize="medium")
        axes.legend(frameon=False, fontsize="small")
    for axes in found[len(panels) :]:
        axes.set_visible(False)
    return figure
