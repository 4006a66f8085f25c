"""Run a plan: comparisons that were written down before their test scores existed.

    python reproduce/studies/planned.py                          # all of reproduce/plan.toml
    python reproduce/studies/planned.py --only ball --data wikiqa
    python reproduce/studies/planned.py --list                   # what is there, and what is missing

The sides of a group are searched in one space, with each seed of the plan's searches, on dev alone. Where
most searches of a side choose the end of a range that may widen, it gets one value more, and all sides search
again. Only then are the chosen options trained with fresh seeds and scored on test. Every record names the
plan's SHA-256: a plan that was changed does not go on with the records of another.

    python reproduce/studies/planned.py --plan reproduce/plan_contextual.toml --embeddings glove+spacy-450d

searches the same sides in the same spaces with other word vectors, as a control.

What was interrupted goes on. The same command may run in several processes: they share the trials and seeds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import ROOT, slug
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.engine import TrainingData
from answer_ranking.evaluation.plan import Group, Plan, read_plan
from answer_ranking.evaluation.records import read_record, record_path
from answer_ranking.models.catalogue import find_entry
from answer_ranking.reproduce.experiments.data_options import EmbeddingsHome, data_options_of
from answer_ranking.reproduce.experiments.options import RESULTS, TRIALS, Experiment, RunOptions
from answer_ranking.reproduce.experiments.random_search import RandomSearch

PLAN = ROOT / "reproduce" / "plan.toml"
Space = dict[str, list[Any]]
Searched = dict[tuple[str, int], tuple[RandomSearch, pd.DataFrame]]
"""By side and seed, a search and its trials."""
Ends = set[tuple[str, bool]]
"""Options with the end of their range that was chosen; true is the upper one."""


@dataclass(frozen=True, kw_only=True)
class PlannedOptions(EmbeddingsHome):
    """Which part of which plan to run."""

    plan: Path = PLAN
    """The plan."""
    only: tuple[str, ...] = ()
    """Groups; all unless given."""
    data: tuple[str, ...] = ()
    """Data sets; all unless given."""
    list: bool = False
    """List what has been measured, and run nothing."""
    embeddings: tuple[str, ...] = ()
    """Other word vectors than the plan's, by name, as a control: its records stand beside those of the plan,
    in folders of their own, and judge nothing."""
    output: Path = Path("outputs")
    """Folder for models, run files and the state of unfinished trainings."""
    results: Path = RESULTS
    """Folder of the records."""


def planned(options: PlannedOptions) -> None:
    """Run every group of the plan on each of its data sets, as far as it is asked for."""
    plan = read_plan(options.plan)
    for kind, asked, there in (("group", options.only, plan.groups), ("data", options.data, plan.data)):
        if unknown := set(asked) - there.keys():
            raise UserError(f"the plan has no {kind} {min(unknown)!r}. It has {', '.join(there)}.")
    for name, group in plan.groups.items():
        for data in group.data:
            if name in (options.only or [name]) and data in (options.data or [data]):
                part = Part(plan, name, data, options)
                part.report() if options.list else part.run()


class Part:
    """A group of a plan on one data set."""

    def __init__(self, plan: Plan, group: str, data: str, options: PlannedOptions):
        self.plan, self.name, self.data, self.options = plan, group, data, options
        self.group: Group = plan.groups[group]
        self._loaded: dict[Any, TrainingData] = {}
        name, protocol = plan.data[data]["dataset"], plan.data[data]["protocol"]
        protocols = find_description(name).protocols
        if protocol not in protocols:
            raise UserError(f"{name} has no protocol {protocol!r}. It has {', '.join(protocols)}.")

    def report(self) -> None:
        """Print how many searches of every side have been measured."""
        for side in self.group.sides:
            found = sum(bool(self._records(side, seed)) for seed in self.plan.search_seeds)
            print(f"{self.name}, {self.data}, {side}: {found} of {len(self.plan.search_seeds)} searches")

    def run(self) -> None:
        """Search on dev until no range has to widen; then train, score test and record."""
        self._refuse_another_plan()
        factors = {name: list(values) for name, values in self.group.factors.items()}
        space = {name: list(values) for name, values in self.group.space.items()}
        for widenings in range(self.plan.most_widenings + 1):
            searched = self._search(factors, space, widenings)
            ends = self._chosen_ends(searched)
            if not ends or widenings == self.plan.most_widenings:
                break
            names = ", ".join(sorted({name for name, _ in ends}))
            print(f"{self.name}, {self.data}: wider for all sides: {names}", flush=True)
            factors, space = widened(factors, ends), widened(space, ends)
        for (side, seed), (search, trials) in searched.items():
            if not self._records(side, seed):
                self._record(side, search, trials)

    def _refuse_another_plan(self) -> None:
        """Refuse records of a plan that was changed, before hours of searching."""
        for side in self.group.sides:
            for seed in self.plan.search_seeds:
                for path in self._records(side, seed):
                    if read_record(path).search["plan"] != self.plan.sha256:
                        raise UserError(f"{path} is of another plan. Remove it, or give other --results.")

    def _search(self, factors: Space, space: Space, widenings: int) -> Searched:
        found = {}
        for seed in self.plan.search_seeds:
            for side in self.group.sides:
                name = self._name(side, seed, widenings)
                print(f"{name}", flush=True)
                search = self.search_of(side, seed, factors, space, widenings)
                path = record_path(self.options.results, name).with_suffix(TRIALS)
                folder = self.options.output / "planned" / slug(name)
                found[side, seed] = search, search.run(self._load(search.experiment), path, folder)
        return found

    def _record(self, side: str, search: RandomSearch, trials: pd.DataFrame) -> None:
        drawn = {**search.factors, **search.space}
        facts = {"plan": self.plan.sha256, "group": self.name, "side": side, "space": drawn}
        search.record(trials, self._load(search.experiment), **facts)

    def search_of(self, side: str, seed: int, factors: Space, space: Space, widenings: int) -> RandomSearch:
        options = RunOptions(
            record=self._name(side, seed, widenings),
            seeds=self.plan.seeds,
            first_seed=self.plan.first_seed,
            output=self.options.output,
            results=self.options.results,
        )
        return RandomSearch(
            experiment=replace(self._experiment(side), run=options),
            factors=factors,
            space=space,
            trials=self.group.trials,
            seed=seed,
            stops_early=False,
            folds=self.plan.data[self.data].get("folds", 1),
        )

    def _experiment(self, side: str) -> Experiment:
        own = dict(self.group.sides[side])
        entry = find_entry(own.pop("model"))
        kind = data_options_of(entry)
        known = {each.name for each in fields(kind)}
        given = {**self.plan.data[self.data], **self.group.fixed, **own}
        for name in ("protocol", "folds"):
            given.pop(name, None)
        homes = {"data_home": self.options.data_home, "embeddings_home": self.options.embeddings_home}
        of_data = {name: given.pop(name) for name in known & given.keys()} | homes
        of_data["embeddings"] = self.options.embeddings or tuple(of_data["embeddings"])
        return Experiment.of(entry.name, kind(**of_data), **given)

    def _load(self, experiment: Experiment) -> TrainingData:
        """Load the data of a side; sides with the same options share them."""
        key = (type(experiment.data), str(experiment.data))
        if key not in self._loaded:
            self._loaded[key] = experiment.data.load()
        return self._loaded[key]

    def _name(self, side: str, seed: int, widenings: int) -> str:
        wider = f"-wider-{widenings}" if widenings else ""
        data = "-".join((self.data, *map(slug, self.options.embeddings)))
        return f"planned/{self.plan.name}/{data}/{self.name}-{side}-search-{seed}{wider}"

    def _records(self, side: str, seed: int) -> "Sequence[Path]":
        """Find the records of a side's search; one whose range was widened has another name."""
        name = record_path(self.options.results, self._name(side, seed, 0))
        protocol = self.plan.data[self.data]["protocol"]
        found = []
        for path in sorted(name.parent.glob(f"{name.stem}*.json")):
            # Seed 10 is not seed 1.
            is_own = path.stem == name.stem or path.stem.startswith(f"{name.stem}-")
            if is_own and read_record(path).protocol == protocol:
                found.append(path)
        return found

    def _chosen_ends(self, searched: Searched) -> Ends:
        """Find the ends of ranges that most searches of a side chose."""
        ends = set()
        for side in self.group.sides:
            chosen: Counter[tuple[str, bool]] = Counter()
            for seed in self.plan.search_seeds:
                search, trials = searched[side, seed]
                number = int(trials.index[trials["chosen"].to_numpy(bool)][0])
                drawn = {**search.factors, **search.space}
                # All is drawn as an option, factors as they are.
                values = replace(search, factors={}, space=drawn).draw(number)
                chosen.update(_ends(values, drawn, self.group.may_widen))
            for end, times in chosen.items():
                if 2 * times > len(self.plan.search_seeds):
                    ends.add(end)
        return ends


def _ends(
    values: Mapping[str, Any], drawn: Mapping[str, Sequence[Any]], may_widen: Sequence[str]
) -> list[tuple[str, bool]]:
    """Name the ranges of which a trial drew an end; true is the upper one."""
    found = []
    for name in may_widen:
        if name in values:
            for value, is_upper in ((min(drawn[name]), False), (max(drawn[name]), True)):
                if values[name] == value:
                    found.append((name, is_upper))
    return found


def widened(ranges: Space, ends: Ends) -> Space:
    """Add one value at each end that has to widen, by the ratio of the last two.

    Example:
        >>> widened({"dimension": [50, 100], "l2": [0.0]}, {("dimension", True)})
        {'dimension': [50, 100, 200], 'l2': [0.0]}
        >>> widened({"dimension": [100, 50]}, {("dimension", False), ("dimension", True)})
        {'dimension': [100, 50, 25, 200]}
        >>> widened({"window": [1, 2, 3]}, {("window", False)})
        {'window': [1, 2, 3]}
    """
    found = {}
    for name, values in ranges.items():
        found[name] = list(values)
        for is_upper in (False, True):
            if (name, is_upper) in ends:
                first, second = sorted(set(values), reverse=is_upper)[:2]
                further = first * first / second
                if isinstance(first, int):
                    further = max(1, round(further))
                found[name] += [further] * (further not in values)
    return found


if __name__ == "__main__":
    run_command(lambda: planned(tyro.cli(PlannedOptions, description=__doc__)))
