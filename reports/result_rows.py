"""The rows and columns of the papers' tables in RESULTS.md."""

import re
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from answer_ranking.evaluation.comparisons import Comparison
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import (
    METRIC_TITLES,
    decimals_of,
    format_difference,
    format_measured,
    format_seconds,
    short_vectors,
)

_SIZE = "params"
_TIMES = {"seconds_per_epoch": "s/epoch, paper", "train_seconds": "training s, paper"}


@dataclass(frozen=True)
class Row:
    """A row of a paper's table: the printed values, and ours or why there are none."""

    model: str
    printed: dict[str, str]
    record: ResultRecord | None = None
    ours: dict[str, Any] = field(default_factory=dict)
    test: Comparison | None = None
    same_edition: bool = True
    missing: str = ""


@dataclass(frozen=True)
class Layout:
    """The columns of a paper's table."""

    metrics: list[str]
    has_size: bool
    times: list[str]
    scale: int  # 100 for percent
    tested: set[str]  # the metrics that have marks of significance
    brief: bool

    @property
    def whole_training(self) -> bool:
        return "train_seconds" in self.times

    def header(self) -> list[str]:
        names = ["model"]
        for metric in self.metrics:
            names += [f"{METRIC_TITLES[metric]}, paper", "ours", "Δ"]
        names += ["seeds", "word vectors", "protocol"]
        names += ["parameters, paper"] * self.has_size
        names += ["parameters, ours", *(_TIMES[name] for name in self.times)]
        names.append("training s, ours" if self.whole_training else "s/epoch, ours")
        return names if self.brief else [*names, "run"]


def layout_of(rows: pd.DataFrame, tested: str, *, brief: bool) -> Layout:
    """Find the columns of a table: what the paper prints in it; `tested` is the metric of the tests."""
    names = list(dict.fromkeys(rows["metric"]))
    return Layout(
        metrics=[name for name in names if name in METRIC_TITLES],
        has_size=_SIZE in names,
        times=[name for name in names if name in _TIMES],
        scale=100 if rows["percent"].iloc[0] else 1,
        tested={tested, "accuracy_test1"} if tested == "p@1" else {tested},
        brief=brief,
    )


def cells_of(row: Row, layout: Layout) -> list[str]:
    """Give the cells of a row, the printed values beside ours."""
    cells = [row.model]
    for metric in layout.metrics:
        cells += _metric_cells(row, metric, layout)
    seeds, vectors, protocol, parameters, seconds, run = _details(row.record, layout)
    cells += [seeds, vectors, protocol]
    if layout.has_size:
        cells.append(row.printed.get(_SIZE, ""))
    cells += [parameters, *(row.printed.get(name, "") for name in layout.times), seconds]
    return cells if layout.brief else [*cells, run]


def _details(record: ResultRecord | None, layout: Layout) -> list[str]:
    if record is None:
        return [""] * 6
    return [
        str(len(record.seeds)),
        short_vectors(record.embeddings),
        conditions_of(record),
        f"{record.parameters:,}",
        format_seconds(record, whole_training=layout.whole_training),
        link_to(record),
    ]


def _metric_cells(row: Row, metric: str, layout: Layout) -> list[str]:
    """Give the printed value, ours with the mark of its test, and the difference."""
    value = row.printed.get(metric, "")
    deviation = row.printed.get(f"{metric}_std")
    printed = f"{value} (std {deviation})" if deviation else value
    if row.record is None:
        return [printed, row.missing, ""]
    if metric not in row.ours:
        return [printed, "", ""]
    ours = row.ours[metric]
    decimals = decimals_of(value) or (2 if layout.scale == 100 else 3)
    measured = format_measured(ours, scale=layout.scale, decimals=decimals)
    if row.test and metric in layout.tested:
        measured += row.test.mark
    if not value or not row.same_edition:
        return [printed, measured, ""]
    return [printed, measured, format_difference(ours, value, scale=layout.scale)]


def answerable_only(row: Row, layout: Layout) -> list[str]:
    """Give our values over the questions that have a correct answer, where the printed ones count all."""
    cells = ["↳ answerable only"]
    measured = row.record.metrics if row.record else {}
    for metric in layout.metrics:
        decimals = decimals_of(row.printed.get(metric, "")) or 3
        ours, text = measured.get(metric), ""
        if ours:
            text = format_measured(ours, scale=layout.scale, decimals=decimals)
        cells += ["", text, ""]
    return cells + [""] * (len(layout.header()) - len(cells))


def conditions_of(record: ResultRecord) -> str:
    """Name protocol, split and training set of a record."""
    split = "" if record.split == "test" else record.split
    return ", ".join(filter(None, (record.protocol, split, record.variant)))


def run_name(record: ResultRecord) -> str:
    """Name a run by its --record, else by its model."""
    found = re.search(r"--record[ =](\S+)", record.command)
    return found[1] if found else record.model


def link_to(record: ResultRecord) -> str:
    """Link to the run of a record."""
    return f"[{run_name(record)}](#runs)"
