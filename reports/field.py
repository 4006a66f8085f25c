"""The page of the field: every system that the papers have or quote, printed and ours, by year."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.papers import Papers, System, as_fraction
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.significance import holm_correction
from answer_ranking.evaluation.tables import format_measured, format_seconds
from answer_ranking.reports.pages import render
from answer_ranking.reports.result_rows import run_name

_METRIC = "map"
_FEWEST = 3  # systems that make an order


@dataclass(frozen=True)
class _Data:
    """A data set with its protocol and training set, and the papers' tables that are about it."""

    title: str
    dataset: str
    tables: tuple[str, ...]


# The systems that HyperQA's table of the raw TrecQA quotes were trained on TRAIN-ALL.
_DATA = (
    _Data("WikiQA", "wikiqa", ("wikiqa",)),
    _Data("TrecQA raw, trained on TRAIN", "trecqa-raw/TRAIN", ("trecqa-raw/TRAIN",)),
    _Data(
        "TrecQA raw, trained on TRAIN-ALL",
        "trecqa-raw/TRAIN-ALL",
        ("trecqa-raw/TRAIN-ALL", "trecqa-raw"),
    ),
    _Data("TrecQA clean, trained on TRAIN-ALL", "trecqa-clean/TRAIN-ALL", ("trecqa-clean/TRAIN-ALL",)),
    _Data("SemEvalCQA", "semevalcqa", ("semevalcqa",)),
)


@dataclass(frozen=True)
class Order:
    """The order of our means beside that of the printed values, over the systems that have both."""

    data: str
    equal_budgets: bool
    systems: int
    tau: float
    p: float
    discordant: int  # pairs that are in another order
    most_changed: str
    change: float  # ours minus printed, of that system

    @property
    def pairs(self) -> int:
        return self.systems * (self.systems - 1) // 2

    @property
    def verdict(self) -> str:
        """Whether the printed order comes back: "agrees", "reversed" or "not significant"."""
        if self.p >= SIGNIFICANT:
            return "not significant"
        return "agrees" if self.tau > 0 else "reversed"


def finding_block(records: Sequence[ResultRecord], searched: Sequence[ResultRecord], papers: Papers) -> str:
    """Say whether the printed order of the systems comes back; `searched` are the runs at equal budgets."""
    orders = []
    for data in _DATA:
        for equal_budgets, of in ((False, records), (True, searched)):
            values = {}
            for each in _systems(data, of, papers):
                if each.ours and each.printed:
                    values[each.system.name] = float(each.printed), each.ours["mean"]
            if len(values) >= _FEWEST:
                orders.append(order_of(values, data.title, equal_budgets=equal_budgets))
    corrected = holm_correction([each.p for each in orders])
    orders = [replace(each, p=float(p)) for each, p in zip(orders, corrected, strict=True)]
    field_searched = any(each.paper == "field" for each in searched)
    return render("field_finding.md.j2", orders=orders, field_searched=field_searched)


def order_of(values: Mapping[str, tuple[float, float]], data: str, *, equal_budgets: bool) -> Order:
    """Compare the orders of the printed values and of ours, given by system in pairs.

    Kendall's tau, with the correction for ties (b), is 1 where all pairs of systems are in the same order, -1
    where none is; its p is that of no relation.

    Example:
        >>> values = {"A": (0.1, 0.4), "B": (0.2, 0.3), "C": (0.3, 0.5)}
        >>> order_of(values, "WikiQA", equal_budgets=False).discordant
        1
    """
    from scipy import stats

    printed, ours = np.transpose(list(values.values()))
    found = stats.kendalltau(printed, ours)
    same = np.subtract.outer(printed, printed) * np.subtract.outer(ours, ours)
    changes = dict(zip(values, (ours - printed).tolist(), strict=True))
    most_changed = max(changes, key=lambda name: abs(changes[name]))
    return Order(
        data=data,
        equal_budgets=equal_budgets,
        systems=len(values),
        tau=float(found.statistic),
        p=float(found.pvalue),
        discordant=int((same < 0).sum()) // 2,
        most_changed=most_changed,
        change=changes[most_changed],
    )


def field_block(records: Sequence[ResultRecord], papers: Papers) -> str:
    """Write the part of the page that comes from the records and the papers' values."""
    tables = {}
    seen: set[str] = set()
    for data in _DATA:
        rows = _rows(data, records, papers)
        seen |= {row["system"] for row in rows if row["ours"]}
        tables[data.title] = pd.DataFrame(rows)
    quoted = [each for each in papers.systems if each.why]
    not_run = [each.name for each in papers.systems if not each.why and each.name not in seen]
    return render("field.md.j2", tables=tables, quoted=quoted, not_run=not_run)


def field_grid(records: Sequence[ResultRecord], papers: Papers) -> str:
    """Write one table of all systems that we have run: printed MAP and ours by data set."""
    grid: dict[str, dict[str, str]] = {}
    not_there = dict.fromkeys((data.title for data in _DATA), "")
    measured = set()
    for data in _DATA:
        for row in _rows(data, records, papers):
            name = row["system"]
            cells = grid.setdefault(name, {"system": name, "year": row["year"], **not_there})
            cells[data.title] = f"{row['MAP, printed'] or '–'}; {row['ours'] or '–'}"
            if row["ours"]:
                measured.add(name)
    table = pd.DataFrame([grid[each.name] for each in papers.systems if each.name in measured])
    return render("paper_field.md.j2", table=table)


def field_points(records: Sequence[ResultRecord], papers: Papers) -> dict[str, list[float | None]]:
    """Give what the figure draws of WikiQA: by system its year, printed MAP, ours, and our parameters."""
    points: dict[str, list[float | None]] = {}
    for system, printed, record, ours in _systems(_DATA[0], records, papers):
        if record and ours:
            of_paper = float(printed) if printed else None
            points[system.name] = [system.year, of_paper, round(ours["mean"], 4), record.parameters]
    return points


class _Found(NamedTuple):
    system: System
    printed: str  # MAP, "" for none
    record: ResultRecord | None
    ours: Mapping[str, Any] | None  # the summary of the record's MAP


def _systems(data: _Data, records: Sequence[ResultRecord], papers: Papers) -> Iterator[_Found]:
    """Go through the systems that have a printed value or a record of a data set."""
    for system in papers.systems:
        printed = printed_map(system, data.tables, papers)
        record = papers.quoted_record(records, data.dataset, system.name)
        if record:
            yield _Found(system, printed, record, papers.comparable_metrics(record)[_METRIC])
        elif printed:
            yield _Found(system, printed, None, None)


def printed_map(system: System, tables: Sequence[str], papers: Papers) -> str:
    """Give the MAP that a paper prints for a system, as a fraction; "" for none.

    The first row under the system's own name counts, else the first one under another name of it.
    """
    rows = papers.printed
    is_its = rows["model"].isin([system.name, *system.also]) & (rows["metric"] == _METRIC)
    rows = rows[is_its & rows["dataset"].isin(tables)]
    if rows.empty:
        return ""
    own = rows[rows["model"] == system.name]
    return as_fraction(next((own if len(own) else rows).itertuples()))


def _rows(data: _Data, records: Sequence[ResultRecord], papers: Papers) -> list[dict[str, str]]:
    rows = []
    for system, printed, record, ours in _systems(data, records, papers):
        row = {
            "system": system.name,
            "year": str(system.year),
            "source": system.source,
            "MAP, printed": printed,
            "ours": "",
            "seeds": "",
            "parameters": "",
            "s/epoch": "",
            "run": "",
        }
        if record and ours:
            row |= {
                "ours": format_measured(ours),
                "seeds": str(len(record.seeds)),
                "parameters": f"{record.parameters:,}",
                "s/epoch": format_seconds(record),
                "run": f"`{run_name(record)}`",
            }
        rows.append(row)
    return rows
