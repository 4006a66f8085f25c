"""Paired tests between records: models against their baselines, and variants against main records."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from answer_ranking.evaluation.metrics import METRICS
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test
from answer_ranking.evaluation.tables import METRIC_TITLES, Papers

SIGNIFICANT = 0.05
# Options that have columns of their own.
_IN_COLUMNS = {"embeddings", "variant", "dataset", "protocol"}


@dataclass(frozen=True)
class Comparison:
    """A record beside the one that it is compared with."""

    other: ResultRecord
    p: float | None  # of the paired randomisation test, after Holm; None where the questions differ
    better: bool  # whether the record's mean is higher

    @property
    def mark(self) -> str:
        """The mark of a significant difference, to stand behind a number."""
        if self.p is None or self.p >= SIGNIFICANT:
            return ""
        return " ▲" if self.better else " ▼"


def is_rule(record: ResultRecord) -> bool:
    """Tell whether a record is of a rule, which has no parameters: nothing is tested with it."""
    return record.parameters == 0


def reference(record: ResultRecord, records: Iterable[ResultRecord], papers: Papers) -> ResultRecord | None:
    """Find the record with which to compare another one of its paper, on the same data and split.

    It is the main record of the same model; for that record itself, and where there is none, the baseline's
    (its main record, else the first one with the same word vectors); last, the model's main record on another
    training set. There is none for the baseline itself, and for rules.
    """
    if is_rule(record) or record.paper not in papers.papers:
        return None
    names = ("paper", "dataset", "protocol", "split")
    same_data = [
        each
        for each in records
        if not is_rule(each) and all(getattr(each, name) == getattr(record, name) for name in names)
    ]
    here = [each for each in same_data if each.variant == record.variant]
    baseline = papers.papers[record.paper].baseline_of(record.model)
    choices = [each for each in here if each.main and each.model == record.model]
    if record not in choices and choices:
        return choices[0]
    if record.model != baseline:
        choices = [each for each in here if each.main and each.model == baseline]
        choices += [each for each in here if (each.model, each.embeddings) == (baseline, record.embeddings)]
    if not choices and not record.main:
        choices = [each for each in same_data if each.main and each.model == record.model]
    return next((each for each in choices if each != record), None)


def compare(
    records: Iterable[ResultRecord], candidates: Sequence[ResultRecord], papers: Papers, metric: str
) -> dict[str, Comparison]:
    """Compare records with their references; p is corrected for the number of tests made here."""
    pairs = [(record, reference(record, candidates, papers)) for record in records]
    pairs = [(record, other) for record, other in pairs if other is not None]
    raw = [_p_value(record, other, metric) for record, other in pairs]
    tested = [p for p in raw if p is not None]
    corrected = iter(holm_correction(tested).tolist() if tested else [])
    found = {}
    for (record, other), p in zip(pairs, raw, strict=True):
        ours, theirs = (each.metrics.get(metric, {}).get("mean", 0.0) for each in (record, other))
        found[record.experiment] = Comparison(other, None if p is None else next(corrected), ours > theirs)
    return found


def _p_value(a: ResultRecord, b: ResultRecord, metric: str) -> float | None:
    """Test two records on each question's mean over the seeds; None where their questions differ."""
    if metric not in a.per_question or metric not in b.per_question:
        return None
    values = question_means(a, b, metric)
    return paired_randomisation_test(*values) if values else None


def question_means(a: ResultRecord, b: ResultRecord, metric: str) -> tuple[list[float], list[float]] | None:
    """Give each question's means over the seeds of two records; None where their questions differ."""
    first, second = (
        dict(zip(each.per_question["question_ids"], np.mean(each.per_question[metric], axis=0), strict=True))
        for each in (a, b)
    )
    if first.keys() != second.keys():
        return None
    return list(first.values()), [second[question] for question in first]


def describe_tests(
    main: Sequence[ResultRecord], compared: Mapping[str, Comparison], papers: Papers, metric: str
) -> list[str]:
    """Describe the tests of a table's main records against their baselines: a paragraph, or nothing."""
    tests: dict[str, list[str]] = {}
    untested: dict[str, list[str]] = {}
    for record in main:
        baseline = papers.papers[record.paper].baseline_of(record.model)
        if is_rule(record) or record.model == baseline:
            continue
        found = compared.get(record.experiment)
        if found is None or found.p is None:
            untested.setdefault(baseline, []).append(record.model)
        else:
            tests.setdefault(baseline, []).append(f"{record.model} p = {found.p:.3g}")
    parts = [
        f"Against {baseline}, by {METRIC_TITLES[metric]}: {', '.join(models)}."
        for baseline, models in tests.items()
    ]
    parts += [
        f"Not tested, for lack of a record of {baseline} on the same questions: {', '.join(models)}."
        for baseline, models in untested.items()
        if baseline
    ]
    return [" ".join(parts) + "\n"] if parts else []


def tested_metric(printed: Iterable[str]) -> str:
    """Choose what the tests of a table compare: the first of our metrics that it prints, else P@1."""
    names = set(printed)
    return next((metric for metric in METRICS if metric in names), "p@1")


def differing_options(record: ResultRecord, other: ResultRecord) -> str:
    """Name the options in which a record differs from another one, but those with columns of their own.

    Options that only one of the two has are passed over: the project did not have them at one of the times.
    """
    ours, others = _flat(record.configuration), _flat(other.configuration)
    return ", ".join(
        f"{key} = {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in ours.items()
        if key not in _IN_COLUMNS and value != others.get(key, value)
    )


def _flat(configuration: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat = {}
    for key, value in configuration.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat
