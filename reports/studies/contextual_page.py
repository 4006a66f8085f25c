"""The page of the plan for contextual words: each head on static vectors and on an encoder's tokens.

Static are the plan's control, the same search with other vectors, or else the comparison at equal budgets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from answer_ranking.evaluation.plan import Plan
from answer_ranking.evaluation.records import ResultRecord
from answer_ranking.reports.pages import render
from answer_ranking.reports.studies.claims import EqualBudget
from answer_ranking.reports.studies.plan_page import Records, plan_block, read_planned

# Two records of one model are of the same head where these options are the same.
_SAME_HEAD = ("eq9", "overlap_features")
_CONTROL = "glove+spacy-450d"


@dataclass(frozen=True)
class Head:
    """A side of the plan on one data set: its mean on test over all searches and seeds.

    Attributes:
        name: of the side.
        contextual: on the encoder's tokens.
        static: the same head on static vectors; None if it was not measured.
        is_control: whether that was the same search.
    """

    name: str
    contextual: float
    static: float | None
    is_control: bool


def contextual_block(
    plan: Plan, folder: Path, equal_budget: EqualBudget, rules: Sequence[ResultRecord]
) -> str:
    """Write the part of the page that comes from records: the heads, then the plan's tests."""
    heads = _heads(plan, folder, equal_budget)
    starred = False
    for of_data in heads.values():
        starred |= any(head.static is not None and not head.is_control for head in of_data)
    return render(
        "studies/contextual.md.j2",
        heads=heads,
        untrained=untrained(plan, rules),
        starred=starred,
        tests=plan_block(plan, folder),
    )


def head_lines(
    plan: Plan, folder: Path, equal_budget: EqualBudget, rules: Sequence[ResultRecord]
) -> dict[str, Any]:
    """Gather by data set what `static_and_contextual` draws; {} before the first record."""
    nothing_trained = untrained(plan, rules)
    panels = {}
    for data, heads in _heads(plan, folder, equal_budget).items():
        lines = {head.name: [head.static, head.contextual] for head in heads}
        panels[data] = {"heads": lines, "untrained": nothing_trained.get(data)}
    return panels


def encoder_points(
    plan: Plan, planned: Records, rules: Sequence[ResultRecord], data: str
) -> dict[str, list[float]]:
    """Give quality and speed of the heads on one data set, for `figures.quality_against_speed`.

    A question takes as long as by the encoder's cosine, and as the head with vectors that are there already.
    A side with a change of its own, such as hyperqa-eq9-none, is left out.
    """
    rule = _untrained_rule(plan.data[data], rules)
    if rule is None or not rule.questions_per_second:
        return {}
    found: dict[str, list[float]] = {}
    for (measured_on, _, side), records in planned.items():
        name = f"{records[0].model}, {rule.embeddings}"
        if measured_on != data or name in found or records[0].configuration.get("model") != side:
            continue
        seconds = [1 / record.questions_per_second for record in records if record.questions_per_second]
        if seconds:
            speed = 1 / (1 / rule.questions_per_second + fmean(seconds))
            found[name] = [speed, _mean(records, plan.metric), 0.0]
    return found


def _heads(plan: Plan, folder: Path, equal_budget: EqualBudget) -> dict[str, list[Head]]:
    planned, control = read_planned(plan, folder), read_planned(plan, folder, _CONTROL)
    return heads_of_plan(planned, control, equal_budget, plan.metric)


def heads_of_plan(
    planned: Records, control: Records, equal_budget: EqualBudget, metric: str
) -> dict[str, list[Head]]:
    """Find by data set the sides that have been measured, the best first; of two groups the first counts."""
    found: dict[str, dict[str, Head]] = {}
    for place, records in planned.items():
        data, _, side = place
        static = control.get(place) or _same_head(records[0], equal_budget.get(data, {}))
        on_static = _mean(static, metric) if static else None
        head = Head(side, _mean(records, metric), on_static, place in control)
        found.setdefault(data, {}).setdefault(side, head)
    ranked = {}
    for data, heads in found.items():
        ranked[data] = sorted(heads.values(), key=lambda head: head.contextual, reverse=True)
    return ranked


def untrained(plan: Plan, rules: Sequence[ResultRecord]) -> dict[str, float]:
    """Find by data set what the cosine of the encoder's mean vectors has, with nothing trained."""
    found = {}
    for data, values in plan.data.items():
        rule = _untrained_rule(values, rules)
        if rule is not None:
            found[data] = rule.metrics[plan.metric]["mean"]
    return found


def _untrained_rule(values: Mapping[str, Any], rules: Sequence[ResultRecord]) -> ResultRecord | None:
    """Find the record of the encoder's cosine on the data set of a plan."""
    wanted = (values["dataset"], values["protocol"], values["embeddings"][0])
    for rule in rules:
        if (rule.dataset, rule.protocol, rule.embeddings) == wanted:
            return rule
    return None


def _same_head(
    record: ResultRecord, models: Mapping[str, Mapping[str, Sequence[ResultRecord]]]
) -> Sequence[ResultRecord]:
    """Find the searches of the same head on static vectors; none if there are none."""
    for searches in models.values():
        static = searches.get(record.protocol, ())
        if static and static[0].model == record.model:
            options = static[0].configuration
            if all(options.get(name) == record.configuration.get(name) for name in _SAME_HEAD):
                return static
    return ()


def _mean(records: Sequence[ResultRecord], metric: str) -> float:
    return fmean(record.metrics[metric]["mean"] for record in records)
