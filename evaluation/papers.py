"""The facts about the papers and the values that they print: `papers.toml`, which explains itself."""

import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.evaluation.metrics import MAIN_METRICS
from answer_ranking.evaluation.records import ResultRecord

PAPERS_FILE = Path(__file__).with_name("papers.toml")
PRINTED_COLUMNS = ["paper", "table", "dataset", "model", "metric", "value", "percent"]

# The accuracy that is printed for a test split; it is our precision at 1.
_ACCURACIES = {"test": "accuracy_test1", "test2": "accuracy_test2"}


@dataclass(frozen=True)
class Paper:
    """One paper: the keys of its entry in `papers.toml`, explained there."""

    title: str
    own_models: list[str]
    baseline: str = ""
    baselines: dict[str, str] = field(default_factory=dict)
    vectors: str = ""
    main_rows: list[list[str]] = field(default_factory=list)
    beside: dict[str, list[str]] = field(default_factory=dict)

    def measured(self, model: str) -> bool:
        """Tell whether the paper measured a row's model itself; it quotes the others."""
        return model.split()[0] in self.own_models

    def baseline_of(self, model: str) -> str:
        """Name the model with which another one is compared: itself for the baseline, "" for none."""
        return self.baselines.get(model, self.baseline)


@dataclass(frozen=True)
class System:
    """A system that the papers have or quote: the keys of its entry in `papers.toml`, explained there."""

    name: str
    year: int
    source: str
    also: list[str] = field(default_factory=list)
    why: str = ""


@dataclass(frozen=True)
class Papers:
    """All papers.

    Attributes:
        papers: by name.
        printed: the printed values, kept as text, in the papers' order: a row per value with the columns
            `PRINTED_COLUMNS`.
        datasets: what differs between our data sets and the printed ones.
        claims: of the form "A beats B", tested by `reports.studies.claims`.
        systems: the systems that the papers have or quote, in the order of their years.
    """

    papers: dict[str, Paper]
    printed: pd.DataFrame
    datasets: dict[str, dict[str, Any]]
    claims: list[dict[str, Any]]
    systems: list[System] = field(default_factory=list)

    def system_name(self, model: str) -> str:
        """Give the name that our records have of a model in a paper's table."""
        return next((each.name for each in self.systems if model in each.also), model)

    def answers(self, record: ResultRecord, dataset: str) -> bool:
        """Tell whether a record was made on the data set that a table names, in whatever edition."""
        name, _, variant = dataset.partition("/")
        printed_as = self.datasets.get(record.dataset, {}).get("printed_as")
        own = (record.dataset, f"{record.dataset}-{record.protocol}", printed_as)
        return name in own and variant in ("", record.variant)

    def answering(self, records: Iterable[ResultRecord], paper: str, dataset: str) -> list[ResultRecord]:
        """Find the records on the test split of a data set that a paper's table names."""
        found = []
        for each in records:
            if (each.paper, each.split) == (paper, "test") and self.answers(each, dataset):
                found.append(each)
        return found

    def quoted_record(
        self,
        records: Iterable[ResultRecord],
        dataset: str,
        model: str,
        variants: Collection[str] = (),
    ) -> ResultRecord | None:
        """Find the record, of whatever paper, that answers a row which a paper quotes.

        It has its own paper's options: it is the main one there, or the only one. `variants` are the training
        sets that count, where the table names none; all if empty. None where there is no such record.
        """
        fitting = []
        for each in records:
            same = (each.model, each.split) == (self.system_name(model), "test")
            if same and self.answers(each, dataset) and (not variants or each.variant in variants):
                fitting.append(each)
        found = [each for each in fitting if each.main] or fitting
        return found[0] if len(found) == 1 else None

    def unavailable(self, dataset: str) -> str:
        """Say why the rows of a table's data set cannot be run here; "" where they can."""
        return self.datasets.get(dataset.partition("/")[0], {}).get("unavailable", "")

    def candidates(self, dataset: str) -> int:
        """Give the number of every question's candidates, one of them correct; 0 where it differs."""
        return self.datasets.get(dataset.partition("/")[0], {}).get("candidates", 0)

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
        values = map(as_fraction, rows.itertuples())
        printed = dict(zip(rows["metric"], values, strict=True))
        # An accuracy on test is our precision at 1.
        if (name := _ACCURACIES[record.split]) in printed:
            printed = {"p@1": printed[name]} | printed
        edition = self.printed_edition(record)
        title = f"{record.paper}, Table {rows['table'].iloc[0]}"
        return f"{title}, on {edition}" if edition else title, printed


def as_fraction(row: Any) -> str:
    """Give a printed value, a row of `PRINTED_COLUMNS`, as a fraction where it is a quality in per cent."""
    quality = row.metric in MAIN_METRICS or row.metric.startswith("accuracy")
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
    papers: dict[str, Paper] = {}
    printed: list[list[Any]] = []
    try:
        content = tomllib.loads(decode_text(read_content(path), path))
        for name, entry in content["papers"].items():
            for table in entry.pop("tables"):
                printed += _printed_values(name, table)
            papers[name] = Paper(**entry)
        systems = [System(**entry) for entry in content.get("systems", [])]
    except KeyError as error:
        raise UserError(f"{path}: an entry lacks the key {error}. Add it.") from error
    except (TypeError, ValueError) as error:
        raise UserError(f"{path} is not as its first lines say ({error}). Correct it.") from error
    frame = pd.DataFrame(printed, columns=PRINTED_COLUMNS)
    return Papers(papers, frame, content.get("datasets", {}), content.get("claims", []), systems)


def _printed_values(paper: str, table: dict[str, Any]) -> list[list[Any]]:
    """List the values of one table: a row of `PRINTED_COLUMNS` for each that is not empty."""
    found = []
    for model, *cells in table["rows"]:
        for metric, value in zip(table["columns"], cells, strict=True):
            if value:
                row = [paper, table["table"], table["dataset"], model, metric, value]
                found.append([*row, table.get("percent", False)])
    return found
