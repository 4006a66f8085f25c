"""Tables in plain text, for the terminal, and in Markdown, for the documents."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from evaluation.paper_results import (
    answers,
    comparable_metrics,
    edition_of_printed,
    prints_percent,
    with_accuracy_as_precision,
)
from evaluation.ranking import METRICS
from evaluation.records import ResultRecord

METRIC_TITLES = {
    "map": "MAP",
    "mrr": "MRR",
    "p@1": "P@1",
    "ndcg@10": "nDCG@10",
    "accuracy_dev": "accuracy, dev",
    "accuracy_test1": "accuracy, test 1",
    "accuracy_test2": "accuracy, test 2",
}


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Set a table in plain text, the first column to the left and the others to the right.

    Args:
        header: titles of the columns.
        rows: as many cells each.

    Returns:
        Lines joined by line feeds.

    Example:
        >>> print(text_table(["model", "MAP"], [["RR", "0.642"], ["WO+RR", "0.684"]]))
        model    MAP
        ------------
        RR     0.642
        WO+RR  0.684
    """
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(line)
        )
        for line in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:]])


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Set a table in Markdown, the first column to the left and the others to the right.

    Args:
        header: titles of the columns.
        rows: as many cells each.

    Returns:
        Lines joined by line feeds.

    Example:
        >>> print(markdown_table(["model", "MAP"], [["a|b", "0.642"]]))
        | model | MAP |
        | :--- | ---: |
        | a\|b | 0.642 |
    """
    alignment = [":---", *["---:"] * (len(header) - 1)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in [header, *rows]]
    lines = ["| " + " | ".join(row) + " |" for row in [escaped[0], alignment, *escaped[1:]]]
    return "\n".join(lines)


def format_measured(summary: dict[str, Any], *, scale: int = 1, decimals: int = 3) -> str:
    """Write a metric of a record: mean and half width of the 95 % interval.

    Args:
        summary: `{"mean", "ci95", "per_seed"}`.
        scale: 1 for fractions, 100 for percent.
        decimals: places after the point.

    Returns:
        Such as "0.708 ± 0.006".

    Example:
        >>> format_measured({"mean": 0.7081, "ci95": 0.0062, "per_seed": [0.7, 0.7162]})
        '0.708 ± 0.006'
        >>> format_measured({"mean": 0.7081, "ci95": None, "per_seed": [0.7081]}, scale=100, decimals=2)
        '70.81'
    """
    text = f"{summary['mean'] * scale:.{decimals}f}"
    return text if summary["ci95"] is None else f"{text} ± {summary['ci95'] * scale:.{decimals}f}"


def format_difference(
    summary: dict[str, Any], printed: str, *, scale: int = 1, decimals: int | None = None
) -> str:
    """Write by how much a measured mean differs from a printed value.

    Args:
        summary: `{"mean", "ci95", "per_seed"}`.
        printed: the paper's value as printed.
        scale: 100 where the paper prints percent.
        decimals: places after the point; None for as many as printed.

    Returns:
        With its sign, such as "-0.004".

    Example:
        >>> format_difference({"mean": 0.708, "ci95": None, "per_seed": [0.708]}, "0.712")
        '-0.004'
    """
    places = decimals_of(printed) if decimals is None else decimals
    # Adding 0 turns -0.0 into 0.0.
    return f"{round(summary['mean'] * scale - float(printed), places) + 0:+.{places}f}"


def decimals_of(printed: str) -> int:
    """Count the places after the point of a printed number.

    Example:
        >>> decimals_of("0.7582")
        4
    """
    return len(printed.partition(".")[2])


def format_seeds(record: ResultRecord) -> str:
    """Write the number of seeds.

    Example:
        >>> format_seeds(ResultRecord(paper="", dataset="", protocol="", split="", model="", seeds=[0, 1],
        ...     metrics={}, parameters=0, seconds_per_epoch=None, command="", versions={}))
        '2 seeds'
    """
    return "1 seed" if len(record.seeds) == 1 else f"{len(record.seeds)} seeds"


def format_seconds(record: ResultRecord, *, whole_training: bool = False) -> str:
    """Write the seconds per epoch, or of all epochs, or a dash where nothing is trained.

    Example:
        >>> [format_seconds(ResultRecord(paper="", dataset="", protocol="", split="", model="", seeds=[0],
        ...     metrics={}, parameters=0, seconds_per_epoch=seconds, command="", versions={}))
        ...     for seconds in (None, 0.213, 99.4, 588.7)]
        ['–', '0.21', '99', '589']
    """
    seconds = record.seconds_per_epoch
    if seconds is None:
        return "–"
    if whole_training:
        seconds *= record.configuration["epochs"]
    # From here on two digits would be written with an exponent.
    return f"{seconds:.0f}" if seconds >= 99.5 else f"{seconds:.2g}"


def printed_values(record: ResultRecord, paper_results: pd.DataFrame) -> tuple[str, dict[str, str]]:
    """Find the paper's row that a record answers.

    Args:
        record: the record.
        paper_results: what `read_paper_results` returns.

    Returns:
        The table's name ("hyperqa, Table 2") and the row's values as fractions, by metric; "" and {} where
        the paper has no such row. Where several tables have the row, the first that prints a metric counts.
        An accuracy on test stands under "p@1" as well. The name tells the edition of the data set where it is
        another than the record's.

    Example:
        >>> table = pd.DataFrame([["hyperqa", "2", "wikiqa", "HyperQA", "map", "0.712"]],
        ...     columns=["paper", "table", "dataset", "model", "metric", "value"])
        >>> record = ResultRecord(paper="hyperqa", dataset="wikiqa", protocol="filtered", split="test",
        ...     model="HyperQA", seeds=[0], metrics={}, parameters=0, seconds_per_epoch=None, command="")
        >>> printed_values(record, table)
        ('hyperqa, Table 2', {'map': '0.712'})
    """
    rows = paper_results[(paper_results["paper"] == record.paper) & (paper_results["model"] == record.model)]
    rows = rows[[answers(record, dataset) for dataset in rows["dataset"]]]
    if record.split != "test":
        # All that is printed of a second test split is an accuracy.
        rows = rows[(rows["metric"] == "accuracy_test2") & (record.split == "test2")]
    if rows.empty:
        return "", {}
    rows = rows.drop_duplicates("metric")
    table = rows["table"].iloc[0]
    printed = with_accuracy_as_precision(dict(zip(rows["metric"], rows["value"], strict=True)), record.split)
    if prints_percent(record.paper, table):
        printed |= {metric: f"{float(printed[metric]) / 100:.4f}" for metric in METRICS if metric in printed}
    edition = edition_of_printed(record)
    return f"{record.paper}, Table {table}" + (f", on {edition}" if edition else ""), printed


def paper_ours_table(records: Sequence[ResultRecord], paper_results: pd.DataFrame) -> str:
    """Set records beside the papers' values in plain text, for the end of a script.

    Fractions throughout. Where the printed values count questions without a correct answer as 0 (TrecQA raw),
    ours are given both ways, and the difference is taken from those that do the same.

    Args:
        records: the records; those of one data set, protocol and split share a table.
        paper_results: what `read_paper_results` returns.

    Returns:
        The tables.

    Example:
        >>> summary = {"mean": 0.708, "ci95": 0.006, "per_seed": [0.707, 0.709]}
        >>> record = ResultRecord(paper="hyperqa", dataset="wikiqa", protocol="filtered", split="test",
        ...     model="HyperQA", seeds=[0, 1], metrics={"map": summary}, parameters=90302,
        ...     seconds_per_epoch=0.21, command="", versions={})
        >>> printed = pd.DataFrame([["hyperqa", "2", "wikiqa", "HyperQA", "map", "0.712"]],
        ...     columns=["paper", "table", "dataset", "model", "metric", "value"])
        >>> print(paper_ours_table([record], printed))
        wikiqa filtered test                  MAP  parameters  s/epoch
        --------------------------------------------------------------
        HyperQA (hyperqa, Table 2)          0.712           –        –
        HyperQA, ours, 2 seeds      0.708 ± 0.006      90,302     0.21
          difference                       -0.004
    """
    groups: dict[str, list[ResultRecord]] = {}
    for record in records:
        title = " ".join(filter(None, (record.dataset, record.variant, record.protocol, record.split)))
        groups.setdefault(title, []).append(record)
    tables = []
    for title, group in groups.items():
        metrics = [metric for metric in METRICS if any(metric in record.metrics for record in group)]
        rows = [row for record in group for row in _paper_ours_rows(record, metrics, paper_results)]
        header = [title, *[METRIC_TITLES[metric] for metric in metrics], "parameters", "s/epoch"]
        tables.append(text_table(header, rows))
    return "\n\n".join(tables)


def _paper_ours_rows(
    record: ResultRecord, metrics: Sequence[str], paper_results: pd.DataFrame
) -> list[list[str]]:
    source, printed = printed_values(record, paper_results)
    compared = comparable_metrics(record)

    def measured(label: str, values: dict[str, dict[str, Any]]) -> list[str]:
        name = ", ".join(filter(None, (record.model, "ours", label, format_seeds(record))))
        cells = [format_measured(values[metric]) if metric in values else "–" for metric in metrics]
        return [name, *cells, f"{record.parameters:,}", format_seconds(record)]

    rows = []
    if printed:
        names = [*metrics, "params", "seconds_per_epoch"]
        rows.append([f"{record.model} ({source})", *[printed.get(name, "–") for name in names]])
    rows.append(measured("unanswerable = 0" if compared is not record.metrics else "", compared))
    if printed and not edition_of_printed(record):
        differences = [
            format_difference(compared[metric], printed[metric])
            if metric in printed and metric in compared
            else ""
            for metric in metrics
        ]
        rows.append(["  difference", *differences, "", ""])
    if compared is not record.metrics:
        rows.append(measured("unanswerable left out", record.metrics))
    return rows
