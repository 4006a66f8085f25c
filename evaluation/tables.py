"""Tables in plain text, for the terminal, and in Markdown, for the documents."""

from collections.abc import Sequence
from typing import Any

from answer_ranking.evaluation.metrics import METRICS
from answer_ranking.evaluation.papers import Papers, read_papers
from answer_ranking.evaluation.records import ResultRecord

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
    """Set a table in plain text, the first column to the left and the others to the right."""
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
    """Set a table in Markdown, the first column to the left and the others to the right."""
    alignment = [":---", *["---:"] * (len(header) - 1)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in [header, *rows]]
    lines = ["| " + " | ".join(row) + " |" for row in [escaped[0], alignment, *escaped[1:]]]
    return "\n".join(lines)


def format_measured(summary: dict[str, Any], *, scale: int = 1, decimals: int = 3) -> str:
    """Write a metric of a record: mean and half width of the 95 % interval; `scale` 100 gives percent."""
    text = f"{summary['mean'] * scale:.{decimals}f}"
    return text if summary["ci95"] is None else f"{text} ± {summary['ci95'] * scale:.{decimals}f}"


def format_difference(summary: dict[str, Any], printed: str, *, scale: int = 1) -> str:
    """Write the difference of a measured mean from a printed value, with its sign and the printed digits."""
    places = decimals_of(printed)
    # Adding 0 turns -0.0 into 0.0.
    return f"{round(summary['mean'] * scale - float(printed), places) + 0:+.{places}f}"


def decimals_of(printed: str) -> int:
    """Count the digits after the point of a printed number."""
    return len(printed.partition(".")[2])


def format_seconds(record: ResultRecord, *, whole_training: bool = False) -> str:
    """Write the seconds per epoch, or of all epochs, with two digits at least; a dash for no training."""
    seconds = record.seconds_per_epoch
    if seconds is None:
        return "–"
    if whole_training:
        seconds *= record.configuration["epochs"]
    # From here on two digits would be written with an exponent.
    return f"{seconds:.0f}" if seconds >= 99.5 else f"{seconds:.2g}"


def short_vectors(embeddings: str) -> str:
    """Name recorded word vectors by their short name; a dash for none."""
    from answer_ranking.data_prep.word_vectors import short_name

    return short_name(embeddings) if embeddings else "–"


def paper_ours_table(records: Sequence[ResultRecord], papers: Papers | None = None) -> str:
    """Set records beside the papers' values in plain text, for the end of a script.

    All values are fractions. Where the printed values count questions without a correct answer as 0 (TrecQA
    raw), ours are given both ways, and the difference is that of the same way.
    """
    papers = papers or read_papers()
    groups: dict[str, list[ResultRecord]] = {}
    for record in records:
        title = " ".join(filter(None, (record.dataset, record.variant, record.protocol, record.split)))
        groups.setdefault(title, []).append(record)
    tables = []
    for title, group in groups.items():
        metrics = [metric for metric in METRICS if any(metric in record.metrics for record in group)]
        rows = [row for record in group for row in _paper_ours_rows(record, metrics, papers)]
        header = [title, *[METRIC_TITLES[metric] for metric in metrics], "parameters", "s/epoch"]
        tables.append(text_table(header, rows))
    return "\n\n".join(tables)


def _paper_ours_rows(record: ResultRecord, metrics: Sequence[str], papers: Papers) -> list[list[str]]:
    source, printed = papers.printed_row(record)
    compared = papers.comparable_metrics(record)
    seeds = "1 seed" if len(record.seeds) == 1 else f"{len(record.seeds)} seeds"

    def measured(label: str, values: dict[str, dict[str, Any]]) -> list[str]:
        name = ", ".join(filter(None, (record.model, "ours", label, seeds)))
        cells = [format_measured(values[metric]) if metric in values else "–" for metric in metrics]
        return [name, *cells, f"{record.parameters:,}", format_seconds(record)]

    rows = []
    if printed:
        names = [*metrics, "params", "seconds_per_epoch"]
        rows.append([f"{record.model} ({source})", *[printed.get(name, "–") for name in names]])
    rows.append(measured("unanswerable = 0" if compared is not record.metrics else "", compared))
    if printed and not papers.printed_edition(record):
        both = [metric in printed and metric in compared for metric in metrics]
        differences = [
            format_difference(compared[metric], printed[metric]) if known else ""
            for metric, known in zip(metrics, both, strict=True)
        ]
        rows.append(["  difference", *differences, "", ""])
    if compared is not record.metrics:
        rows.append(measured("unanswerable left out", record.metrics))
    return rows
