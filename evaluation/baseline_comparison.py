"""The tests of a table's models: against their baselines, and of variants against main records."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evaluation.ranking import METRICS
from evaluation.records import ResultRecord
from evaluation.significance import holm_correction, paired_randomisation_test
from evaluation.tables import METRIC_TITLES

# The model with which the others of a table are compared, by paper; where a table does not print it, its
# record among the variants serves.
BASELINES = {
    "hyperqa": "CosineQA",
    "ctrn": "QRNN",
    "attentive_pooling": "QA-CNN",
    "cosinet": "CA",
}
# Models whose paper sets them against another one: attention over a BiLSTM against the BiLSTM without.
_OWN_BASELINES = {("attentive_pooling", "AP-BiLSTM"): "QA-BiLSTM"}

_SIGNIFICANT = 0.05
_MISSING = object()


class BaselineComparison:
    """The tests of a table's models against their baselines, corrected after Holm for their number.

    Args:
        fitting: all records on the table's data, variants as well.
        main: the record of each row, by model.
        rows: the table's printed values, see `read_paper_results`.

    Attributes:
        metric: what the tests compare.
        against: by the `experiment` of each record that stood for a baseline, the first that was compared
            with it.
        baseline: the one record that stood for the paper's baseline; None where there was none, or several.

    Example:
        >>> rows = pd.DataFrame([["hyperqa", "map"]], columns=["paper", "metric"])
        >>> BaselineComparison([], {"HyperQA": None}, rows).sentences()
        []
    """

    def __init__(
        self, fitting: Sequence[ResultRecord], main: Mapping[str, ResultRecord | None], rows: pd.DataFrame
    ) -> None:
        self._paper = rows["paper"].iloc[0]
        self.metric = next((metric for metric in METRICS if metric in set(rows["metric"])), "p@1")
        self.against: dict[str, ResultRecord] = {}
        self._p, self._better, self._untested = {}, {}, {}
        self._main = main
        filled = [record for record in main.values() if record is not None]
        self._rules = [record for record in filled if is_rule(record)]
        stood = {}
        raw = {}
        for record in filled:
            if is_rule(record):
                continue
            baseline = baseline_of(self._paper, record.model)
            if record.model == baseline:
                stood[record.experiment] = record
                continue
            against = self._find(fitting, main, record, baseline)
            p = _paired_p_value(record, against, self.metric) if against else None
            if p is None:
                self._untested.setdefault(baseline, []).append(record.model)
                continue
            self.against.setdefault(against.experiment, record)
            if baseline == BASELINES.get(self._paper):
                stood[against.experiment] = against
            raw[record.model] = p
            means = (each.metrics[self.metric]["mean"] for each in (record, against))
            self._better[record.model] = next(means) > next(means)
        self._p = _corrected(raw)
        self.baseline = next(iter(stood.values())) if len(stood) == 1 else None

    def _find(
        self,
        fitting: Sequence[ResultRecord],
        main: Mapping[str, ResultRecord | None],
        record: ResultRecord,
        baseline: str,
    ) -> ResultRecord | None:
        """Find the baseline's record: the table's own, else the variant that differs least from the other."""
        if main.get(baseline):
            return main[baseline]
        candidates = [
            each
            for each in fitting
            if (each.model, each.variant, each.embeddings) == (baseline, record.variant, record.embeddings)
        ]
        return min(candidates, key=lambda each: len(_differing_options(each, record)), default=None)

    def baseline_for(self, model: str) -> ResultRecord | None:
        """Return the record that stands for a model's baseline in this table."""
        baseline = baseline_of(self._paper, model)
        return self.baseline if baseline == BASELINES.get(self._paper) else self._main.get(baseline)

    def of_variants(self, records: Sequence[ResultRecord]) -> list[str]:
        """Compare variants that differ from their models' main records alike, as the table's models are.

        Args:
            records: the variants.

        Returns:
            A paragraph with a sentence for each way of differing that the baseline has, too; or nothing.
        """
        alike: dict[tuple[str, str, str], dict[str, ResultRecord]] = {}
        for record in records:
            main = self._main.get(record.model)
            if main is not None and not is_rule(record):
                key = (difference_of_options(record, main), record.variant, record.embeddings)
                alike.setdefault(key, {})[record.model] = record
        sentences = []
        for (difference, *_), of_model in alike.items():
            raw = {}
            for model, record in of_model.items():
                against = of_model.get(baseline_of(self._paper, model))
                p = None if against in (None, record) else _paired_p_value(record, against, self.metric)
                if p is not None:
                    raw[model] = p
            if raw and difference:
                tests = ", ".join(
                    f"{model} against {baseline_of(self._paper, model)} p = {p:.3g}"
                    for model, p in _corrected(raw).items()
                )
                sentences.append(f"With {difference}, by {METRIC_TITLES[self.metric]}: {tests}.")
        return [" ".join(sentences) + "\n"] if sentences else []

    def mark(self, model: str, metric: str) -> str:
        """Give the mark behind a model's number."""
        tested = metric == self.metric or (self.metric == "p@1" and metric == "accuracy_test1")
        if not tested or self._p.get(model, 1) >= _SIGNIFICANT:
            return ""
        return " ▲" if self._better[model] else " ▼"

    def sentences(self) -> list[str]:
        """Name the baselines, the p-values and what was not tested: a paragraph, or nothing."""
        tests: dict[str, list[str]] = {}
        for model, p in self._p.items():
            tests.setdefault(baseline_of(self._paper, model), []).append(f"{model} p = {p:.3g}")
        parts = [
            f"Against {baseline}, by {METRIC_TITLES[self.metric]}: {', '.join(of_baseline)}."
            for baseline, of_baseline in tests.items()
        ]
        parts += [
            f"Not compared with {baseline}, of which there is no record on the same questions: "
            f"{', '.join(models)}."
            for baseline, models in self._untested.items()
        ]
        parts += rules_untested(self._rules)
        return [" ".join(parts) + "\n"] if parts else []


def baseline_of(paper: str, model: str) -> str:
    """Name the model of a paper with which another one is compared; itself for the paper's baseline.

    The name is empty where the paper has none.

    Example:
        >>> [baseline_of("attentive_pooling", model) for model in ("AP-CNN", "AP-BiLSTM", "QA-CNN")]
        ['QA-CNN', 'QA-BiLSTM', 'QA-CNN']
    """
    return _OWN_BASELINES.get((paper, model), BASELINES.get(paper, ""))


def is_rule(record: ResultRecord) -> bool:
    """Tell whether a record is of a rule, which has no parameters: nothing is tested with it."""
    return record.parameters == 0


def rules_untested(records: Sequence[ResultRecord]) -> list[str]:
    """Say which of the records are of rules, and that they are not tested: a sentence, or nothing.

    Example:
        >>> record = ResultRecord(paper="cosinet", dataset="wikiqa", protocol="filtered", split="test",
        ...     model="RR", seeds=[0], metrics={}, parameters=0, seconds_per_epoch=None, command="")
        >>> rules_untested([record])
        ['Not tested, as rules without parameters: RR.']
    """
    rules = [record.model for record in records if is_rule(record)]
    return [f"Not tested, as rules without parameters: {', '.join(rules)}."] if rules else []


def main_record_of_paper(record: ResultRecord, records: Sequence[ResultRecord]) -> ResultRecord | None:
    """Find the main record with which to compare another one of its paper.

    Args:
        record: the record.
        records: all records.

    Returns:
        On the same data, split and training set, the main record of its model, else that of its baseline,
        see `baseline_of`; None where there is neither, and for the paper's baseline itself.

    Example:
        >>> common = {"paper": "ctrn", "dataset": "trecqa", "protocol": "clean", "split": "test",
        ...     "seeds": [0], "metrics": {}, "parameters": 1, "seconds_per_epoch": None, "command": "",
        ...     "main": True}
        >>> ctrn, qrnn = (ResultRecord(**common, model=model) for model in ("CTRN", "QRNN"))
        >>> main_record_of_paper(ctrn, [ctrn, qrnn]).model
        'QRNN'
    """
    names = ("paper", "dataset", "protocol", "split", "variant")
    same_data = [
        each
        for each in records
        if each.main and not is_rule(each) and all(getattr(each, n) == getattr(record, n) for n in names)
    ]
    for model in (record.model, baseline_of(record.paper, record.model)):
        found = next((each for each in same_data if each.model == model), None)
        if found is not None and found.experiment != record.experiment:
            return found
    return None


def corrected_p_values(
    records: Sequence[ResultRecord], reference: Mapping[str, ResultRecord | None], metric: str = "map"
) -> dict[str, float]:
    """Test every record against its reference on the same questions, corrected after Holm for their number.

    Args:
        records: the records; those of rules are left out.
        reference: by a record's `experiment`, what it is compared with; None, itself or no entry for nothing.
        metric: what the tests compare.

    Returns:
        The p-values by `experiment`, of those that could be tested.

    Example:
        >>> corrected_p_values([], {})
        {}
    """
    raw = {}
    for record in records:
        against = None if is_rule(record) else reference.get(record.experiment)
        p = None if against in (None, record) else _paired_p_value(record, against, metric)
        if p is not None:
            raw[record.experiment] = p
    return _corrected(raw)


def difference_of_options(record: ResultRecord, main: ResultRecord) -> str:
    """Name the options in which a record differs from the main one, but those with columns of their own.

    Args:
        record: the record.
        main: the one to compare it with.

    Returns:
        The options and their values, and those that only the other has; empty where there are none.

    Example:
        >>> common = {"paper": "hyperqa", "dataset": "wikiqa", "protocol": "filtered", "model": "HyperQA",
        ...     "split": "test", "seeds": [0], "metrics": {}, "parameters": 1, "seconds_per_epoch": None,
        ...     "command": ""}
        >>> one, other = (ResultRecord(**common, configuration={"l2": l2}) for l2 in (0.1, 0.2))
        >>> difference_of_options(one, other)
        'l2 = 0.1'
    """
    ours = _flat(record.configuration)
    parts = []
    for key in _differing_options(record, main):
        # An option that came later than other records is written down only where it is used.
        value = ours.get(key, _MISSING)
        shown = value if isinstance(value, str) else json.dumps(value) if value is not _MISSING else None
        parts.append(f"without {key}" if shown is None else f"{key} = {shown}")
    return ", ".join(parts)


def _differing_options(record: ResultRecord, main: ResultRecord) -> list[str]:
    named = {"embeddings", "variant", "dataset", "protocol"}
    ours, others = _flat(record.configuration), _flat(main.configuration)
    return [
        key
        for key in {**ours, **others}
        if key not in named and ours.get(key, _MISSING) != others.get(key, _MISSING)
    ]


def _flat(configuration: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat = {}
    for key, value in configuration.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _paired_p_value(a: ResultRecord, b: ResultRecord, metric: str) -> float | None:
    """Test two records on each question's metric; None where their questions differ."""
    if metric not in a.per_question or metric not in b.per_question:
        return None
    first, second = (
        dict(zip(each.per_question["question_ids"], np.mean(each.per_question[metric], axis=0), strict=True))
        for each in (a, b)
    )
    if first.keys() != second.keys():
        return None
    return paired_randomisation_test(list(first.values()), [second[question] for question in first])


def _corrected(raw: dict[Any, float]) -> dict[Any, float]:
    return dict(zip(raw, holm_correction(list(raw.values())), strict=True)) if raw else {}
