"""The matrix that opens RESULTS.md: a row for each row of the papers' tables that a record answers."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from answer_ranking.evaluation.comparisons import is_rule, tested_metric
from answer_ranking.evaluation.papers import Papers
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import METRIC_TITLES, decimals_of, format_measured, format_seconds
from answer_ranking.reports.result_rows import conditions_of, run_name

ABOVE, REPRODUCED, CLOSE, SHORT = "above", "reproduced", "within 0.02", "short"
FEW_SEEDS, OTHER_EDITION = "few seeds", "other edition"
VERDICTS = (REPRODUCED, ABOVE, CLOSE, SHORT, FEW_SEEDS, OTHER_EDITION)
FEWEST_SEEDS = 3
"""The interval of two has 12.7 standard errors to each side: hardly any value lies without."""
MARGIN = 0.02
"""The standard error that WikiQA's test questions give MAP."""
VERDICT, VERDICT_BY_MRR = "verdict", "MRR, verdict"
"""The columns of the verdicts: by the table's metric, and by MRR where it is printed beside it."""


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
    """Judge the printed value by a mean over seeds and its 95 % interval.

    It is "reproduced" where it lies within the interval, "above" where the whole interval lies above it.
    Where the interval lies below, it is "within 0.02" if its lower end is at most that far below, else
    "short". "few seeds", fewer than three, are not judged. "other edition" says that the data differ from the
    paper's.

    Example:
        >>> means = (0.75, 0.706, 0.702, 0.69)
        >>> [verdict(0.712, {"mean": mean, "ci95": 0.008, "per_seed": [mean] * 5}) for mean in means]
        ['above', 'reproduced', 'within 0.02', 'short']
    """
    if not same_edition:
        return OTHER_EDITION
    if len(measured["per_seed"]) < FEWEST_SEEDS:
        return FEW_SEEDS
    mean, half_width = measured["mean"], measured["ci95"]
    if mean - half_width > printed:
        return ABOVE
    if mean + half_width >= printed:
        return REPRODUCED
    return CLOSE if mean - half_width >= printed - MARGIN else SHORT


def counted(matrix: pd.DataFrame, column: str = VERDICT) -> dict[str, int]:
    """Count the rows of each verdict in a column, in the order of `VERDICTS`."""
    if matrix.empty:
        return {}
    counts = matrix[column].value_counts()
    return counts.reindex(VERDICTS).dropna().astype(int).to_dict()


def _row(record: ResultRecord, papers: Papers) -> dict[str, str] | None:
    _, printed = papers.printed_row(record)
    metric = tested_metric(printed)
    ours = papers.comparable_metrics(record)
    if metric not in printed or metric not in ours:
        return None
    same_edition = not papers.printed_edition(record)
    by_metric = _judged(printed[metric], ours[metric], same_edition)
    by_mrr = ["", "", ""]
    if metric != "mrr" and "mrr" in printed and "mrr" in ours:
        by_mrr = _judged(printed["mrr"], ours["mrr"], same_edition)
    return {
        "experiment": f"{record.model}, {record.dataset} {conditions_of(record)}".rstrip(),
        "metric": METRIC_TITLES[metric],
        **dict(zip(("printed", "ours", VERDICT), by_metric, strict=True)),
        **dict(zip(("MRR, printed", "MRR, ours", VERDICT_BY_MRR), by_mrr, strict=True)),
        "seeds": str(len(record.seeds)),
        "s/epoch": format_seconds(record),
        "MiB": "–" if record.peak_memory is None else f"{record.peak_memory:,}",
        "commit": _commits(record),
        "check": _check(record),
    }


def _judged(printed: str, ours: dict[str, Any], same_edition: bool) -> list[str]:
    """Give a printed value, ours, and the verdict."""
    measured = format_measured(ours, decimals=max(decimals_of(printed), 3))
    return [printed, measured, verdict(float(printed), ours, same_edition=same_edition)]


def _commits(record: ResultRecord) -> str:
    """Name the commit that trained the seeds, or those; a dash for one that is not known."""
    known = [record.commit] if record.commit else record.commits
    return ", ".join(dict.fromkeys(each[:7] or "–" for each in known)) or "–"


def _check(record: ResultRecord) -> str:
    """Fold the commands away: the one that checks the row, and the one that makes it."""
    check = f"answer-ranking reproduce --check {run_name(record)}"
    commands = f"<code>{check}</code><br><code>{record.command}</code>"
    return f"<details><summary>commands</summary>{commands}</details>"
