"""A plan of comparisons, written down before any of their test scores exists."""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import decode_text, read_content


@dataclass(frozen=True, kw_only=True)
class PlannedComparison:
    """The question whether one side of a group is better than another."""

    question: str
    better: str
    worse: str


@dataclass(frozen=True, kw_only=True)
class Group:
    """Sides that are searched in one space, and what is asked about them.

    Attributes:
        data: names of the plan's data sets.
        trials: how many trials each search has.
        factors: values by which the usual learning rate or batch size is multiplied.
        space: the values of the other options that are drawn.
        may_widen: options whose range is widened where most searches of a side choose its end.
        fixed: options that all sides have.
        sides: by name, the model and its own options.
        comparisons: what is asked.
    """

    data: tuple[str, ...]
    trials: int
    factors: Mapping[str, Sequence[float]]
    space: Mapping[str, Sequence[Any]]
    may_widen: tuple[str, ...]
    fixed: Mapping[str, Any]
    sides: Mapping[str, Mapping[str, Any]]
    comparisons: tuple[PlannedComparison, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared with what, on which data, and by which rule.

    Attributes:
        name: of the file, without its ending; its records lie in a folder of this name.
        sha256: of the file; every record of the plan names it.
        seeds, first_seed: with which seeds the chosen options are trained and scored on test.
        search_seeds: a whole search is done with each of them.
        metric: what is compared.
        level: of the tests, after Holm's correction over all comparisons and data sets of the plan.
        margin: two sides are equal where both differences of more than this are rejected.
        most_widenings: how often a range may be widened.
        data: by name, the options of the data, the `protocol` whose questions count, and the `folds`.
        groups: by name.
    """

    name: str
    sha256: str
    seeds: int
    first_seed: int
    search_seeds: tuple[int, ...]
    metric: str
    level: float
    margin: float
    most_widenings: int
    data: Mapping[str, Mapping[str, Any]]
    groups: Mapping[str, Group]

    @property
    def n_tests(self) -> int:
        """How many tests the plan has, those that were not run included."""
        return sum(len(group.data) * len(group.comparisons) for group in self.groups.values())


def read_plan(path: str | Path) -> Plan:
    """Read a plan; a UserError says what is wrong with it.

    Example:
        >>> read_plan("reproduce/plan.toml").groups["ball"].sides["cosineqa"]  # doctest: +SKIP
        {'model': 'cosineqa'}
    """
    content = read_content(path)
    try:
        values = tomllib.loads(decode_text(content, path))
        groups = {}
        for name, group in values["groups"].items():
            comparisons = tuple(PlannedComparison(**each) for each in group.pop("comparisons"))
            group["space"] = {name: _with_none(drawn) for name, drawn in group["space"].items()}
            groups[name] = Group(**_known(Group, group), comparisons=comparisons)
        own = {name: value for name, value in values.items() if name != "groups"}
        digest = hashlib.sha256(content).hexdigest()
        plan = Plan(**_known(Plan, own), groups=groups, name=Path(path).stem, sha256=digest)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is not a plan: {error}.") from error
    _check(plan, path)
    return plan


def _known(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """Give lists as tuples where the class has them; the class itself refuses what it does not know."""
    kinds = {each.name: each.type for each in fields(kind)}
    found = {}
    for name, value in values.items():
        is_tuple = str(kinds.get(name)).startswith("tuple")
        found[name] = tuple(value) if is_tuple else value
    return found


def _with_none(values: Sequence[Any]) -> list[Any]:
    """Read "None" as None, which TOML lacks, and lists as the tuples that options have."""
    found = []
    for value in values:
        if isinstance(value, list):
            value = tuple(value)
        found.append(None if value == "None" else value)
    return found


def _check(plan: Plan, path: str | Path) -> None:
    for name, group in plan.groups.items():
        where = f"{path}, group {name}"
        for each in group.comparisons:
            for side in (each.better, each.worse):
                if side not in group.sides:
                    raise UserError(f"{where}: no side {side!r}. It has {', '.join(group.sides)}.")
        if unknown := set(group.data) - plan.data.keys():
            raise UserError(f"{where}: no data {min(unknown)!r}. The plan has {', '.join(plan.data)}.")
        if twice := group.factors.keys() & group.space.keys():
            raise UserError(f"{where}: {min(twice)} is a factor and an option of the space. Give it once.")
        if unknown := set(group.may_widen) - group.space.keys() - group.factors.keys():
            raise UserError(f"{where}: {min(unknown)} may widen, but is not drawn.")
        for option, values in {**group.space, **group.factors}.items():
            numbers = [value for value in values if isinstance(value, int | float) and value > 0]
            if option in group.may_widen and (len(numbers) < len(values) or len(set(numbers)) < 2):
                raise UserError(f"{where}: {option} may widen, but has not two numbers, all above 0.")
    later = range(plan.first_seed, plan.first_seed + plan.seeds)
    if set(plan.search_seeds) & set(later):
        raise UserError(f"{path}: a seed of a search is a seed for test. Choose other search_seeds.")
