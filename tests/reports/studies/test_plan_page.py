"""The verdicts of a plan, against tests by SciPy and corrections by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from answer_ranking.evaluation.plan import Group, Plan, PlannedComparison
from answer_ranking.evaluation.significance import crossed_test
from answer_ranking.reports.studies.claims import HOLDS, NOT_SIGNIFICANT, REVERSED
from answer_ranking.reports.studies.plan_page import EQUAL, NOT_RUN, judge

GROUP = Group(
    data=("sample",),
    trials=1,
    factors={},
    space={},
    may_widen=(),
    fixed={},
    sides={"a": {}, "b": {}, "c": {}},
    comparisons=(
        PlannedComparison(question="?", better="a", worse="b"),
        PlannedComparison(question="?", better="a", worse="c"),
    ),
)
PLAN = Plan(
    name="plan",
    sha256="x",
    seeds=2,
    first_seed=100,
    search_seeds=(0, 1),
    metric="map",
    level=0.05,
    margin=0.02,
    most_widenings=0,
    data={"sample": {}},
    groups={"g": GROUP},
)


def searches(values, spread=1e-3):
    """Two searches of two seeds, whose means differ; the second has its questions backwards."""
    ids = list(range(len(values)))
    first, second = values + spread, values - spread
    return [
        SimpleNamespace(per_question={"question_ids": ids, "map": [first, first]}),
        SimpleNamespace(per_question={"question_ids": ids[::-1], "map": [second[::-1], second[::-1]]}),
    ]


@pytest.mark.parametrize(
    ("shift", "noise", "expected"),
    [(0.1, 0.05, HOLDS), (-0.1, 0.05, REVERSED), (0.001, 0.01, EQUAL), (0.0, 0.3, NOT_SIGNIFICANT)],
)
def test_verdicts_and_the_correction_for_what_is_missing(shift, noise, expected):
    draw = np.random.default_rng(0)
    base = draw.uniform(0.3, 0.7, 60)
    better = base + shift + noise * draw.normal(size=60)
    records = {("sample", "g", "a"): searches(better), ("sample", "g", "b"): searches(base)}
    found, missing = judge(PLAN, records)
    assert found.verdict == expected and missing.verdict == NOT_RUN and missing.p is None
    assert found.test.difference == pytest.approx(np.mean(better - base))
    # Two tests are planned, of which one is missing.
    assert found.p == pytest.approx(min(1, 2 * found.test.p))
    # A side with one search of two is not tested yet.
    records["sample", "g", "a"].pop()
    assert {each.verdict for each in judge(PLAN, records)} == {NOT_RUN}


@pytest.mark.parametrize("margin", [0.005, 0.012, 0.02, 0.2])
def test_equality_is_two_one_sided_tests(margin):
    """Without a spread of the seeds the crossed test is the paired t test."""
    draw = np.random.default_rng(1)
    base, other = draw.uniform(size=(2, 50))
    other = base + 0.03 * (other - 0.5)
    found = crossed_test([[base, base]], [[other, other]])
    difference = base - other
    sides = (
        stats.ttest_1samp(difference, margin, alternative="less").pvalue,
        stats.ttest_1samp(difference, -margin, alternative="greater").pvalue,
    )
    assert found.is_within(margin) == (max(sides) < 0.05)
    assert not replace(found, error=10.0).is_within(margin)
