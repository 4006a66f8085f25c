"""Numbers and plain tables as texts, and the papers' values beside ours for the terminal."""

from collections.abc import Mapping, Sequence
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
    columns = []
    for number, cells in enumerate(zip(header, *rows, strict=True)):
        width = max(map(len, cells))
        justify = str.rjust if number else str.ljust
        columns.append([justify(cell, width) for cell in cells])
    first, *lines = map("  ".join, zip(*columns, strict=True))
    return "\n".join(map(str.rstrip, [first, "-" * len(first), *lines]))


def format_measured(summary: Mapping[str, Any], *, scale: int = 1, decimals: int = 3) -> str:
    """Write a metric of a record: mean and half width of the 95 % interval; `scale` 100 gives percent."""
    text = f"{summary['mean'] * scale:.{decimals}f}"
    if summary["ci95"] is None:
        return text
    return f"{text} ± {summary['ci95'] * scale:.{decimals}f}"


def format_difference(summary: Mapping[str, Any], printed: str, *, scale: int = 1) -> str:
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
    from answer_ranking.data_prep.word_vectors.load import short_name

    return short_name(embeddings) if embeddings else "–"


def paper_ours_table(
    records: Sequence[ResultRecord],
    papers: Papers | None = None,
    recorded: Sequence[ResultRecord] = (),
) -> str:
    """Set records beside the papers' values in plain text, for the end of a script.

    All values are fractions. Where the printed values count questions without a correct answer as 0 (TrecQA
    raw), ours are given both ways, and the difference is that of the same way. Of the records that are kept,
    `recorded`, the main one of the same row stands below, with its seeds, epochs and word vectors.
    """
    papers = papers or read_papers()
    groups: dict[str, list[ResultRecord]] = {}
    for record in records:
        subject = (record.dataset, record.variant, record.protocol, record.split)
        title = " ".join(filter(None, subject))
        groups.setdefault(title, []).append(record)
    tables = []
    for title, group in groups.items():
        metrics = measured_in(group)
        rows: list[list[str]] = []
        for record in group:
            rows += _paper_ours_rows(record, metrics, papers)
            rows += _recorded_rows(record, metrics, papers, recorded)
        titles = [METRIC_TITLES[metric] for metric in metrics]
        tables.append(text_table([title, *titles, "parameters", "s/epoch"], rows))
    return "\n\n".join(tables)


def measured_in(records: Sequence[ResultRecord]) -> list[str]:
    """Name the metrics that some of the records have, in the order of `METRICS`."""
    known: set[str] = set()
    for record in records:
        known.update(record.metrics)
    return [metric for metric in METRICS if metric in known]


def _paper_ours_rows(
    record: ResultRecord,
    metrics: Sequence[str],
    papers: Papers,
) -> list[list[str]]:
    source, printed = papers.printed_row(record)
    compared = papers.comparable_metrics(record)
    both_ways = compared is not record.metrics
    rows = []
    if printed:
        names = (*metrics, "params", "seconds_per_epoch")
        rows.append([f"{record.model} ({source})", *(printed.get(name, "–") for name in names)])
    label = "unanswerable = 0" if both_ways else ""
    rows.append(_ours_row(record, label, compared, metrics))
    if printed and not papers.printed_edition(record):
        rows.append(["  difference", *_differences(compared, printed, metrics), "", ""])
    if both_ways:
        rows.append(_ours_row(record, "unanswerable left out", record.metrics, metrics))
    return rows


def _recorded_rows(
    record: ResultRecord,
    metrics: Sequence[str],
    papers: Papers,
    recorded: Sequence[ResultRecord],
) -> list[list[str]]:
    """Show the main record of the same model and test, unless it is this one."""
    same = ("paper", "dataset", "variant", "protocol", "split", "model")
    for each in recorded:
        alike = all(getattr(each, name) == getattr(record, name) for name in same)
        if each.main and alike and each.created != record.created:
            epochs = each.configuration.get("epochs", "?")
            label = f"recorded with {epochs} epochs, {short_vectors(each.embeddings)}"
            return [_ours_row(each, label, papers.comparable_metrics(each), metrics)]
    return []


def _ours_row(
    record: ResultRecord,
    label: str,
    values: Mapping[str, Any],
    metrics: Sequence[str],
) -> list[str]:
    n = len(record.seeds)
    seeds = "1 seed" if n == 1 else f"{n} seeds"
    name = ", ".join(filter(None, (record.model, "ours", label, seeds)))
    cells = [format_measured(values[metric]) if metric in values else "–" for metric in metrics]
    return [name, *cells, f"{record.parameters:,}", format_seconds(record)]


def _differences(
    ours: Mapping[str, Any],
    printed: Mapping[str, str],
    metrics: Sequence[str],
) -> list[str]:
    cells = []
    for metric in metrics:
        known = metric in printed and metric in ours
        cells.append(format_difference(ours[metric], printed[metric]) if known else "")
    return cells
