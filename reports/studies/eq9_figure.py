"""The figure of the study of Eq. 9: quality against size, convergence, share on the edge and norms."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from answer_ranking.evaluation.eq9_summary import SIDES
from answer_ranking.evaluation.figures import new_figure
from answer_ranking.reports.studies.eq9_page import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Condition = Mapping[str, Any]
# Colours that can be told apart with most kinds of colour blindness (Okabe and Ito).
COLOURS = dict(zip(TITLES, ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7"), strict=True))
_GREY = "#777777"


def study_figure(conditions: Sequence[Condition], *, max_norm: float, title: str = "") -> "Figure":
    """Draw quality against size, convergence, share on the edge and norms, in five panels and a legend."""
    if not conditions:
        raise ValueError("conditions must hold at least one. Received: none.")
    figure, panels = new_figure(3, 12.5, 6.4, rows=2)
    sizes, dev, edge, *of_sides, legend = panels
    legend.set_axis_off()
    finished = [each for each in conditions if "metrics" in each]
    _draw_sizes(sizes, conditions, finished)
    main = [each for each in finished if each["dimension"] == conditions[0]["dimension"]]
    for each in main:
        _draw_epochs(dev, edge, each)
    dev.set(xlabel="epoch", ylabel="MAP on dev (dotted: level)")
    edge.set(xlabel="epoch", ylabel="share of training texts on the edge", ylim=(-0.03, 1.03))
    for axes, side in zip(of_sides, SIDES, strict=True):
        _draw_norms(axes, main, side, max_norm)
    if main:
        dev.axhline(main[0]["dev_level"], color=_GREY, linestyle=":", linewidth=1.2)
        legend.legend(*sizes.get_legend_handles_labels(), loc="center", frameon=False)
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_sizes(
    axes: "Axes",
    conditions: Sequence[Condition],
    finished: Sequence[Condition],
) -> None:
    """Draw MAP against the size of the embeddings: a line with intervals for each condition."""
    every = pd.DataFrame(conditions)
    dimensions = np.sort(every["dimension"].unique())
    names = list(every["condition"].unique())
    # Side by side, so that the intervals can be told apart.
    step = 0.012 * (dimensions[-1] - dimensions[0] or 1)
    places: dict[str, list[tuple[float, float, float]]] = {}
    for each in sorted(finished, key=lambda each: each["dimension"]):
        shift = step * (names.index(each["condition"]) - (len(names) - 1) / 2)
        quality = each["metrics"]["map"]
        place = each["dimension"] + shift, quality["mean"], quality["ci95"] or 0.0
        places.setdefault(each["condition"], []).append(place)
    for name in names:
        if name in places:
            x, y, half_widths = np.transpose(places[name])
            style = {"fmt": "o-", "capsize": 2, "markersize": 4, "linewidth": 1.2}
            label = TITLES[name].replace("`", "")
            axes.errorbar(x, y, yerr=half_widths, label=label, color=COLOURS[name], **style)
    axes.set_xticks(dimensions)
    axes.set(xlabel="d, size of the embeddings", ylabel="MAP on test, 95 % interval")


def _draw_epochs(dev: "Axes", edge: "Axes", condition: Condition) -> None:
    colour = COLOURS[condition["condition"]]
    epochs = np.arange(len(condition["dev_map"][0])) + 1
    dev.plot(epochs, np.mean(condition["dev_map"], axis=0), color=colour)
    edge.plot(epochs, condition["edge_share_by_epoch"], color=colour)


def _draw_norms(axes: "Axes", main: Sequence[Condition], side: str, max_norm: float) -> None:
    """Draw the norms before the ball of one side's texts by epoch: the median and the middle 90 %."""
    for each in main:
        colour = COLOURS[each["condition"]]
        low, middle, high = np.array(each["norms"][side]["before"]).T
        axes.plot(range(len(middle)), middle, color=colour)
        axes.fill_between(range(len(middle)), low, high, alpha=0.12, linewidth=0, color=colour)
    axes.axhline(max_norm, color=_GREY, linestyle="--", linewidth=1.2)
    label = f"dev {side}: norm before the ball\n(median, 5-95 %; dashed: edge)"
    axes.set(xlabel="epoch (0: initial)", ylabel=label, yscale="log")
