"""The matrix that opens RESULTS.md: a row for each row of the papers' tables that a record answers."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from answer_ranking.evaluation.comparisons import is_rule, tested_metric
from answer_ranking.evaluation.papers import Papers
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import METRIC_TITLES, decimals_of, format_measured, format_seconds
from answer_ranking.reports.result_rows import conditions_of, run_name

REPRODUCED, CLOSE, SHORT, OTHER_EDITION = "reproduced", "within 0.02", "short", "other edition"
MARGIN = 0.02
"""The standard error that WikiQA's test questions give MAP."""


def results_matrix(records: Iterable[ResultRecord], papers: Papers) -> pd.DataFrame:
    """Set each main record of a trained model beside the value that its paper prints.

    Example:
        >>> from answer_ranking.evaluation.papers import read_papers
        >>> len(results_matrix([], read_papers()))
        0
    """
    rows = []
    for record in records:
        if record.main and not is_rule(record) and record.split == "test":
            row = _row(record, papers)
            if row:
                rows.append(row)
    return pd.DataFrame(rows)


def verdict(printed: float, measured: dict[str, Any], *, same_edition: bool = True) -> str:
    """Judge a mean and its 95 % interval by the printed value.

    It is "reproduced" where the interval reaches the printed value, or lies above it; "within 0.02" where it
    lies below, by no more than that with its lower end; else "short". "other edition" says that the data
    differ from the paper's.

    Example:
        >>> [verdict(0.712, {"mean": mean, "ci95": 0.008}) for mean in (0.706, 0.702, 0.69)]
        ['reproduced', 'within 0.02', 'short']
    """
    if not same_edition:
        return OTHER_EDITION
    interval = measured["ci95"] or 0
    if measured["mean"] + interval >= printed:
        return REPRODUCED
    return CLOSE if measured["mean"] - interval >= printed - MARGIN else SHORT


def counted(matrix: pd.DataFrame) -> dict[str, int]:
    """Count the rows of each verdict, the best one first."""
    if matrix.empty:
        return {}
    counts = matrix["verdict"].value_counts()
    return counts.reindex([REPRODUCED, CLOSE, SHORT, OTHER_EDITION]).dropna().astype(int).to_dict()


def _row(record: ResultRecord, papers: Papers) -> dict[str, str] | None:
    _, printed = papers.printed_row(record)
    metric = tested_metric(printed)
    ours = papers.comparable_metrics(record).get(metric)
    if metric not in printed or ours is None:
        return None
    value = printed[metric]
    same_edition = not papers.printed_edition(record)
    return {
        "experiment": f"{record.model}, {record.dataset} {conditions_of(record)}".rstrip(),
        "metric": METRIC_TITLES[metric],
        "printed": value,
        "ours": format_measured(ours, decimals=max(decimals_of(value), 3)),
        "verdict": verdict(float(value), ours, same_edition=same_edition),
        "seeds": str(len(record.seeds)),
        "s/epoch": format_seconds(record),
        "MiB": "–" if record.peak_memory is None else f"{record.peak_memory:,}",
        "commit": record.commit[:7] or "–",
        "check": _check(record),
    }


def _check(record: ResultRecord) -> str:
    """Fold the commands away: the one that checks the row, and the one that makes it."""
    check = f"answer-ranking reproduce --check {run_name(record)}"
    commands = f"<code>{check}</code><br><code>{record.command}</code>"
    return f"<details><summary>commands</summary>{commands}</details>"
