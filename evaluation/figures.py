"""The figures of results: learning curves, norms, wins and losses, quality against speed.

Figures are made without pyplot, so nothing global is changed and no display is needed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from answer_ranking.base.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

BLUE, ORANGE, GREY, GREEN = "#1f5fa8", "#d9731a", "#555555", "#3a8f4d"


def save_figure(figure: "Figure", path: str | Path, drawn_from: str = "") -> None:
    """Write a figure as PNG; a UserError says why it cannot be written.

    `drawn_from` is kept in the file, where `drawn_from` finds it.
    """
    metadata = {"Description": drawn_from} if drawn_from else None
    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=150, format="png", metadata=metadata)


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


def new_figure(
    columns: int,
    width: float,
    height: float,
    *,
    rows: int = 1,
) -> "tuple[Figure, list[Axes]]":
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


def learning_curves(
    histories: Sequence[Sequence[Mapping[str, float]]],
    *,
    title: str = "",
) -> "Figure":
    """Draw loss and ranking quality against the epoch: a thin line per seed and a thick one for their mean.

    Runs may differ in length; the mean at an epoch is over the runs that reached it. A run's best epoch is
    marked with a dot.
    """
    if not histories or not all(histories):
        raise ValueError("histories must hold at least one epoch for each seed. Received: none.")
    for history in histories:
        for epoch in history:
            if not {"loss", "dev_map"} <= epoch.keys():
                missing = sorted({"loss", "dev_map"} - epoch.keys())
                raise ValueError(f"histories lack {missing}. Received: {sorted(epoch)}.")
    from matplotlib.ticker import MaxNLocator

    figure, (loss, quality) = new_figure(2, 8.0, 3.2)
    _draw_curves(loss, _by_epoch(histories, "loss"), ORANGE)
    dev_maps = _by_epoch(histories, "dev_map")
    _draw_curves(quality, dev_maps, BLUE)
    best = np.nanargmax(dev_maps, axis=1)
    for seed, epoch in enumerate(best):
        label = None if seed else "best epoch"
        quality.plot(epoch + 1, dev_maps[seed, epoch], "o", color=BLUE, markersize=4, label=label)
    for axes, title_of_axis in ((loss, "training loss"), (quality, "MAP on dev")):
        axes.set(xlabel="epoch", ylabel=title_of_axis)
        axes.set_xlim(left=0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    return figure


def _by_epoch(histories: Sequence[Sequence[Mapping[str, float]]], key: str) -> np.ndarray:
    """Gather a value of all runs, NaN where a run has ended: (runs, epochs)."""
    values = np.full((len(histories), max(map(len, histories))), np.nan)
    for row, history in zip(values, histories, strict=True):
        row[: len(history)] = [epoch[key] for epoch in history]
    return values


def _draw_curves(axes: "Axes", values: np.ndarray, colour: str) -> None:
    """Draw a thin line for each run and a thick one for their mean; a single run has one line."""
    epochs = np.arange(1, values.shape[1] + 1)
    if len(values) == 1:
        axes.plot(epochs, values[0], color=colour, linewidth=2.2)
        return
    for number, row in enumerate(values):
        label = None if number else f"each of {len(values)} seeds"
        axes.plot(epochs, row, color=colour, label=label, linewidth=0.9, alpha=0.4)
    axes.plot(epochs, np.nanmean(values, axis=0), color=colour, linewidth=2.4, label="mean")


def answered_and_right(answered: ArrayLike, right: ArrayLike, foreign: ArrayLike) -> "Figure":
    """Draw P@1, and the share of foreign questions that are answered, against the share answered."""
    figure, (axes,) = new_figure(1, 5.2, 3.2)
    axes.plot(answered, right, "o-", color=BLUE, label="P@1 of the answered ones")
    axes.plot(answered, foreign, "o-", color=ORANGE, label="foreign questions answered")
    axes.set(xlabel="share of test's questions that are answered", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.legend(frameon=False, fontsize="small")
    return figure


def norm_histogram(
    question_norms: ArrayLike,
    answer_norms: ArrayLike,
    *,
    max_norm: float | None = None,
    title: str = "",
) -> "Figure":
    """Draw the histogram of the norms of question and answer embeddings (HyperQA, Fig. 5)."""
    questions = np.asarray(question_norms, dtype=np.float64).ravel()
    answers = np.asarray(answer_norms, dtype=np.float64).ravel()
    together = np.concatenate([questions, answers])
    sound = np.isfinite(together).all() and (together >= 0).all()
    if not len(questions) or not len(answers) or not sound:
        raise ValueError(
            "norms must be finite numbers from 0, some of questions and some of answers. "
            f"Received: {len(questions)} and {len(answers)}."
        )
    figure, (axes,) = new_figure(1, 5.2, 3.2)
    bins = np.linspace(0, max(together.max() * 1.02, max_norm or 0, 1e-6), 41)
    for norms, name, colour in ((answers, "answers", ORANGE), (questions, "questions", BLUE)):
        # Shares, because there are several answers to a question.
        shares = np.full(len(norms), 100 / len(norms))
        label = f"{name} ({len(norms):,})"
        axes.hist(norms, bins=bins, weights=shares, color=colour, alpha=0.6, label=label)
    if max_norm is not None:
        label = f"edge of the ball ({max_norm:g})"
        axes.axvline(max_norm, label=label, color=GREY, linestyle="--", linewidth=1.4)
    axes.set(xlabel="Euclidean norm before the ball constraint", ylabel="share of texts (%)")
    axes.set_xlim(0, bins[-1])
    axes.legend(frameon=False, fontsize="small")
    axes.set_title(title, fontsize="medium")
    return figure


def wins_and_losses(differences: Mapping[str, ArrayLike], *, model: str) -> "Figure":
    """Draw by how much a model is better or worse on each question, sorted: a panel per rival."""
    if not differences:
        raise ValueError("differences must be finite numbers for each rival. Received: none.")
    figure, panels = new_figure(len(differences), 4.2 * len(differences), 3.2)
    for axes, (name, values) in zip(panels, differences.items(), strict=True):
        ordered = np.sort(np.asarray(values, dtype=np.float64))[::-1]
        if not len(ordered) or not np.isfinite(ordered).all():
            raise ValueError(
                f"differences must be finite numbers for each rival. Received: {name}, {values}."
            )
        places = np.arange(1, len(ordered) + 1)
        axes.fill_between(places, ordered.clip(min=0), step="mid", color=BLUE, alpha=0.8)
        axes.fill_between(places, ordered.clip(max=0), step="mid", color=ORANGE, alpha=0.8)
        axes.axhline(0, color=GREY, linewidth=0.8)
        better, worse = int((ordered > 0).sum()), int((ordered < 0).sum())
        counts = f"{better} better, {len(ordered) - better - worse} equal, {worse} worse"
        axes.set_title(f"against {name}: {counts}", fontsize="medium")
        axes.set(xlabel="questions, sorted", ylabel=f"average precision, {model} minus {name}")
    return figure


def best_trade_offs(points: Mapping[str, Sequence[float]]) -> list[str]:
    """Find the models that are faster, by a sixth at least, than all better ones, from the best on.

    Example:
        >>> best_trade_offs({"slow": [10, 0.7], "fast": [1000, 0.6], "neither": [11, 0.5]})
        ['slow', 'fast']
    """
    front: list[str] = []
    fastest = 0.0
    for name in sorted(points, key=lambda each: (-points[each][1], -points[each][0])):
        speed = points[name][0]
        # The measured speeds of one model differ by a tenth.
        if speed > 7 / 6 * fastest:
            front.append(name)
        fastest = max(fastest, speed)
    return front


def quality_against_speed(points: Mapping[str, Sequence[float]]) -> "Figure":
    """Draw MAP against questions per second, with intervals; a line joins the best trade-offs.

    `points` has for every model: questions per second, MAP, and the half width of its interval.
    """
    figure, (axes,) = new_figure(1, 8.0, 4.8)
    front = best_trade_offs(points)
    speeds, qualities = np.array([points[name][:2] for name in front]).T
    axes.plot(speeds, qualities, color=ORANGE, label="best trade-offs")
    for name, (speed, quality, half_width) in points.items():
        colour = ORANGE if name in front else BLUE
        axes.errorbar(speed, quality, half_width, fmt="o", color=colour, capsize=3, markersize=5)
    every_speed = np.log10([point[0] for point in points.values()])
    # Names stand on both sides of the points.
    decades = 10.0 ** np.floor(every_speed.min() - 0.3), 10.0 ** np.ceil(every_speed.max() + 0.1)
    axes.set(xscale="log", xlim=decades, xlabel="questions per second, one core", ylabel="MAP on test")
    axes.legend(frameon=False, fontsize="small")
    _label(axes, points)
    return figure


_HEIGHTS = (-3.5, 4, -11, 14, -21, 24, -31, 34, -41)
"""How far above its point a name may begin, in points; the first, at the point's own height, is the best."""
_FAR = 12
"""From so far above or below its own height on, a line leads from a name to its point."""


def _label(axes: "Axes", points: Mapping[str, Sequence[float]], away: float = 7) -> None:
    """Write names beside their points, covering and being nearer to no other as far as that is possible.

    `away` is the distance of a name from the middle of its point, in points.
    """
    axes.figure.draw_without_rendering()
    taken = axes.transData.transform([point[:2] for point in points.values()])
    radius = away * axes.figure.dpi / 72
    boxes: list[Any] = []
    # From the top, so that the names of a column of points keep its order.
    for name, point in sorted(points.items(), key=lambda item: -item[1][1]):
        own = axes.transData.transform(point[:2])
        best, least = None, np.inf
        for height, side in product(_HEIGHTS, ("left", "right")):
            label = _beside(axes, name, point, height, side, away)
            box = _box_of(label)
            # A name with a line may be nearer to others, but covers none of them.
            least_distance = radius if label.arrow_patch else _distances(box, own[None])
            too_near = _distances(box, taken) < least_distance
            leaves = not (axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max))
            cost = 2 * box.count_overlaps(boxes) + too_near.sum() + leaves
            if cost >= least:
                label.remove()
                continue
            if best:
                best.remove()
            best, least = label, cost
            if not cost:
                break
        boxes.append(_box_of(best))


def _beside(
    axes: "Axes", name: str, point: Sequence[float], height: float, side: str, away: float
) -> "Annotation":
    """Write a name on the right of its point, or on the left where its right end stands there."""
    line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
    is_far = abs(height - _HEIGHTS[0]) > _FAR
    x = 2 * away if is_far else away
    return axes.annotate(
        name,
        point[:2],
        fontsize="small",
        xytext=(x if side == "left" else -x, height),
        textcoords="offset points",
        ha=side,
        arrowprops=line if is_far else None,
    )


def _box_of(label: "Annotation") -> Any:
    """Give the box of a name alone, without the line that leads to its point."""
    from matplotlib.text import Text

    label.get_window_extent()  # It computes where the name stands.
    return Text.get_window_extent(label)


def _distances(box: Any, places: np.ndarray) -> np.ndarray:
    """Give the distances of places from a box, 0 for those in it."""
    return np.hypot(*(places - np.clip(places, box.min, box.max)).T)


def quality_by_year(points: Mapping[str, Sequence[float | None]]) -> "Figure":
    """Draw MAP against the year: a circle for ours, its area by the parameters, a line to the printed value.

    `points` has for every system: year, printed MAP or None, our MAP, and our parameters.
    """
    from matplotlib.ticker import MaxNLocator

    figure, (axes,) = new_figure(1, 9.6, 5.4)
    # Room for names on both sides.
    axes.margins(x=0.1)
    together = Counter(year for year, *_ in points.values())
    of_year: Counter[float | None] = Counter()
    places = {}
    for name, (year, printed, ours, parameters) in sorted(points.items(), key=lambda item: item[1][2]):
        # Systems of one year stand side by side.
        x = year + 0.13 * (of_year[year] - (together[year] - 1) / 2)
        of_year[year] += 1
        area = 12 * max(np.log10(parameters), 1) ** 1.5
        axes.scatter(x, ours, area, color=BLUE, alpha=0.6, linewidths=0)
        if printed is not None:
            axes.plot([x, x], [ours, printed], color=GREY, linewidth=1)
            axes.plot(x, printed, "_", color=ORANGE, markersize=9, markeredgewidth=2)
        places[name] = (x, ours)
    axes.plot([], [], "o", color=BLUE, alpha=0.6, label="ours; area: parameters, in orders of magnitude")
    axes.plot([], [], "_", color=ORANGE, markersize=9, markeredgewidth=2, label="printed")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="year of the system's paper", ylabel="MAP on WikiQA, test")
    axes.legend(frameon=False, fontsize="small")
    _label(axes, places, away=9)
    return figure


def static_and_contextual(panels: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """Draw MAP of each head on static vectors and on contextual words, a line each, a panel per data set.

    `panels` has by data set: `heads`, by name MAP on static vectors or None, and on contextual words; and
    `untrained`, MAP of the encoder with nothing trained, or None.
    """
    from matplotlib import colormaps

    untrained = "nothing trained"
    figure, found = new_figure(max(len(panels), 1), 1.6 + 4.0 * max(len(panels), 1), 4.4)
    # A head looks alike in all panels; one legend stands beside them.
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel["heads"]))
    for axes in found[1:]:
        axes.sharey(found[0])
    for axes, (title, panel) in zip(found, panels.items(), strict=False):
        for name, (static, contextual) in panel["heads"].items():
            number = names.index(name)
            colour, marker = colormaps["tab10"](number % 10), "os"[number // 10 % 2]
            style = {"color": colour, "marker": marker, "label": name}
            if static is None:
                axes.plot([1], [contextual], **style)
            else:
                axes.plot([0, 1], [static, contextual], **style)
        if panel["untrained"] is not None:
            axes.axhline(panel["untrained"], color=GREY, linestyle=":", label=untrained)
        axes.set_xticks([0, 1], ["static vectors", "contextual words"])
        axes.set(xlim=(-0.25, 1.25), ylabel="MAP on test")
        axes.set_title(title, fontsize="medium")
    lines = {}
    for axes in found:
        lines |= {line.get_label(): line for line in axes.get_lines()}
    shown = [name for name in (*names, untrained) if name in lines]
    handles = [lines[name] for name in shown]
    figure.legend(handles, shown, frameon=False, fontsize="small", loc="outside right upper")
    return figure


def quality_by_questions(
    panels: Mapping[str, Mapping[str, Sequence[Sequence[float]]]],
) -> "Figure":
    """Draw MAP against the number of training questions, a panel per data set.

    `panels` has by data set and line, "model, way": questions, MAP and the half width of its interval.
    """
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    figure, found = new_figure(columns, 7.0 * columns, 3.6 * rows, rows=rows)
    palette = iter((BLUE, ORANGE, GREEN, GREY, "#7a4fa3", "#b03a48"))
    colours: dict[str, str] = {}
    for axes, (title, lines) in zip(found, panels.items(), strict=False):
        for name, points in lines.items():
            model, _, way = name.rpartition(", ")
            if model not in colours:
                colours[model] = next(palette, GREY)
            questions, quality, half_widths = np.transpose(points)
            style = {"color": colours[model], "marker": "o", "markersize": 4, "capsize": 2}
            if way == "from scratch":
                style |= {"linestyle": "--", "markerfacecolor": "white"}
            axes.errorbar(questions, quality, yerr=half_widths, label=name, **style)
        axes.set_xscale("symlog", linthresh=10, linscale=0.5)
        axes.set(xlim=(-1, None), xlabel="training questions of the data set", ylabel="MAP on test")
        axes.set_title(title, fontsize="medium")
        # Beside the panel: the lines of many models leave no room inside.
        axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    for axes in found[len(panels) :]:
        axes.set_visible(False)
    return figure
