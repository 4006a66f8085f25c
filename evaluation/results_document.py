"""RESULTS.md: a table for every table of the papers, with variants, tests and the runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.comparisons import (
    Comparison,
    compare,
    describe_tests,
    differing_options,
    tested_metric,
)
from answer_ranking.evaluation.metrics import METRICS
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import (
    METRIC_TITLES,
    Papers,
    accuracies,
    decimals_of,
    format_difference,
    format_measured,
    format_seconds,
    markdown_table,
    read_papers,
    short_vectors,
)

_TIMES = {"seconds_per_epoch": "s/epoch, paper", "train_seconds": "training s, paper"}

_INTRODUCTION = """\
# Results

Written by `python -m answer_ranking.reports` from the records in `reproduce/results` and the values
in `evaluation/papers.toml`. Do not edit by hand.

- *paper* is the printed value, in the paper's unit. *Ours* is the mean over the seeds ± the half width of its
  95 % t interval. Δ is ours minus paper.
- Metrics are those of trec_eval. Ties are broken at random (seeded), so the order of a file cannot matter.
- A single seed gives different digits on different processors. The means of five seeds agree.
- Seconds were measured on one or two CPU cores, often with other load. `benchmarks/` measures with care.
- *quoted*: the paper takes the row from other work. *no data*: the data set is not available. *not run*:
  there is no record.
- The printed values of TrecQA raw count questions without a correct answer as 0, as `trec_eval -c` does (a
  perfect ranking has MAP 0.937). Ours are computed in the same way. The line *answerable only* is the mean
  over the questions that have a correct answer.
- Models are compared with a baseline, named below the table, by a paired randomisation test over the
  questions: on the mean over the seeds of each question's average precision, or of the metric named there.
  p is corrected after Holm for the tests of the table. ▲ and ▼ mark a model that is better or worse than the
  baseline at p < 0.05. Rules without parameters are not tested.
- A variant is compared with the main record of its model. A model without one is compared with the paper's
  baseline on the same data (*from* names it). *What differs* lists the options that differ, except word
  vectors, protocol and training set, which have columns of their own.
- Word vectors: `glove+spacy-450d` are GloVe 6B with 50 and with 100 dimensions and spaCy's 300 dimensions
  side by side; `identity150` are 150 fixed random dimensions per word.
"""


def results_document(records: Sequence[ResultRecord], papers: Papers) -> str:
    """Write the whole of RESULTS.md.

    Example:
        >>> from answer_ranking.evaluation.tables import read_papers
        >>> "| HyperQA | 0.712 | not run |" in results_document([], read_papers())
        True
    """
    return _Document([each for each in records if each.dataset != "sample"], papers).text()


def main_record(records: Sequence[ResultRecord], model: str) -> ResultRecord | None:
    """Find the record for a row of a table among those on the table's data; a UserError names two."""
    main = [record for record in records if record.main and record.model == model]
    if len(main) > 1:
        described = " and ".join(f"`{record.command}` ({record.created})" for record in main[:2])
        raise UserError(
            f"two records claim the row of {model} on {main[0].dataset} {main[0].protocol} as main: "
            f'{described}. Set "main" to false in one of them.'
        )
    return main[0] if main else None


def paper_tables(paper: str, records: Sequence[ResultRecord]) -> str:
    """Write the tables of one paper, such as "hyperqa", with our values beside the printed ones: Markdown."""
    return "\n".join(_Document(records, read_papers(), brief=True).of_paper(paper))


class _Document:
    """Writes the document; lists the runs in the order in which their records appear."""

    def __init__(self, records: Sequence[ResultRecord], papers: Papers, *, brief: bool = False) -> None:
        self._records, self._papers, self._brief = records, papers, brief
        self._runs: dict[str, list[str]] = {}
        self._unplaced = {record.experiment: record for record in records}

    def text(self) -> str:
        sections = [_INTRODUCTION]
        for name, paper in self._papers.papers.items():
            sections.append(f"## {paper.title}\n")
            if paper.vectors:
                sections.append(
                    f"The paper's word vectors ({paper.vectors}) are not available. Each row names those of "
                    "ours.\n"
                )
            sections += self.of_paper(name)
        if self._unplaced:
            sections.append("## Data sets for which a model's own paper prints no table\n")
        groups: dict[str, list[ResultRecord]] = {}
        for record in self._unplaced.values():
            paper = self._papers.papers.get(record.paper)
            title = f"{paper.title if paper else record.paper}: {record.dataset}, {_conditions(record)}"
            groups.setdefault(title, []).append(record)
        for title, group in groups.items():
            group.sort(key=lambda record: not record.main)
            sections += [f"### {title}\n", self._variants_table(group, group, "map")]
        if self._runs:
            lines = (f"- **{name}:** {' '.join(said)}" for name, said in self._runs.items())
            sections += ["## Runs\n", "\n".join(lines) + "\n"]
        return "\n".join(sections)

    def of_paper(self, name: str) -> list[str]:
        """Write the tables of a paper and what stands below them."""
        sections = []
        printed = self._papers.printed
        tables = printed[printed["paper"] == name].groupby(["table", "dataset"], sort=False)
        for (table, dataset), rows in tables:
            sections.append(f"### Table {table}" + (f": {dataset}\n" if dataset != "-" else "\n"))
            sections += [self._parameters(rows)] if dataset == "-" else self._section(rows)
        return sections

    def _on_data(self, paper: str, dataset: str) -> list[ResultRecord]:
        return [
            record
            for record in self._records
            if (record.paper, record.split) == (paper, "test") and self._papers.answers(record, dataset)
        ]

    def _section(self, rows: pd.DataFrame) -> list[str]:
        """Write one table of a paper with its tests, and the variants below it."""
        papers, printed = self._papers, self._papers.printed
        paper, dataset = rows["paper"].iloc[0], rows["dataset"].iloc[0]
        metric = tested_metric(rows["metric"])
        fitting = self._on_data(paper, dataset)
        main = {model: main_record(fitting, model) for model in rows["model"].unique()}
        found = {model: record for model, record in main.items() if record}
        second = {model: self._on_second_test(record) for model, record in found.items()}
        compared = compare(found.values(), fitting, papers, metric)
        sections = [self._paper_table(rows, main, second, compared, metric) + "\n"]
        if (why := papers.unavailable(dataset)) and len(found) < len(main):
            sections.append(f"No data: {why}.\n")
        sections += describe_tests(list(found.values()), compared, papers, metric)
        sections += [
            f"{footnote}\n" for footnote in {papers.footnote(each) for each in found.values()} - {""}
        ]
        for record in [*found.values(), *filter(None, second.values())]:
            self._unplaced.pop(record.experiment, None)
        # A variant stands below the first table that prints its model; a model that no table prints, below
        # the first of its data set.
        on_data = printed[(printed["paper"] == paper) & (printed["dataset"] == dataset)]
        elsewhere = set(on_data["model"]) - set(main)
        variants = [
            each for each in fitting if each.experiment in self._unplaced and each.model not in elsewhere
        ]
        if variants and not self._brief:
            sections.append("Variants, and models that the paper does not print here:\n")
            sections.append(self._variants_table(variants, fitting, metric))
        for record in variants:
            del self._unplaced[record.experiment]
        return sections

    def _missing(self, paper: str, dataset: str, model: str) -> str:
        if not self._papers.papers[paper].measured(model):
            return "quoted"
        return "no data" if self._papers.unavailable(dataset) else "not run"

    def _on_second_test(self, record: ResultRecord) -> ResultRecord | None:
        """Find the record of the same experiment on a second test split."""
        wanted = replace(record, split="test2").experiment
        return next((each for each in self._records if each.experiment == wanted), None)

    def _run(self, record: ResultRecord) -> str:
        """Link to the entry of the record's command below Runs, which has the name of its --record."""
        found = re.search(r"--record[ =](\S+)", record.command)
        name = found[1] if found else record.model
        seeds = ", ".join(map(str, record.seeds))
        said = self._runs.setdefault(name, [f"`{record.command}` (seeds {seeds})."])
        said += [note for note in [record.notes] if note and note not in said]
        return f"[{name}](#runs)"

    def _details(self, record: ResultRecord, *, whole_training: bool = False) -> list[str]:
        return [
            str(len(record.seeds)),
            short_vectors(record.embeddings),
            _conditions(record),
            f"{record.parameters:,}",
            format_seconds(record, whole_training=whole_training),
            *([] if self._brief else [self._run(record)]),
        ]

    def _paper_table(
        self,
        rows: pd.DataFrame,
        main: Mapping[str, ResultRecord | None],
        second: Mapping[str, ResultRecord | None],
        compared: Mapping[str, Comparison],
        metric_of_tests: str,
    ) -> str:
        papers, scale = self._papers, 100 if rows["percent"].iloc[0] else 1
        names = list(dict.fromkeys(rows["metric"]))
        metrics = [name for name in names if name in METRIC_TITLES]
        sizes, times = [n for n in names if n == "params"], [n for n in names if n in _TIMES]
        whole, tested = "train_seconds" in times, {metric_of_tests}
        tested |= {"accuracy_test1"} if metric_of_tests == "p@1" else set()
        header = ["model"]
        for metric in metrics:
            header += [f"{METRIC_TITLES[metric]}, paper", "ours", "Δ"]
        header += ["seeds", "word vectors", "protocol", *["parameters, paper" for _ in sizes]]
        header += ["parameters, ours", *[_TIMES[name] for name in times]]
        header.append("training s, ours" if whole else "s/epoch, ours")
        header += [] if self._brief else ["run"]
        lines = []
        for model, values in rows.groupby("model", sort=False):
            printed = dict(zip(values["metric"], values["value"], strict=True))
            record = main[model]
            ours = {**papers.comparable_metrics(record), **accuracies(record)} if record else {}
            if second.get(model):
                ours |= accuracies(second[model])
            cells = [model]
            for metric in metrics:
                value = printed.get(metric, "")
                deviation = f" (std {printed[f'{metric}_std']})" if f"{metric}_std" in printed else ""
                cells.append(value + deviation)
                if record is None:
                    cells += [self._missing(rows["paper"].iloc[0], rows["dataset"].iloc[0], model), ""]
                elif metric in ours:
                    test = compared.get(record.experiment) if metric in tested else None
                    measured = format_measured(ours[metric], scale=scale, decimals=decimals_of(value) or 3)
                    cells.append(measured + (test.mark if test else ""))
                    same = value and not papers.printed_edition(record)
                    cells.append(format_difference(ours[metric], value, scale=scale) if same else "")
                else:
                    cells += ["", ""]
            details = self._details(record, whole_training=whole) if record else [""] * (6 - self._brief)
            cells += [*details[:3], *(printed.get(name, "") for name in sizes), details[3]]
            lines.append([*cells, *(printed.get(name, "") for name in times), *details[4:]])
            if record and papers.counts_all(record.dataset, record.protocol):
                extra = ["↳ answerable only"]
                for metric in metrics:
                    decimals = decimals_of(printed.get(metric, "")) or 3
                    measured = record.metrics.get(metric)
                    text = format_measured(measured, scale=scale, decimals=decimals) if measured else ""
                    extra += ["", text, ""]
                lines.append(extra + [""] * (len(header) - len(extra)))
        return markdown_table(header, lines)

    def _parameters(self, rows: pd.DataFrame) -> str:
        """Write a table of parameters; ours are those of the paper's first main row, as sizes differ."""
        paper = rows["paper"].iloc[0]
        main_rows = self._papers.papers[paper].main_rows
        records = self._on_data(paper, main_rows[0][0]) if main_rows else []
        lines = []
        for row in rows.itertuples():
            record = main_record(records, row.model)
            ours = [self._missing(paper, "-", row.model), ""]
            if record:
                ours = [f"{record.parameters:,}", short_vectors(record.embeddings)]
            lines.append([row.model, row.value, *ours])
        table = markdown_table(["model", "parameters, paper", "ours", "word vectors"], lines) + "\n"
        if not records:
            return table
        return (
            f"{table}\nOurs are those of {records[0].dataset}, {_conditions(records[0])}. "
            "`python reproduce/studies/parameter_counts.py` counts our models at the paper's sizes.\n"
        )

    def _variants_table(
        self, records: Sequence[ResultRecord], candidates: Sequence[ResultRecord], metric: str
    ) -> str:
        compared = compare(records, candidates, self._papers, metric)
        metrics = [metric for metric in METRICS if any(metric in record.metrics for record in records)]
        header = ["model", "what differs", *[METRIC_TITLES[metric] for metric in metrics], "p (against)"]
        header += ["seeds", "word vectors", "protocol", "parameters", "s/epoch", "run"]
        lines = []
        for record in records:
            found, differs, p = compared.get(record.experiment), "", ""
            if found:
                differs = differing_options(record, found.other)
                if differs and found.other.model != record.model:
                    differs = f"from {found.other.model}: {differs}"
                p = "" if found.p is None else f"{found.p:.3g} ({found.other.model})"
            ours = self._papers.comparable_metrics(record)
            cells = [format_measured(ours[metric]) if metric in ours else "" for metric in metrics]
            lines.append([record.model, differs, *cells, p, *self._details(record)])
        return markdown_table(header, lines) + "\n"


def _conditions(record: ResultRecord) -> str:
    split = "" if record.split == "test" else record.split
    return ", ".join(filter(None, (record.protocol, split, record.variant)))
