"""The page of the plan: what each of its comparisons came to, those not yet run included."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.comparisons import values_by_search
from answer_ranking.evaluation.plan import Plan, PlannedComparison
from answer_ranking.evaluation.records import ResultRecord, read_record
from answer_ranking.evaluation.significance import CrossedTest, crossed_test, holm_correction
from answer_ranking.reports.pages import render
from answer_ranking.reports.studies.claims import verdict

EQUAL, NOT_RUN = "equal", "not run yet"
"""The verdicts beside those of claims."""


@dataclass(frozen=True)
class Planned:
    """A comparison on one data set; `test` and `p` (after Holm) are None until it has been run."""

    group: str
    data: str
    comparison: PlannedComparison
    means: tuple[float, float] | None = None
    test: CrossedTest | None = None
    p: float | None = None
    verdict: str = NOT_RUN


@dataclass(frozen=True)
class Side:
    """What the searches of a side came to: the metric on test by search, and the parameters of the models."""

    data: str
    group: str
    name: str
    values: list[float]
    parameters: list[int]


def plan_block(plan: Plan, folder: Path) -> str:
    """Write the part of the page that comes from the plan and the records in a folder."""
    records = read_planned(plan, folder)
    sides = []
    for (data, group, name), found in sorted(records.items()):
        values = [record.metrics[plan.metric]["mean"] for record in found]
        sides.append(Side(data, group, name, values, [record.parameters for record in found]))
    return render("studies/plan.md.j2", plan=plan, tests=judge(plan, records), sides=sides)


Records = dict[tuple[str, str, str], list[ResultRecord]]
"""By data set, group and side, a record for each search."""


def read_planned(plan: Plan, folder: Path, embeddings: str = "") -> Records:
    """Read the records of a plan, or of its control with other `embeddings`.

    A UserError names a record of another plan.
    """
    found: Records = {}
    for data, values in plan.data.items():
        place = folder / (f"{data}-{embeddings}" if embeddings else data)
        for path in sorted(place.glob("*.json")):
            record = read_record(path)
            if record.search.get("plan") != plan.sha256:
                raise UserError(f"{path} is not a record of the plan. Remove it, or bring the plan back.")
            if record.protocol == values["protocol"]:
                side = data, record.search["group"], record.search["side"]
                found.setdefault(side, []).append(record)
    return found


def judge(plan: Plan, records: Records) -> list[Planned]:
    """Test every comparison whose searches are all there; those that are missing count in the correction."""
    tested, missing = [], []
    for name, group in plan.groups.items():
        for data in group.data:
            for comparison in group.comparisons:
                better = records.get((data, name, comparison.better), [])
                worse = records.get((data, name, comparison.worse), [])
                planned = Planned(name, data, comparison)
                if len(better) == len(worse) == len(plan.search_seeds):
                    tested.append(_tested(plan, planned, better, worse))
                else:
                    missing.append(planned)
    p_values = [test.p for _, test in tested]
    corrected = holm_correction([*p_values, *[1.0] * len(missing)]).tolist()
    judged = []
    for (planned, test), p in zip(tested, corrected, strict=False):
        judged.append(replace(planned, test=test, p=p, verdict=_verdict(plan, test, p)))
    return [*judged, *missing]


def _tested(
    plan: Plan, planned: Planned, better: Sequence[ResultRecord], worse: Sequence[ResultRecord]
) -> tuple[Planned, CrossedTest]:
    ours, theirs = values_by_search(better, plan.metric), values_by_search(worse, plan.metric)
    means = float(np.mean(ours)), float(np.mean(theirs))
    return replace(planned, means=means), crossed_test(ours, theirs)


def _verdict(plan: Plan, test: CrossedTest, p: float) -> str:
    if p >= plan.level and test.is_within(plan.margin, plan.level):
        return EQUAL
    return verdict(test.difference, p, plan.level)
