"""The page of the field: every system that the papers have or quote, printed and ours, by year."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.papers import Papers, System
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
            values = _printed_and_ours(data, of, papers)
            if len(values) >= _FEWEST:
                orders.append(order_of(values, data.title, equal_budgets=equal_budgets))
    corrected = holm_correction([each.p for each in orders])
    orders = [replace(each, p=float(p)) for each, p in zip(orders, corrected, strict=True)]
    field_searched = any(each.paper == "field" for each in searched)
    return render("field_finding.md.j2", orders=orders, field_searched=field_searched)


def _printed_and_ours(
    data: _Data, records: Sequence[ResultRecord], papers: Papers
) -> dict[str, tuple[float, float]]:
    """Find MAP of the systems that have both a printed value and a record."""
    found = {}
    for system in papers.systems:
        record = papers.quoted_record(records, data.dataset, system.name)
        printed = printed_map(system, data.tables, papers) if record else ""
        if record and printed:
            found[system.name] = float(printed), papers.comparable_metrics(record)[_METRIC]["mean"]
    return found


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
    data = _DATA[0]
    points: dict[str, list[float | None]] = {}
    for system in papers.systems:
        record = papers.quoted_record(records, data.dataset, system.name)
        if record is None:
            continue
        printed = printed_map(system, data.tables, papers)
        ours = round(papers.comparable_metrics(record)[_METRIC]["mean"], 4)
        points[system.name] = [system.year, float(printed) if printed else None, ours, record.parameters]
    return points


def printed_map(system: System, tables: Sequence[str], papers: Papers) -> str:
    """Give the MAP that a paper prints for a system, as a fraction; "" for none.

    The first row under the system's own name counts, else the first one under another name of it.
    """
    printed = papers.printed
    rows = printed[printed["dataset"].isin(tables) & (printed["metric"] == _METRIC)]
    own, also = rows["model"] == system.name, rows["model"].isin(system.also)
    rows = pd.concat([rows[own], rows[also]])
    if rows.empty:
        return ""
    row = rows.iloc[0]
    return f"{float(row['value']) / 100:.4f}" if row["percent"] else row["value"]


def _rows(data: _Data, records: Sequence[ResultRecord], papers: Papers) -> list[dict[str, str]]:
    rows = []
    for system in papers.systems:
        printed = printed_map(system, data.tables, papers)
        record = papers.quoted_record(records, data.dataset, system.name)
        if record is None and not printed:
            continue
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
        if record is not None:
            row |= {
                "ours": format_measured(papers.comparable_metrics(record)[_METRIC]),
                "seeds": str(len(record.seeds)),
                "parameters": f"{record.parameters:,}",
                "s/epoch": format_seconds(record),
                "run": f"`{run_name(record)}`",
            }
        rows.append(row)
    return rows
