"""Tables for the terminal and the documents, and what the papers print (`papers.toml`, which explains it)."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.evaluation.metrics import METRICS
from answer_ranking.evaluation.records import ResultRecord

PAPERS_FILE = Path(__file__).with_name("papers.toml")
PRINTED_COLUMNS = ["paper", "table", "dataset", "model", "metric", "value", "percent"]

# The accuracy that is printed for a test split; it is our precision at 1.
_ACCURACIES = {"test": "accuracy_test1", "test2": "accuracy_test2"}

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


def wrapped(text: str, indent: str = "") -> str:
    """Break a paragraph into lines of at most 120 characters."""
    return fill(text, 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


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
    from answer_ranking.data_prep.word_vectors.load import short_name

    return short_name(embeddings) if embeddings else "–"


@dataclass(frozen=True)
class Paper:
    """One paper: the keys of its entry in `papers.toml`, explained there."""

    title: str
    own_models: list[str]
    baseline: str = ""
    baselines: dict[str, str] = field(default_factory=dict)
    vectors: str = ""
    main_rows: list[list[str]] = field(default_factory=list)

    def measured(self, model: str) -> bool:
        """Tell whether the paper measured a row's model itself; it quotes the others."""
        return model.split()[0] in self.own_models

    def baseline_of(self, model: str) -> str:
        """Name the model with which another one is compared: itself for the baseline, "" for none."""
        return self.baselines.get(model, self.baseline)


@dataclass(frozen=True)
class Papers:
    """All papers.

    Attributes:
        papers: by name.
        printed: the printed values, kept as text, in the papers' order: a row per value with the columns
            `PRINTED_COLUMNS`.
        datasets: what differs between our data sets and the printed ones.
        claims: of the form "A beats B", tested by `evaluation.studies.claims`.
    """

    papers: dict[str, Paper]
    printed: pd.DataFrame
    datasets: dict[str, dict[str, Any]]
    claims: list[dict[str, Any]]

    def answers(self, record: ResultRecord, dataset: str) -> bool:
        """Tell whether a record was made on the data set that a table names, in whatever edition."""
        name, _, variant = dataset.partition("/")
        printed_as = self.datasets.get(record.dataset, {}).get("printed_as")
        own = (record.dataset, f"{record.dataset}-{record.protocol}", printed_as)
        return name in own and variant in ("", record.variant)

    def unavailable(self, dataset: str) -> str:
        """Say why the rows of a table's data set cannot be run here; "" where they can."""
        return self.datasets.get(dataset.partition("/")[0], {}).get("unavailable", "")

    def counts_all(self, dataset: str, protocol: str) -> bool:
        """Tell whether the values printed for a data set count questions without a correct answer as 0."""
        return self.datasets.get(f"{dataset}-{protocol}", {}).get("count_all", False)

    def comparable_metrics(self, record: ResultRecord) -> dict[str, dict[str, Any]]:
        """Return a record's metrics in the way the papers compute theirs, see `counts_all`."""
        counts_all = self.counts_all(record.dataset, record.protocol)
        return record.metrics_count_all if counts_all else record.metrics

    def printed_edition(self, record: ResultRecord) -> str:
        """Name the edition of the data set that the papers used, where the record's is another; else ""."""
        return self.datasets.get(record.dataset, {}).get("printed_edition", "")

    def footnote(self, record: ResultRecord) -> str:
        """Explain the difference of the editions below a table."""
        return self.datasets.get(record.dataset, {}).get("footnote", "")

    def printed_row(self, record: ResultRecord) -> tuple[str, dict[str, str]]:
        """Find the row that a record answers: the table's name and the row's values as fractions, by metric.

        The name ("hyperqa, Table 2") has the edition of the data set where it is not the record's. Of several
        tables with the row, the first that prints a metric counts; "" and {} where there is none.
        """
        rows = self.printed
        rows = rows[(rows["paper"] == record.paper) & (rows["model"] == record.model)]
        rows = rows[[self.answers(record, dataset) for dataset in rows["dataset"]]]
        if record.split != "test":
            # Of a second test split the papers print an accuracy only.
            rows = rows[(rows["metric"] == "accuracy_test2") & (record.split == "test2")]
        if rows.empty:
            return "", {}
        rows = rows.drop_duplicates("metric")
        printed = dict(zip(rows["metric"], map(_as_fraction, rows.itertuples()), strict=True))
        # An accuracy on test is our precision at 1.
        if (name := _ACCURACIES[record.split]) in printed:
            printed = {"p@1": printed[name]} | printed
        edition = self.printed_edition(record)
        title = f"{record.paper}, Table {rows['table'].iloc[0]}" + (f", on {edition}" if edition else "")
        return title, printed


def _as_fraction(row: Any) -> str:
    quality = row.metric in ("map", "mrr", "p@1") or row.metric.startswith("accuracy")
    return f"{float(row.value) / 100:.4f}" if row.percent and quality else row.value


def accuracies(record: ResultRecord) -> dict[str, dict[str, Any]]:
    """Return a record's precision at 1 on dev and test under the papers' names of accuracies."""
    measured = {"accuracy_dev": record.metrics_dev}
    if record.split in _ACCURACIES:
        measured[_ACCURACIES[record.split]] = record.metrics
    return {name: metrics["p@1"] for name, metrics in measured.items() if "p@1" in metrics}


@cache
def read_papers(path: str | Path = PAPERS_FILE) -> Papers:
    """Read the facts about the papers; a UserError says what is wrong with the file."""
    try:
        content = tomllib.loads(decode_text(read_content(path), path))
        papers, values = {}, []
        for name, entry in content["papers"].items():
            for table in entry.pop("tables"):
                for model, *cells in table["rows"]:
                    row = [name, table["table"], table["dataset"], model]
                    printed = zip(table["columns"], cells, strict=True)
                    values += [[*row, *each, table.get("percent", False)] for each in printed if each[1]]
            papers[name] = Paper(**entry)
    except KeyError as error:
        raise UserError(f"{path}: an entry lacks the key {error}. Add it.") from error
    except (TypeError, ValueError) as error:
        raise UserError(f"{path} is not as its first lines say ({error}). Correct it.") from error
    printed = pd.DataFrame(values, columns=PRINTED_COLUMNS)
    return Papers(papers, printed, content.get("datasets", {}), content.get("claims", []))


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
