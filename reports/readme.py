"""The parts of README.md that come from the records."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from answer_ranking.evaluation.comparisons import main_record
from answer_ranking.evaluation.figures import best_trade_offs
from answer_ranking.evaluation.metrics import PRINTED_METRICS
from answer_ranking.evaluation.papers import Papers
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import METRIC_TITLES, decimals_of, format_measured
from answer_ranking.reports.pages import render
from answer_ranking.reports.studies.claims import ClaimResult, count_verdicts
from answer_ranking.reports.studies.plan_page import Planned

BAG_OF_WORDS = "HyperQA"
"""The paper's model that sums word vectors, as tables name it."""


@dataclass(frozen=True)
class Point:
    """Quality and speed of a model on WikiQA at equal budgets."""

    name: str
    quality: dict[str, float | None]
    questions_per_second: float


def headline_block(
    claims: Sequence[ClaimResult], planned: Sequence[Planned], points: Mapping[str, Sequence[float]]
) -> str:
    """Say how many claims hold, and what a bag of words reaches at which speed; "" without records.

    `planned` are the tests of the plan, of which some have been run.

    Example:
        >>> headline_block([], [], {})
        ''
    """
    best = trade_offs(points)[:1]
    return render(
        "headline.md.j2",
        tested=len(claims),
        counts=count_verdicts(claims),
        planned=len(planned),
        run=Counter(each.verdict for each in planned if each.test is not None),
        bag=_point(points, BAG_OF_WORDS) if BAG_OF_WORDS in points else None,
        best=best[0] if best else None,
    )


def trade_offs(points: Mapping[str, Sequence[float]]) -> list[Point]:
    """Give the best trade-offs of quality and speed, from the best quality on."""
    return [_point(points, name) for name in best_trade_offs(points)]


def _point(points: Mapping[str, Sequence[float]], name: str) -> Point:
    speed, mean, half_width = points[name]
    return Point(name, {"mean": mean, "ci95": half_width or None}, speed)


def readme_block(
    records: Sequence[ResultRecord],
    papers: Papers,
    points: Mapping[str, Sequence[float]],
) -> str:
    """Write the README's tables: the papers' main rows that have a record, and the best trade-offs.

    Example:
        >>> from answer_ranking.evaluation.papers import read_papers
        >>> readme_block([], read_papers(), {})
        'No result is recorded yet.'
    """
    main = list(_main_rows(records, papers))
    count_all = [each for _, each in main if papers.counts_all(each.dataset, each.protocol)]
    return render(
        "readme.md.j2",
        main=_main_table(main, papers),
        count_all=bool(count_all),
        points=trade_offs(points),
    )


def _main_rows(
    records: Sequence[ResultRecord],
    papers: Papers,
) -> Iterator[tuple[str, ResultRecord]]:
    """Find the records of the papers' main rows, by the row's title."""
    for name, paper in papers.papers.items():
        for dataset, model in paper.main_rows:
            record = main_record(papers.answering(records, name, dataset), model)
            if record:
                yield f"{model}, {dataset}", record


def _main_table(main: Sequence[tuple[str, ResultRecord]], papers: Papers) -> pd.DataFrame:
    rows = []
    for title, record in main:
        printed, ours = papers.printed_row(record)[1], papers.comparable_metrics(record)
        row = {"paper / ours": title}
        for metric in PRINTED_METRICS:
            value = printed.get(metric, "–")
            measured = format_measured(ours[metric], decimals=max(decimals_of(value), 3))
            row[METRIC_TITLES[metric]] = f"{value} / {measured}"
        rows.append(row)
    return pd.DataFrame(rows)
