"""RESULTS.md: a table for every table of the papers, with variants, tests and the runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import pandas as pd

from answer_ranking.evaluation.comparisons import (
    Comparison,
    compare,
    differing_options,
    is_rule,
    main_record,
    tested_metric,
)
from answer_ranking.evaluation.metrics import expected_random_ranking
from answer_ranking.evaluation.papers import Papers, accuracies, read_papers
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.tables import (
    METRIC_TITLES,
    format_measured,
    format_seconds,
    measured_in,
    short_vectors,
)
from answer_ranking.reports.pages import render
from answer_ranking.reports.result_rows import (
    Row,
    answerable_only,
    cells_of,
    conditions_of,
    layout_of,
    link_to,
    run_name,
)
from answer_ranking.reports.results_matrix import VERDICT_BY_MRR, counted, results_matrix


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
    shown = [*chain(*sections.values()), *unprinted]
    matrix = results_matrix(records, papers)
    page = render(
        "results.md.j2",
        matrix=matrix,
        counted=counted(matrix),
        counted_by_mrr=counted(matrix, VERDICT_BY_MRR),
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
    answered_by: dict[str, str] = field(default_factory=dict)  # rows whose model has another name here
    candidates: int = 0  # of every question, where they alone say what a random order reaches
    chance: dict[str, float] = field(default_factory=dict)  # which is this, by metric
    of_sizes: bool = False  # a table of parameters


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
        of_paper = printed[printed["paper"] == name]
        sections = []
        for (_, dataset), rows in of_paper.groupby(["table", "dataset"], sort=False):
            sections.append(self._sizes(rows) if dataset == "-" else self._section(rows))
        return sections

    def of_unprinted(self) -> list[Section]:
        """Set the records that answer no table of their paper, a table for each data set."""
        groups: dict[str, list[ResultRecord]] = {}
        for record in self._unplaced.values():
            paper = self._papers.papers.get(record.paper)
            named = paper.title if paper else record.paper
            title = f"{named}: {record.dataset}, {conditions_of(record)}"
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
        own = [record for record in main.values() if record]
        beside = {model: list(self._beside(paper, model, fitting)) for model in models}
        further = list(chain.from_iterable(beside.values()))
        # Our further models are a family of tests of their own.
        compared = compare(own, fitting, self._papers, metric)
        compared |= compare(further, fitting, self._papers, metric)
        variants = {record.variant for record in own}
        for model in models:
            if not self._papers.papers[paper].measured(model):
                quoted = self._papers.quoted_record(self._records, dataset, model, variants)
                main[model] = main[model] or quoted
        found = [record for record in main.values() if record]
        layout = layout_of(rows, metric, brief=self._brief)
        lines: list[list[str]] = []
        for model, values in rows.groupby("model", sort=False):
            row = self._row(values, main[model], compared)
            lines.append(cells_of(row, layout))
            record = row.record
            if record and self._papers.counts_all(record.dataset, record.protocol):
                lines.append(answerable_only(row, layout))
            for each in beside[model]:
                ours, test = self._papers.comparable_metrics(each), compared.get(each.experiment)
                lines.append(cells_of(Row(each.model, {}, each, ours, test), layout))
        for record in (*found, *further):
            self._placed(record)
        candidates = 0 if main.get("Random") else self._papers.candidates(dataset)
        variants = []
        if not self._brief:
            variants = self._variants_of(paper, dataset, models, fitting)
        footnotes = filter(None, map(self._papers.footnote, found))
        return Section(
            title=_table_title(rows),
            table=pd.DataFrame(lines, columns=layout.header()),
            records=[*found, *further, *variants],
            unavailable=self._papers.unavailable(dataset) if len(found) < len(main) else "",
            tests=_tests([*own, *further], compared, self._papers, metric),
            footnotes=list(dict.fromkeys(footnotes)),
            variants=self._variants(variants, fitting, metric) if variants else None,
            answered_by={name: each.model for name, each in main.items() if each and each.model != name},
            candidates=candidates,
            chance=_chance(candidates),
        )

    def _row(
        self,
        values: pd.DataFrame,
        record: ResultRecord | None,
        compared: Mapping[str, Comparison],
    ) -> "Row":
        paper, dataset, model = values[["paper", "dataset", "model"]].iloc[0]
        printed = dict(zip(values["metric"], values["value"], strict=True))
        if record is None:
            return Row(model, printed, missing=self._missing(paper, dataset, model))
        ours = {**self._papers.comparable_metrics(record), **accuracies(record)}
        if second := self._on_second_test(record):
            ours |= accuracies(second)
        test = compared.get(record.experiment)
        same_edition = not self._papers.printed_edition(record)
        return Row(model, printed, record, ours, test, same_edition)

    def _beside(self, paper: str, model: str, fitting: Sequence[ResultRecord]) -> Iterator[ResultRecord]:
        """Find the records of our models that stand below a printed row: of each the one with most seeds."""
        for name in self._papers.papers[paper].beside.get(model, ()):
            runs = [record for record in fitting if record.model == name]
            if runs:
                yield max(runs, key=lambda each: len(each.seeds))

    def _on_data(self, paper: str, dataset: str) -> list[ResultRecord]:
        return self._papers.answering(self._records, paper, dataset)

    def _on_second_test(self, record: ResultRecord) -> ResultRecord | None:
        """Find the record of the same experiment on a second test split."""
        wanted = replace(record, split="test2").experiment
        return next((each for each in self._records if each.experiment == wanted), None)

    def _missing(self, paper: str, dataset: str, model: str) -> str:
        if model == "Random" and self._papers.candidates(dataset):
            return "chance"
        if self._papers.unavailable(dataset):
            return "no data"
        return "not run" if self._papers.papers[paper].measured(model) else "quoted"

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
        for name, ours in self._papers.papers[paper].beside.items():
            if name in elsewhere:
                elsewhere.update(ours)
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
            differs, p = _against(record, compared.get(record.experiment))
            line = {"model": record.model, "what differs": differs}
            ours = self._papers.comparable_metrics(record)
            for name in metrics:
                line[METRIC_TITLES[name]] = format_measured(ours[name]) if name in ours else ""
            line["p (against)"] = p
            line["seeds"] = str(len(record.seeds))
            line["word vectors"] = short_vectors(record.embeddings)
            line["protocol"] = conditions_of(record)
            line["parameters"] = f"{record.parameters:,}"
            line["s/epoch"] = format_seconds(record)
            line["run"] = link_to(record)
            lines.append(line)
        return pd.DataFrame(lines)

    def _sizes(self, rows: pd.DataFrame) -> Section:
        """Set a table of parameters; ours are those on the data of the paper's first main row."""
        name = rows["paper"].iloc[0]
        paper = self._papers.papers[name]
        dataset = paper.main_rows[0][0] if paper.main_rows else "-"
        records = self._on_data(name, dataset)
        lines = []
        for row in rows.itertuples():
            record = main_record(records, row.model)
            if not paper.measured(row.model):
                # The size of a model is that on any training set.
                record = self._papers.quoted_record(self._records, dataset.partition("/")[0], row.model)
            ours = [self._missing(name, "-", row.model), "", ""]
            if record:
                data = f"{record.dataset}, {conditions_of(record)}"
                ours = [f"{record.parameters:,}", short_vectors(record.embeddings), data]
            lines.append([row.model, row.value, *ours])
        columns = ["model", "parameters, paper", "ours", "word vectors", "data"]
        return Section(_table_title(rows), pd.DataFrame(lines, columns=columns), [], of_sizes=True)


def _chance(candidates: int) -> dict[str, float]:
    """Compute what a random order of so many candidates reaches, one of them correct."""
    expected = expected_random_ranking([1], [candidates - 1]).iloc[0] if candidates else {}
    return {str(name): float(value) for name, value in expected.items()}


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


def _runs(sections: Iterable[Section]) -> dict[str, list[str]]:
    """Gather commands and notes of the runs in the order in which their records appear."""
    runs: dict[str, list[str]] = {}
    for section in sections:
        for record in section.records:
            seeds = ", ".join(map(str, record.seeds))
            command = f"`{record.command}` (seeds {seeds})."
            said = runs.setdefault(run_name(record), [command])
            if record.notes and record.notes not in said:
                said.append(record.notes)
    return runs
