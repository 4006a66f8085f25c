"""The figure of the study of Eq. 9."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.eq9_summary import COSINE, READINGS, TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that stay apart for most kinds of colour blindness (Okabe and Ito).
_OF_READINGS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#f0e442")
_COLOURS = {**dict(zip(READINGS, _OF_READINGS, strict=False)), COSINE: "#cc79a7"}


def study_figure(conditions: Sequence[Mapping[str, Any]], *, max_norm: float, title: str = "") -> "Figure":
    """Draw quality, convergence, norms, share on the edge and quality against size.

    Args:
        conditions: what `evaluation.eq9_summary.summarise_conditions` returns, for the main size first.
        max_norm: norm at which the ball ends.
        title: above the figure.

    Returns:
        A matplotlib figure with six panels; those without data say so.

    Raises:
        ValueError: there are no conditions.
    """
    if not conditions:
        raise ValueError("conditions must hold at least one. Received: none.")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 6.4), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    quality, dev, edge, questions, answers, sizes = figure.subplots(2, 3).ravel()
    main = [each for each in conditions if each["dimension"] == conditions[0]["dimension"]]
    names = [each["condition"] for each in main]
    main = [each for each in main if "metrics" in each]

    for each in main:
        place, found = names.index(each["condition"]), each["metrics"]["map"]
        colour = _COLOURS[each["condition"]]
        quality.errorbar(
            found["mean"], place, xerr=found["ci95"] or 0.0, fmt="o", color=colour, capsize=4, markersize=6
        )
        quality.plot(found["per_seed"], [place + 0.18] * len(found["per_seed"]), ".", color=colour, alpha=0.4)
    quality.set_yticks(range(len(names)), [TITLES[name].replace("`", "") for name in names])
    quality.set_ylim(len(names) - 0.5, -0.5)
    quality.set(xlabel="MAP on test, 95 % interval, a dot per seed")

    for each in main:
        curve = np.mean(each["dev_map"], axis=0)
        epochs = np.arange(1, len(curve) + 1)
        style = {"color": _COLOURS[each["condition"]], "label": TITLES[each["condition"]].replace("`", "")}
        dev.plot(epochs, curve, **style)
        edge.plot(epochs, each["edge_share_by_epoch"], **style)
    if main:
        dev.axhline(main[0]["dev_level"], color="#777777", linestyle=":", linewidth=1.2)
    dev.set(xlabel="epoch", ylabel="MAP on dev (dotted: level)")
    edge.set(xlabel="epoch", ylabel="share of training texts on the edge", ylim=(-0.03, 1.03))

    for axes, side in ((questions, "questions"), (answers, "answers")):
        for each in main:
            low, middle, high = np.array(each["norms"][side]["before"]).T
            colour = _COLOURS[each["condition"]]
            axes.plot(range(len(middle)), middle, color=colour)
            axes.fill_between(range(len(middle)), low, high, color=colour, alpha=0.12, linewidth=0)
        axes.axhline(max_norm, color="#777777", linestyle="--", linewidth=1.2)
        axes.set(
            xlabel="epoch (0: initial)",
            ylabel=f"dev {side}: norm before the ball\n(median, 5-95 %; dashed: edge)",
            yscale="log",
        )

    _draw_sizes(sizes, conditions)
    for axes in (quality, dev, edge, questions, answers, sizes):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x" if axes is quality else "y", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
    if main:
        handles, labels = dev.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    if title:
        figure.suptitle(title, fontsize="medium")
    return figure


def _draw_sizes(axes: "Axes", conditions: Sequence[Mapping[str, Any]]) -> None:
    dimensions = sorted({each["dimension"] for each in conditions})
    if len(dimensions) < 2:
        axes.text(0.5, 0.5, "other sizes were not run", ha="center", va="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    names = list(dict.fromkeys(each["condition"] for each in conditions))
    step = 0.012 * (dimensions[-1] - dimensions[0])
    for place, name in enumerate(names):
        found = {
            each["dimension"]: each["metrics"]["map"]
            for each in conditions
            if each["condition"] == name and "metrics" in each
        }
        here = sorted(found)
        # Side by side, so that the intervals can be told apart.
        axes.errorbar(
            np.array(here) + step * (place - (len(names) - 1) / 2),
            [found[d]["mean"] for d in here],
            yerr=[found[d]["ci95"] or 0.0 for d in here],
            fmt="o-",
            color=_COLOURS[name],
            capsize=2,
            markersize=4,
            linewidth=1.2,
        )
    axes.set_xticks(dimensions)
    axes.set(xlabel="d, size of the embeddings", ylabel="MAP on test, 95 % interval")
