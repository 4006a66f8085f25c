"""The plans of the repository name what exists, and options that their models take."""

from pathlib import Path

import pytest

from answer_ranking.evaluation.plan import read_plan
from answer_ranking.reproduce.studies.planned import Part, PlannedOptions

FOLDER = Path(__file__).parents[2] / "reproduce"
TESTS = {"plan.toml": 16, "plan_contextual.toml": 13, "plan_contextual_more.toml": 6, "plan_printed.toml": 3}


@pytest.mark.parametrize("name", TESTS)
def test_every_side_takes_what_its_group_draws(name):
    plan = read_plan(FOLDER / name)
    assert plan.n_tests == TESTS[name]
    for name, group in plan.groups.items():
        for data in group.data:
            part = Part(plan, name, data, PlannedOptions())
            taken = set()
            for side in group.sides:
                search = part.search_of(side, 0, dict(group.factors), dict(group.space), 0)
                drawn = search.draw(0)
                search.experiment.changed(**drawn)  # refuses what is unknown or out of range
                taken |= drawn.keys()
            assert taken == {*group.factors, *group.space}
