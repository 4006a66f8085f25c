"""The figures of results: learning curves, norms, MAP against embedding size, wins and losses.

Figures are made without pyplot, so nothing global is touched and no display is needed; save one with
`figure.savefig(path)`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _ORANGE, _GREY = "#1f5fa8", "#d9731a", "#555555"


def _figure(columns: int, width: float, height: float) -> "tuple[Figure, list[Axes]]":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, columns, squeeze=False)[0])
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(axis="y", color="#dddddd", linewidth=0.8)
        each.set_axisbelow(True)
    return figure, axes


def learning_curves(
    histories: Sequence[Sequence[Mapping[str, float]]],
    *,
    loss: str = "loss",
    metric: str = "dev_map",
    metric_title: str = "MAP on dev",
    title: str = "",
) -> "Figure":
    """Draw loss and ranking quality against the epoch: a thin line per seed and a thick one for their mean.

    Runs may differ in length; the mean at an epoch is over the runs that reached it. A run's best epoch is
    marked with a dot.

    Args:
        histories: per seed, one mapping per epoch.
        loss: key of the training loss.
        metric: key of the metric on dev.
        metric_title: its name on the axis.
        title: above the figure, such as the model and the data set.

    Returns:
        A matplotlib figure.

    Raises:
        ValueError: there are no epochs, or a key is missing.

    Example:
        >>> figure = learning_curves([[{"loss": 0.4, "dev_map": 0.6}, {"loss": 0.3, "dev_map": 0.65}]])
        >>> [axes.get_ylabel() for axes in figure.axes]
        ['training loss', 'MAP on dev']
    """
    if not histories or not all(histories):
        raise ValueError("histories must hold at least one epoch for each seed. Received: none.")
    missing = {
        key for history in histories for epoch in history for key in (loss, metric) if key not in epoch
    }
    if missing:
        raise ValueError(f"histories lack {sorted(missing)}. Received: {sorted(histories[0][0])}.")
    from matplotlib.ticker import MaxNLocator

    figure, axes = _figure(2, 8.0, 3.2)
    longest = max(map(len, histories))
    for each, key, label, colour in (
        (axes[0], loss, "training loss", _ORANGE),
        (axes[1], metric, metric_title, _BLUE),
    ):
        values = np.full((len(histories), longest), np.nan)
        for row, history in zip(values, histories, strict=True):
            row[: len(history)] = [epoch[key] for epoch in history]
        epochs = np.arange(1, longest + 1)
        single = len(histories) == 1
        for i, row in enumerate(values):
            each.plot(
                epochs,
                row,
                color=colour,
                linewidth=2.2 if single else 0.9,
                alpha=1.0 if single else 0.4,
                label=f"each of {len(histories)} seeds" if i == 0 and not single else None,
            )
            if key == metric:
                best = int(np.nanargmax(row))
                each.plot(
                    epochs[best],
                    row[best],
                    "o",
                    color=colour,
                    markersize=4,
                    label="best epoch" if i == 0 else None,
                )
        if not single:
            each.plot(epochs, np.nanmean(values, axis=0), color=colour, linewidth=2.4, label="mean")
        each.set_xlim(left=0.5)
        each.set_xlabel("epoch")
        each.set_ylabel(label)
        each.xaxis.set_major_locator(MaxNLocator(integer=True))
        if each.get_legend_handles_labels()[0]:
            each.legend(frameon=False, fontsize="small")
    if title:
        figure.suptitle(title, fontsize="medium")
    return figure


def norm_histogram(
    question_norms: ArrayLike, answer_norms: ArrayLike, *, max_norm: float | None = None, title: str = ""
) -> "Figure":
    """Draw the histogram of the norms of question and answer embeddings (HyperQA, Fig. 5).

    Args:
        question_norms: Euclidean norms of the question embeddings before the ball constraint.
        answer_norms: those of the answer embeddings.
        max_norm: norm at which the ball ends, drawn as a line; None for no line.
        title: above the figure.

    Returns:
        A matplotlib figure.

    Raises:
        ValueError: there are no norms, or one is negative or not finite.

    Example:
        >>> norm_histogram([1.0, 2.0], [2.0, 3.0, 4.0]).axes[0].get_xlabel()
        'Euclidean norm before the ball constraint'
    """
    questions, answers = (
        np.asarray(norms, dtype=np.float64).ravel() for norms in (question_norms, answer_norms)
    )
    together = np.concatenate([questions, answers])
    if not len(questions) or not len(answers) or not np.isfinite(together).all() or (together < 0).any():
        raise ValueError(
            "norms must be finite numbers from 0, some of questions and some of answers. "
            f"Received: {len(questions)} and {len(answers)}."
        )
    figure, (axes,) = _figure(1, 5.2, 3.2)
    bins = np.linspace(0, max(together.max() * 1.02, max_norm or 0, 1e-6), 41)
    for norms, name, colour in ((answers, "answers", _ORANGE), (questions, "questions", _BLUE)):
        axes.hist(
            norms,
            bins=bins,
            # Shares, because there are several answers to a question.
            weights=np.full(len(norms), 100 / len(norms)),
            color=colour,
            alpha=0.6,
            label=f"{name} ({len(norms):,})",
        )
    if max_norm is not None:
        axes.axvline(
            max_norm, color=_GREY, linestyle="--", linewidth=1.4, label=f"edge of the ball ({max_norm:g})"
        )
    axes.set_xlim(0, bins[-1])
    axes.set_xlabel("Euclidean norm before the ball constraint")
    axes.set_ylabel("share of texts (%)")
    axes.legend(frameon=False, fontsize="small")
    if title:
        axes.set_title(title, fontsize="medium")
    return figure


def map_by_dimension(
    rows: Sequence[Mapping[str, object]], *, title: str = "", metric_title: str = "MAP"
) -> "Figure":
    """Draw MAP against the size of the embeddings (HyperQA, Fig. 3): a line per model, a dot per seed.

    Args:
        rows: one mapping per run with the keys `model`, `dimension` (int) and `map` (a fraction); several
            runs of a model and dimension are its seeds.
        title: above the figure.
        metric_title: name of the metric on the axis, such as "MAP on WikiQA dev".

    Returns:
        A matplotlib figure.

    Raises:
        ValueError: there are no rows, or a key is missing.

    Example:
        >>> map_by_dimension([{"model": "HyperQA", "dimension": 100, "map": 0.70},
        ...     {"model": "HyperQA", "dimension": 200, "map": 0.71}]).axes[0].get_xlabel()
        'embedding size (dimensions)'
    """
    if not rows or any(not {"model", "dimension", "map"} <= row.keys() for row in rows):
        raise ValueError(f"rows need the keys model, dimension and map. Received: {list(rows)[:1]}.")
    figure, (axes,) = _figure(1, 5.2, 3.2)
    models = list(dict.fromkeys(row["model"] for row in rows))
    markers, colours = ("o", "s", "^", "D"), (_BLUE, _ORANGE, _GREY, "#3a8f4d")
    for i, model in enumerate(models):
        by_dimension: dict[int, list[float]] = {}
        for row in rows:
            if row["model"] == model:
                by_dimension.setdefault(row["dimension"], []).append(row["map"])
        dimensions = sorted(by_dimension)
        colour = colours[i % len(colours)]
        axes.plot(
            dimensions,
            [np.mean(by_dimension[dimension]) for dimension in dimensions],
            color=colour,
            marker=markers[i % len(markers)],
            markersize=5,
            linewidth=2,
            label=model,
        )
        for dimension in dimensions:
            values = by_dimension[dimension]
            if len(values) > 1:
                axes.plot([dimension] * len(values), values, ".", color=colour, alpha=0.4, markersize=5)
    axes.set_xticks(sorted({row["dimension"] for row in rows}))
    axes.set_xlabel("embedding size (dimensions)")
    axes.set_ylabel(metric_title)
    axes.legend(frameon=False, fontsize="small")
    if title:
        axes.set_title(title, fontsize="medium")
    return figure


def wins_and_losses(
    differences: Mapping[str, ArrayLike], *, model: str, metric_title: str = "average precision"
) -> "Figure":
    """Draw by how much a model is better or worse on each question, sorted: a panel per rival.

    Args:
        differences: per rival, the model's metric minus the rival's, one value per question.
        model: the model's name.
        metric_title: the metric's name on the axis.

    Returns:
        A matplotlib figure.

    Raises:
        ValueError: there are no differences, or one is not finite.

    Example:
        >>> figure = wins_and_losses({"BM25": [0.5, -0.25, 0.0]}, model="HyperQA")
        >>> figure.axes[0].get_title()
        'against BM25: 1 better, 1 equal, 1 worse'
    """
    values = {name: np.sort(np.asarray(each, dtype=np.float64))[::-1] for name, each in differences.items()}
    if not values or any(not len(each) or not np.isfinite(each).all() for each in values.values()):
        raise ValueError(f"differences must be finite numbers for each rival. Received: {dict(values)}.")
    figure, axes = _figure(len(values), 4.2 * len(values), 3.2)
    for each, (name, sorted_values) in zip(axes, values.items(), strict=True):
        places = np.arange(1, len(sorted_values) + 1)
        each.fill_between(places, sorted_values.clip(min=0), step="mid", color=_BLUE, alpha=0.8)
        each.fill_between(places, sorted_values.clip(max=0), step="mid", color=_ORANGE, alpha=0.8)
        each.axhline(0, color=_GREY, linewidth=0.8)
        better, worse = int((sorted_values > 0).sum()), int((sorted_values < 0).sum())
        equal = len(sorted_values) - better - worse
        each.set_title(f"against {name}: {better} better, {equal} equal, {worse} worse", fontsize="medium")
        each.set_xlabel("questions, sorted")
        each.set_ylabel(f"{metric_title}, {model} minus {name}")
    return figure
