"""What the page of Eq. 9 says of the grid of rates, clipping and norms: table, differences, figure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from answer_ranking.evaluation.eq9_summary import BASELINE
from answer_ranking.evaluation.figures import new_figure
from answer_ranking.evaluation.records import read_studies
from answer_ranking.reports.pages import markdown_table, render
from answer_ranking.reports.studies.eq9_figure import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = ("max_norm", "clip_norm", "eq9", "learning_rate")
"""What tells the cells of a grid apart."""
_ROW = AXES[:-1]
"""What tells the rows of the table apart: its columns are the rates."""
_KEYS = {"title", "protocol", "dataset", "embeddings", "configuration", "seeds", "conditions", "command"}

Cell = Mapping[str, Any]


def load_grids(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Read all records of the study in a folder, which may be missing, by their names, but the sample's."""
    found = {}
    for path, record in read_studies(folder, _KEYS).items():
        if record["dataset"] != "sample":
            found[path.stem] = record
    return found


def grid_block(folder: str | Path) -> str:
    """Write what the page says about the records in a folder."""
    studies = []
    for name, record in load_grids(folder).items():
        cells = record["conditions"]
        found = {
            "readings": list(dict.fromkeys(cell["eq9"] for cell in cells)),
            "chosen": {reading: cell for (reading,), cell in best_on_dev(cells, "eq9").items()},
            "differences": differences(cells),
            "table": grid_table(cells),
            "finished": sum(map(_is_finished, cells)),
        }
        studies.append({"name": name, **record, **found})
    return render("studies/eq9_grid.md.j2", studies=studies, baseline=BASELINE)


def grid_table(cells: Sequence[Cell]) -> str:
    """Set the mean MAP on test of all cells in Markdown, by rate; a † marks the rate that dev prefers."""
    preferred = best_on_dev(cells, *_ROW)
    rows: dict[tuple, dict[str, str]] = {}
    for cell in cells:
        place = _values(cell, _ROW)
        shown = f"{cell.get('diverged')} diverged"
        if _is_finished(cell):
            shown = f"{cell['test_map']['mean']:.3f}{'†' if preferred[place] is cell else ''}"
        rows.setdefault(place, _row_title(cell))[f"rate {cell['learning_rate']:g}"] = shown
    return markdown_table(pd.DataFrame(list(rows.values())).fillna("–"))


def _row_title(cell: Cell) -> dict[str, str]:
    clipped = "no" if cell["clip_norm"] is None else f"at {cell['clip_norm']:g}"
    return {"reading": f"`{cell['eq9']}`", "largest norm": f"{cell['max_norm']:g}", "clipped": clipped}


def _is_finished(cell: Cell) -> bool:
    return "test_map" in cell


def _values(cell: Cell, names: Sequence[str]) -> tuple:
    return tuple(cell[name] for name in names)


def best_on_dev(cells: Sequence[Cell], *names: str) -> dict[tuple, Cell]:
    """Give the cell with the highest mean MAP on dev, by the values of `names`."""
    best: dict[tuple, Cell] = {}
    for cell in filter(_is_finished, cells):
        place = _values(cell, names)
        if place not in best or cell["dev_map"]["mean"] > best[place]["dev_map"]["mean"]:
            best[place] = cell
    return best


def differences(cells: Sequence[Cell]) -> dict[str, dict[str, float]]:
    """Sum up how each conversion's MAP on test differs from the plain gradient's in the same cells."""
    frame = pd.DataFrame([cell for cell in cells if _is_finished(cell)])
    if frame.empty:
        return {}
    frame["map"] = frame["test_map"].map(lambda summary: summary["mean"])
    frame["clip_norm"] = frame["clip_norm"].map(str)  # NaN equals nothing, not even itself
    same = ["max_norm", "clip_norm", "learning_rate"]
    by_reading = frame.pivot_table("map", index=same, columns="eq9")
    found: dict[str, dict[str, float]] = {}
    if BASELINE not in by_reading:
        return found
    for reading in by_reading.columns.drop(BASELINE):
        apart = (by_reading[reading] - by_reading[BASELINE]).dropna()
        if len(apart):
            values = {"mean": apart.mean(), "least": apart.min(), "greatest": apart.max()}
            found[reading] = {"cells": len(apart), **values}
    return found


def grid_figure(cells: Sequence[Cell]) -> "Figure":
    """Draw MAP on test against the rate by reading: largest norms side by side, clipping below."""
    norms = sorted({cell["max_norm"] for cell in cells})
    clips = list(dict.fromkeys(cell["clip_norm"] for cell in cells))
    figure, panels = new_figure(len(norms), 3.2 * len(norms), 2.8 * len(clips), rows=len(clips))
    places = [(norm, clip) for clip in clips for norm in norms]
    for axes, (norm, clip) in zip(panels, places, strict=True):
        here = [cell for cell in cells if (cell["max_norm"], cell["clip_norm"]) == (norm, clip)]
        for reading in dict.fromkeys(cell["eq9"] for cell in here):
            line = [cell for cell in here if cell["eq9"] == reading and _is_finished(cell)]
            rates = [cell["learning_rate"] for cell in line]
            maps = [cell["test_map"]["mean"] for cell in line]
            errors = [cell["test_map"]["ci95"] or 0.0 for cell in line]
            style: dict[str, Any] = {"fmt": "o-", "capsize": 2, "markersize": 4, "linewidth": 1.2}
            axes.errorbar(rates, maps, yerr=errors, label=reading, color=COLOURS[reading], **style)
        clipped = "no clipping" if clip is None else f"clipped at {clip:g}"
        axes.set(xscale="log", xlabel="learning rate", ylabel="MAP on test")
        axes.set_title(f"largest norm {norm:g}, {clipped}", fontsize="medium")
    limits = [axes.get_ylim() for axes in panels]
    for axes in panels:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    panels[0].legend(frameon=False, fontsize="small")
    return figure
