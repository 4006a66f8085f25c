"""RESULTS.md: a table for every table of the papers, with variants, tests and the runs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from answer_ranking.evaluation.comparisons import (
    Comparison,
    compare,
    differing_options,
    is_rule,
    main_record,
    tested_metric,
)
from answer_ranking.evaluation.papers import Papers, accuracies, read_papers
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import (
    METRIC_TITLES,
    decimals_of,
    format_difference,
    format_measured,
    format_seconds,
    measured_in,
    short_vectors,
)
from answer_ranking.reports.pages import render

_SIZE = "params"
_TIMES = {"seconds_per_epoch": "s/epoch, paper", "train_seconds": "training s, paper"}


def results_document(records: Sequence[ResultRecord], papers: Papers) -> str:
    """Write the whole of RESULTS.md.

    Example:
        >>> from answer_ranking.evaluation.papers import read_papers
        >>> "| HyperQA | 0.712 | not run |" in results_document([], read_papers())
        True
    """
    tables = _Tables([each for each in records if each.dataset != "sample"], papers)
    sections = {name: tables.of_paper(name) for name in papers.papers}
    unprinted = tables.of_unprinted()
    shown = [*(each for of_paper in sections.values() for each in of_paper), *unprinted]
    page = render(
        "results.md.j2",
        papers=papers.papers,
        sections_of=sections,
        unprinted=unprinted,
        runs=_runs(shown),
        metric_titles=METRIC_TITLES,
    )
    return f"{page}\n"


def paper_tables(paper: str, records: Sequence[ResultRecord]) -> str:
    """Write the tables of one paper, such as "hyperqa", with our values beside the printed ones: Markdown."""
    sections = _Tables(records, read_papers(), brief=True).of_paper(paper)
    return render("results_tables.md.j2", sections=sections, metric_titles=METRIC_TITLES)


@dataclass(frozen=True)
class Tests:
    """The tests of a table's models: p of each model by baseline, and the models that are not tested."""

    metric: str
    p: dict[str, dict[str, float]] = field(default_factory=dict)
    untested: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """One table and what stands below it."""

    title: str
    table: pd.DataFrame
    records: list[ResultRecord]  # in the order of the tables
    unavailable: str = ""  # why rows have no record
    tests: Tests | None = None
    footnotes: list[str] = field(default_factory=list)
    variants: pd.DataFrame | None = None
    sizes_of: str = ""  # whose parameters a table of parameters has


class _Tables:
    """Places each record in the first table that it answers."""

    def __init__(
        self,
        records: Sequence[ResultRecord],
        papers: Papers,
        *,
        brief: bool = False,
    ) -> None:
        self._records, self._papers, self._brief = records, papers, brief
        self._unplaced = {record.experiment: record for record in records}

    def of_paper(self, name: str) -> list[Section]:
        printed = self._papers.printed
        sections = []
        for (_, dataset), rows in printed[printed["paper"] == name].groupby(["table", "dataset"], sort=False):
            sections.append(self._sizes(rows) if dataset == "-" else self._section(rows))
        return sections

    def of_unprinted(self) -> list[Section]:
        """Set the records that answer no table of their paper, a table for each data set."""
        groups: dict[str, list[ResultRecord]] = {}
        for record in self._unplaced.values():
            paper = self._papers.papers.get(record.paper)
            title = f"{paper.title if paper else record.paper}: {record.dataset}, {_conditions(record)}"
            groups.setdefault(title, []).append(record)
        sections = []
        for title, group in groups.items():
            group.sort(key=lambda record: not record.main)
            sections.append(Section(title, self._variants(group, group, "map"), group))
        return sections

    def _section(self, rows: pd.DataFrame) -> Section:
        """Set one table of a paper with its tests, and the variants below it."""
        paper, dataset = rows["paper"].iloc[0], rows["dataset"].iloc[0]
        metric = tested_metric(rows["metric"])
        fitting = self._on_data(paper, dataset)
        models = list(rows["model"].unique())
        main = {model: main_record(fitting, model) for model in models}
        found = [record for record in main.values() if record]
        compared = compare(found, fitting, self._papers, metric)
        layout = _layout(rows, metric, brief=self._brief)
        lines = []
        for model, values in rows.groupby("model", sort=False):
            row = self._row(values, main[model], compared)
            lines.append(_cells(row, layout))
            if row.record and self._papers.counts_all(row.record.dataset, row.record.protocol):
                lines.append(_answerable_only(row, layout))
        for record in found:
            self._placed(record)
        variants = [] if self._brief else self._variants_of(paper, dataset, models, fitting)
        return Section(
            title=_table_title(rows),
            table=pd.DataFrame(lines, columns=layout.header()),
            records=[*found, *variants],
            unavailable=self._papers.unavailable(dataset) if len(found) < len(main) else "",
            tests=_tests(found, compared, self._papers, metric),
            footnotes=list(dict.fromkeys(filter(None, map(self._papers.footnote, found)))),
            variants=self._variants(variants, fitting, metric) if variants else None,
        )

    def _row(
        self,
        values: pd.DataFrame,
        record: ResultRecord | None,
        compared: Mapping[str, Comparison],
    ) -> "_Row":
        paper, dataset, model = (values[name].iloc[0] for name in ("paper", "dataset", "model"))
        printed = dict(zip(values["metric"], values["value"], strict=True))
        if record is None:
            return _Row(model, printed, missing=self._missing(paper, dataset, model))
        ours = {**self._papers.comparable_metrics(record), **accuracies(record)}
        if second := self._on_second_test(record):
            ours |= accuracies(second)
        same_edition = not self._papers.printed_edition(record)
        return _Row(model, printed, record, ours, compared.get(record.experiment), same_edition)

    def _on_data(self, paper: str, dataset: str) -> list[ResultRecord]:
        of_paper = [each for each in self._records if (each.paper, each.split) == (paper, "test")]
        return [record for record in of_paper if self._papers.answers(record, dataset)]

    def _on_second_test(self, record: ResultRecord) -> ResultRecord | None:
        """Find the record of the same experiment on a second test split."""
        wanted = replace(record, split="test2").experiment
        return next((each for each in self._records if each.experiment == wanted), None)

    def _missing(self, paper: str, dataset: str, model: str) -> str:
        if not self._papers.papers[paper].measured(model):
            return "quoted"
        return "no data" if self._papers.unavailable(dataset) else "not run"

    def _placed(self, record: ResultRecord) -> None:
        self._unplaced.pop(record.experiment, None)
        if second := self._on_second_test(record):
            self._unplaced.pop(second.experiment, None)

    def _variants_of(
        self,
        paper: str,
        dataset: str,
        models: Sequence[str],
        fitting: Sequence[ResultRecord],
    ) -> list[ResultRecord]:
        """Take the records that stand below a table.

        A variant stands below the first table that prints its model; a model that no table prints, below the
        first of its data set.
        """
        printed = self._papers.printed
        on_data = printed[(printed["paper"] == paper) & (printed["dataset"] == dataset)]
        elsewhere = set(on_data["model"]) - set(models)
        variants = []
        for each in fitting:
            if each.experiment in self._unplaced and each.model not in elsewhere:
                variants.append(self._unplaced.pop(each.experiment))
        return variants

    def _variants(
        self,
        records: Sequence[ResultRecord],
        candidates: Sequence[ResultRecord],
        metric: str,
    ) -> pd.DataFrame:
        compared = compare(records, candidates, self._papers, metric)
        metrics = measured_in(records)
        lines = []
        for record in records:
            ours = self._papers.comparable_metrics(record)
            quality = [format_measured(ours[name]) if name in ours else "" for name in metrics]
            differs, p = _against(record, compared.get(record.experiment))
            details = [len(record.seeds), short_vectors(record.embeddings), _conditions(record)]
            costs = [f"{record.parameters:,}", format_seconds(record), _link(record)]
            lines.append([record.model, differs, *quality, p, *map(str, details), *costs])
        titles = [METRIC_TITLES[name] for name in metrics]
        header = ["model", "what differs", *titles, "p (against)", "seeds", "word vectors", "protocol"]
        return pd.DataFrame(lines, columns=[*header, "parameters", "s/epoch", "run"])

    def _sizes(self, rows: pd.DataFrame) -> Section:
        """Set a table of parameters; ours are those of the paper's first main row, as sizes differ."""
        paper = rows["paper"].iloc[0]
        main_rows = self._papers.papers[paper].main_rows
        records = self._on_data(paper, main_rows[0][0]) if main_rows else []
        lines = []
        for row in rows.itertuples():
            ours = [self._missing(paper, "-", row.model), ""]
            if record := main_record(records, row.model):
                ours = [f"{record.parameters:,}", short_vectors(record.embeddings)]
            lines.append([row.model, row.value, *ours])
        table = pd.DataFrame(lines, columns=["model", "parameters, paper", "ours", "word vectors"])
        sizes_of = f"{records[0].dataset}, {_conditions(records[0])}" if records else ""
        return Section(_table_title(rows), table, [], sizes_of=sizes_of)


@dataclass(frozen=True)
class _Row:
    """A row of a paper's table: the printed values, and ours or why there are none."""

    model: str
    printed: dict[str, str]
    record: ResultRecord | None = None
    ours: dict[str, Any] = field(default_factory=dict)
    test: Comparison | None = None
    same_edition: bool = True
    missing: str = ""


@dataclass(frozen=True)
class _Layout:
    """The columns of a paper's table."""

    metrics: list[str]
    has_size: bool
    times: list[str]
    scale: int  # 100 for percent
    tested: set[str]  # the metrics that have marks of significance
    brief: bool

    @property
    def whole_training(self) -> bool:
        return "train_seconds" in self.times

    def header(self) -> list[str]:
        names = ["model"]
        for metric in self.metrics:
            names += [f"{METRIC_TITLES[metric]}, paper", "ours", "Δ"]
        names += ["seeds", "word vectors", "protocol"]
        names += ["parameters, paper"] * self.has_size
        names += ["parameters, ours", *(_TIMES[name] for name in self.times)]
        names.append("training s, ours" if self.whole_training else "s/epoch, ours")
        return names if self.brief else [*names, "run"]


def _layout(rows: pd.DataFrame, tested: str, *, brief: bool) -> _Layout:
    names = list(dict.fromkeys(rows["metric"]))
    return _Layout(
        metrics=[name for name in names if name in METRIC_TITLES],
        has_size=_SIZE in names,
        times=[name for name in names if name in _TIMES],
        scale=100 if rows["percent"].iloc[0] else 1,
        tested={tested, "accuracy_test1"} if tested == "p@1" else {tested},
        brief=brief,
    )


def _cells(row: _Row, layout: _Layout) -> list[str]:
    cells = [row.model]
    for metric in layout.metrics:
        cells += _metric_cells(row, metric, layout)
    seeds, vectors, protocol, parameters, seconds, run = _details(row.record, layout)
    cells += [seeds, vectors, protocol]
    if layout.has_size:
        cells.append(row.printed.get(_SIZE, ""))
    cells += [parameters, *(row.printed.get(name, "") for name in layout.times), seconds]
    return cells if layout.brief else [*cells, run]


def _details(record: ResultRecord | None, layout: _Layout) -> list[str]:
    if record is None:
        return [""] * 6
    return [
        str(len(record.seeds)),
        short_vectors(record.embeddings),
        _conditions(record),
        f"{record.parameters:,}",
        format_seconds(record, whole_training=layout.whole_training),
        _link(record),
    ]


def _metric_cells(row: _Row, metric: str, layout: _Layout) -> list[str]:
    """Give the printed value, ours with the mark of its test, and the difference."""
    value = row.printed.get(metric, "")
    deviation = row.printed.get(f"{metric}_std")
    printed = f"{value} (std {deviation})" if deviation else value
    if row.record is None:
        return [printed, row.missing, ""]
    if metric not in row.ours:
        return [printed, "", ""]
    ours = row.ours[metric]
    measured = format_measured(ours, scale=layout.scale, decimals=decimals_of(value) or 3)
    if row.test and metric in layout.tested:
        measured += row.test.mark
    comparable = value and row.same_edition
    return [printed, measured, format_difference(ours, value, scale=layout.scale) if comparable else ""]


def _answerable_only(row: _Row, layout: _Layout) -> list[str]:
    """Give our values over the questions that have a correct answer, where the printed ones count all."""
    cells = ["↳ answerable only"]
    for metric in layout.metrics:
        decimals = decimals_of(row.printed.get(metric, "")) or 3
        ours = row.record.metrics.get(metric)
        text = format_measured(ours, scale=layout.scale, decimals=decimals) if ours else ""
        cells += ["", text, ""]
    return cells + [""] * (len(layout.header()) - len(cells))


def _against(record: ResultRecord, found: Comparison | None) -> tuple[str, str]:
    """Say in which options a variant differs from the record that it is compared with, and p."""
    if found is None:
        return "", ""
    differs = differing_options(record, found.other)
    if differs and found.other.model != record.model:
        differs = f"from {found.other.model}: {differs}"
    return differs, "" if found.p is None else f"{found.p:.3g} ({found.other.model})"


def _tests(
    main: Iterable[ResultRecord],
    compared: Mapping[str, Comparison],
    papers: Papers,
    metric: str,
) -> Tests:
    """Gather the tests of a table's main records against their baselines."""
    tests = Tests(metric)
    for record in main:
        baseline = papers.papers[record.paper].baseline_of(record.model)
        if is_rule(record) or record.model == baseline:
            continue
        found = compared.get(record.experiment)
        if found is not None and found.p is not None:
            tests.p.setdefault(baseline, {})[record.model] = found.p
        elif baseline:
            tests.untested.setdefault(baseline, []).append(record.model)
    return tests


def _table_title(rows: pd.DataFrame) -> str:
    table, dataset = rows["table"].iloc[0], rows["dataset"].iloc[0]
    return f"Table {table}" if dataset == "-" else f"Table {table}: {dataset}"


def _conditions(record: ResultRecord) -> str:
    split = "" if record.split == "test" else record.split
    return ", ".join(filter(None, (record.protocol, split, record.variant)))


def _run_name(record: ResultRecord) -> str:
    """Name a run by its --record, else by its model."""
    found = re.search(r"--record[ =](\S+)", record.command)
    return found[1] if found else record.model


def _link(record: ResultRecord) -> str:
    return f"[{_run_name(record)}](#runs)"


def _runs(sections: Iterable[Section]) -> dict[str, list[str]]:
    """Gather commands and notes of the runs in the order in which their records appear."""
    runs: dict[str, list[str]] = {}
    for section in sections:
        for record in section.records:
            seeds = ", ".join(map(str, record.seeds))
            said = runs.setdefault(_run_name(record), [f"`{record.command}` (seeds {seeds})."])
            if record.notes and record.notes not in said:
                said.append(record.notes)
    return runs
