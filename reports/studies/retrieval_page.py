"""The page of the retrieval study, and its table for the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.records import read_studies
from answer_ranking.evaluation.retrieval_metrics import BASELINE, METRICS
from answer_ranking.evaluation.tables import format_measured, text_table
from answer_ranking.reports.pages import render

_TITLES = ("recall@1", "recall@10", "recall@100", "MRR@10")
_NEEDED = {
    "title",
    "embeddings",
    "seeds",
    "collection",
    "questions",
    "configuration",
    "conditions",
    "command",
}

Condition = Mapping[str, Any]


def retrieval_block(folder: Path) -> str:
    """Write the part of the page that comes from the records.

    Example:
        >>> retrieval_block(Path("/nowhere"))
        'The study has not been run yet.'
    """
    return render(
        "studies/retrieval.md.j2",
        records=read_studies(folder, _NEEDED).values(),
        best_of=best_of,
        baseline_of=baseline_of,
        significant=SIGNIFICANT,
    )


def best_of(conditions: Sequence[Condition]) -> Condition:
    """Find the system with the highest MRR@10."""
    return max(conditions, key=lambda each: each["metrics"]["mrr@10"]["mean"])


def baseline_of(conditions: Sequence[Condition]) -> Condition:
    """Find BM25."""
    return next(each for each in conditions if each["system"] == BASELINE)


def results_table(conditions: Sequence[Condition]) -> str:
    """Set the table as plain text."""
    rows = []
    for each in conditions:
        depth = f" (first {each['depth']})" if "depth" in each else ""
        values = [format_measured(each["metrics"][metric]) for metric in METRICS]
        p = f"{each['p']:.2g}" if "p" in each else ""
        rows.append([f"{each['system']}{depth}", *values, p, f"{each['milliseconds']:.1f}"])
    return text_table(["", *_TITLES, "p", "ms"], rows)
