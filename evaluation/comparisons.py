"""Paired tests between records: models against their baselines, and variants against main records."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.metrics import METRICS
from answer_ranking.evaluation.papers import Papers
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test

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


def main_record(records: Sequence[ResultRecord], model: str) -> ResultRecord | None:
    """Find the record for a row of a table among those on the table's data; a UserError names two."""
    main = _main_of(model, records)
    if len(main) > 1:
        first, second = main[:2]
        raise UserError(
            f"two records claim the row of {model} on {first.dataset} {first.protocol} as main: "
            f"`{first.command}` ({first.created}) and `{second.command}` ({second.created}). "
            'Set "main" to false in one of them.'
        )
    return main[0] if main else None


def reference(
    record: ResultRecord,
    records: Iterable[ResultRecord],
    papers: Papers,
) -> ResultRecord | None:
    """Find the record with which to compare another one of its paper, on the same data and split.

    It is the main record of the same model; for that record itself, and where there is none, the baseline's
    (its main record, else the first one with the same word vectors); last, the model's main record on another
    training set. There is none for the baseline itself, and for rules.
    """
    if is_rule(record) or record.paper not in papers.papers:
        return None
    same_data = [each for each in records if _comparable(each, record)]
    here = [each for each in same_data if each.variant == record.variant]
    baseline = papers.papers[record.paper].baseline_of(record.model)
    choices = _main_of(record.model, here)
    if record not in choices and choices:
        return choices[0]
    if record.model != baseline:
        choices = _main_of(baseline, here)
        alike = (baseline, record.embeddings)
        choices += [each for each in here if (each.model, each.embeddings) == alike]
    if not choices and not record.main:
        choices = _main_of(record.model, same_data)
    return next((each for each in choices if each != record), None)


def _comparable(record: ResultRecord, other: ResultRecord) -> bool:
    """Tell whether two records are of one paper and test; rules are compared with nothing."""
    for name in ("paper", "dataset", "protocol", "split"):
        if getattr(record, name) != getattr(other, name):
            return False
    return not is_rule(record)


def _main_of(model: str, records: Iterable[ResultRecord]) -> list[ResultRecord]:
    return [record for record in records if record.main and record.model == model]


def compare(
    records: Iterable[ResultRecord],
    candidates: Sequence[ResultRecord],
    papers: Papers,
    metric: str,
) -> dict[str, Comparison]:
    """Compare records with their references; p is corrected for the number of tests made here."""
    found: dict[str, Comparison] = {}
    raw: dict[str, float] = {}
    for record in records:
        other = reference(record, candidates, papers)
        if other is None:
            continue
        p = _p_value(record, other, metric)
        better = _mean(record, metric) > _mean(other, metric)
        found[record.experiment] = Comparison(other, p, better)
        if p is not None:
            raw[record.experiment] = p
    corrected = holm_correction(list(raw.values())).tolist()
    for name, p in zip(raw, corrected, strict=True):
        found[name] = replace(found[name], p=p)
    return found


def _mean(record: ResultRecord, metric: str) -> float:
    return record.metrics[metric]["mean"] if metric in record.metrics else 0.0


def _p_value(a: ResultRecord, b: ResultRecord, metric: str) -> float | None:
    """Test two records on each question's mean over the seeds; None where their questions differ."""
    if metric not in a.per_question or metric not in b.per_question:
        return None
    values = question_means(a, b, metric)
    return paired_randomisation_test(*values) if values else None


def question_means(
    a: ResultRecord,
    b: ResultRecord,
    metric: str,
) -> tuple[list[float], list[float]] | None:
    """Give each question's means over the seeds of two records; None where their questions differ."""
    first, second = _question_means(a, metric), _question_means(b, metric)
    if set(first.index) != set(second.index):
        return None
    return first.tolist(), second[first.index].tolist()


def values_by_search(records: Sequence[ResultRecord], metric: str) -> list[np.ndarray]:
    """Give the values of each search, float (seeds, questions), with the questions in one order."""
    found = []
    for record in records:
        order = np.argsort(record.per_question["question_ids"])
        found.append(np.array(record.per_question[metric])[:, order])
    return found


def _question_means(record: ResultRecord, metric: str) -> "pd.Series[float]":
    means = np.mean(record.per_question[metric], axis=0)
    return pd.Series(means, record.per_question["question_ids"])


def tested_metric(printed: Iterable[str]) -> str:
    """Choose what the tests of a table compare: the first of our metrics that it prints, else P@1."""
    names = set(printed)
    for metric in METRICS:
        if metric in names:
            return metric
    return "p@1"


def differing_options(record: ResultRecord, other: ResultRecord) -> str:
    """Name the options in which a record differs from another one, but those with columns of their own.

    Options that only one of the two has are passed over: the project did not have them at one of the times.
    """
    others = _flat(other.configuration)
    differing = []
    for key, value in _flat(record.configuration).items():
        if key not in _IN_COLUMNS and value != others.get(key, value):
            shown = value if isinstance(value, str) else json.dumps(value)
            differing.append(f"{key} = {shown}")
    return ", ".join(differing)


def _flat(configuration: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat = {}
    for key, value in configuration.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
