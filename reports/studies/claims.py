"""The papers' claims "A beats B", tested on the records of reproduce/studies/equal_budget.py.

`reproduce/results/claims.json` and the table of `docs/claims.md` are written from these records and the
`claims` of `papers.toml`, by `python -m answer_ranking.reports`.
"""

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.comparisons import SIGNIFICANT, question_means, values_by_search
from answer_ranking.evaluation.metrics import mean_confidence_interval, strictest
from answer_ranking.evaluation.papers import Papers
from answer_ranking.evaluation.records import ResultRecord, read_record
from answer_ranking.evaluation.significance import crossed_test, holm_correction, paired_randomisation_test
from answer_ranking.reports.pages import render

HOLDS, NOT_SIGNIFICANT, REVERSED = VERDICTS = ("holds", "not significant", "reversed")
POWER = 0.8
_METRIC = "map"
_DIGITS = 6

Runs = Mapping[str, Sequence[ResultRecord]]
"""The runs of a model on a data set: by protocol, a record for each repetition of its search."""
EqualBudget = Mapping[str, Mapping[str, Runs]]
"""Runs by data set and name."""


def read_equal_budget(folder: Path) -> EqualBudget:
    """Read the records of the comparison at equal budgets; a data set is a folder, a name that of a file.

    Repetitions of a search have a name that ends in -search-N; they stand behind the search of that name.
    """
    found: dict[str, dict[str, dict[str, list[ResultRecord]]]] = {}
    for path in sorted(folder.glob("*/*.json")):
        record = read_record(path)
        if not {"search_seed", "trials"} <= record.search.keys():
            raise UserError(f"{path} is not a record of reproduce/studies/equal_budget.py. Remove it.")
        name = path.stem.removesuffix(f"-{record.protocol}")
        name = name.removesuffix(f"-search-{record.search['search_seed']}")
        models = found.setdefault(path.parent.name, {})
        runs = models.setdefault(name, {}).setdefault(record.protocol, [])
        runs.append(record)
        runs.sort(key=lambda each: each.search["search_seed"])
    return found


@dataclass(frozen=True)
class ClaimResult:
    """A claim on one data set: a line of claims.json."""

    claim: str
    paper: str
    dataset: str
    protocol: str
    printed_difference: float | None
    ours: float
    ci95: float
    p: float  # after Holm
    p_crossed: float  # over seeds and searches, too; after Holm
    searches: list[int]  # of both sides
    trials: int
    seeds: int
    # The least difference that the test, at Holm's strictest level, finds in four of five repetitions.
    detectable: float
    verdict: str


def claims(runs: EqualBudget, papers: Papers) -> list[ClaimResult]:
    """Test every claim on those of its data sets that have both records.

    The test is a paired randomisation test over the questions, on each question's mean over the seeds. It is
    corrected after Holm for all tests that the claims name, those without records included: what is run later
    takes no significance away. `p_crossed` is exploratory: it came later, and judges nothing.
    """
    planned, pairs = 0, []
    for claim in papers.claims:
        for dataset in claim["data"]:
            planned += 1
            if pair := _pair(claim, dataset, runs.get(dataset, {}), papers):
                pairs.append(pair)
    raw = [paired_randomisation_test(*_question_means(pair)) for pair in pairs]
    raw_crossed = []
    for pair in pairs:
        values = [values_by_search(searches, _METRIC) for searches in pair.searches]
        raw_crossed.append(crossed_test(*values).p)
    of_missing = [1.0] * (planned - len(raw))
    corrected = holm_correction([*raw, *of_missing]).tolist()
    corrected_crossed = holm_correction([*raw_crossed, *of_missing]).tolist()
    found = []
    for pair, p, p_crossed in zip(pairs, corrected, corrected_crossed, strict=False):
        found.append(_tested(pair, p, p_crossed, planned))
    return found


@dataclass(frozen=True)
class _Pair:
    """The records of both sides of a claim on a data set, and what the claim's paper prints as difference."""

    claim: Mapping[str, Any]
    dataset: str
    searches: tuple[Sequence[ResultRecord], Sequence[ResultRecord]]
    printed: float | None

    @property
    def better(self) -> ResultRecord:
        """The first search of the side that is claimed to be better."""
        return self.searches[0][0]

    @property
    def worse(self) -> ResultRecord:
        """The first search of the other side."""
        return self.searches[1][0]


def _pair(
    claim: Mapping[str, Any],
    dataset: str,
    models: Mapping[str, Runs],
    papers: Papers,
) -> _Pair | None:
    """Find the first searches of both names, of several protocols under that which the paper prints."""
    better, worse = models.get(claim["better"], {}), models.get(claim["worse"], {})
    first = None
    for protocol in sorted(better.keys() & worse.keys()):
        searches = better[protocol], worse[protocol]
        printed = None
        if claim.get("printed", True):
            printed = _printed_difference(claim["paper"], searches[0][0], searches[1][0], papers)
        pair = _Pair(claim, dataset, searches, printed)
        if printed is not None:
            return pair
        first = first or pair
    return first


def _printed_difference(
    paper: str,
    a: ResultRecord,
    b: ResultRecord,
    papers: Papers,
) -> float | None:
    """Subtract what the claim's paper prints, for the models of other papers, too."""
    ours = papers.printed_row(replace(a, paper=paper))[1].get(_METRIC)
    theirs = papers.printed_row(replace(b, paper=paper))[1].get(_METRIC)
    if ours is None or theirs is None:
        return None
    return round(float(ours) - float(theirs), _DIGITS)


def _question_means(pair: _Pair) -> tuple[list[float], list[float]]:
    """Give each question's mean over the seeds for both sides, which must have had the same conditions."""
    names = f"{pair.claim['better']} and {pair.claim['worse']} on {pair.dataset}"
    if _budget(pair.better) != _budget(pair.worse):
        raise UserError(f"{names} had different budgets. Run both with the same --trials and --seeds.")
    values = question_means(pair.better, pair.worse, _METRIC)
    if values is None or pair.better.embeddings != pair.worse.embeddings:
        raise UserError(f"{names} have different questions or word vectors. Run both again.")
    return values


def _budget(record: ResultRecord) -> tuple[int, int]:
    return record.search["trials"], len(record.seeds)


def _tested(pair: _Pair, p: float, p_crossed: float, planned: int) -> ClaimResult:
    differences = np.subtract(*_question_means(pair))
    mean, half_width = mean_confidence_interval(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    quantile = statistics.NormalDist().inv_cdf
    strictness = quantile(1 - SIGNIFICANT / 2 / planned) + quantile(POWER)
    trials, seeds = _budget(pair.better)
    return ClaimResult(
        claim=pair.claim["claim"],
        paper=pair.claim["paper"],
        dataset=pair.dataset,
        protocol=pair.better.protocol,
        printed_difference=pair.printed,
        ours=round(mean, _DIGITS),
        ci95=round(half_width, _DIGITS),
        p=round(p, _DIGITS),
        p_crossed=round(p_crossed, _DIGITS),
        searches=[len(each) for each in pair.searches],
        trials=trials,
        seeds=seeds,
        detectable=round(strictness * error, _DIGITS),
        verdict=verdict(mean, p),
    )


def verdict(difference: float, p: float, level: float = SIGNIFICANT) -> str:
    """Say what became of a claim."""
    if p >= level:
        return NOT_SIGNIFICANT
    return HOLDS if difference > 0 else REVERSED


def claims_file(found: Sequence[ClaimResult]) -> str:
    """Write the claims as JSON, one a line."""
    lines = [json.dumps(asdict(each), ensure_ascii=False, allow_nan=False) for each in found]
    return "[\n  " + ",\n  ".join(lines) + "\n]\n" if lines else "[]\n"


def claims_block(
    found: Sequence[ClaimResult],
    runs: EqualBudget,
    papers: Papers,
    rules: Sequence[ResultRecord] = (),
) -> str:
    """Write the part of the page that comes from the records: `found` are the claims, `rules` those of rules.

    Example:
        >>> from answer_ranking.evaluation.papers import read_papers
        >>> claims_block([], {}, read_papers())
        'No claim has been tested yet.'
    """
    holding = [each for each in found if each.verdict == HOLDS]
    return render(
        "studies/claims.md.j2",
        claims=found,
        holding=len(holding),
        holding_crossed=sum(each.p_crossed < SIGNIFICANT for each in holding),
        grid=claims_grid(found),
        counts=count_verdicts(found),
        missing=_missing(found, papers),
        models=list(models(runs, rules)),
        repeats=list(repeats(runs, papers)),
    )


def claims_grid(found: Iterable[ClaimResult]) -> pd.DataFrame:
    """Set the claims against the data sets: the difference, and in bold the verdict if it is significant."""
    cells: dict[str, dict[str, str]] = {}
    datasets: dict[str, None] = {}
    for each in found:
        cell = f"{each.ours:+.3f}"
        if each.verdict != NOT_SIGNIFICANT:
            cell = f"**{each.verdict} {cell}**"
        cells.setdefault(each.claim, {})[each.dataset] = cell
        datasets[each.dataset] = None
    rows = []
    for claim, by_dataset in cells.items():
        rows.append([claim, *(by_dataset.get(dataset, "–") for dataset in sorted(datasets))])
    return pd.DataFrame(rows, columns=["claim", *sorted(datasets)])


def count_verdicts(found: Iterable[ClaimResult]) -> dict[str, int]:
    """Count the claims by verdict."""
    counts = dict.fromkeys(VERDICTS, 0)
    for each in found:
        counts[each.verdict] += 1
    return counts


def _missing(found: Sequence[ClaimResult], papers: Papers) -> dict[str, list[str]]:
    """Find the claims that are not tested on all of their data sets, with those that are missing."""
    tested = {(each.claim, each.dataset) for each in found}
    missing: dict[str, list[str]] = {}
    for each in papers.claims:
        for dataset in each["data"]:
            if (each["claim"], dataset) not in tested:
                missing.setdefault(each["claim"], []).append(dataset)
    return missing


@dataclass(frozen=True)
class Model:
    """What became of a model or rule on a data set, under the strictest protocol and another one."""

    dataset: str
    name: str
    record: ResultRecord
    laxer: ResultRecord | None

    @property
    def quality(self) -> float:
        return self.record.metrics[_METRIC]["mean"]


def models(runs: EqualBudget, rules: Sequence[ResultRecord] = ()) -> Iterator[Model]:
    """List what became of every model and of the rules, the best of a data set first."""
    for dataset, by_name in runs.items():
        found = []
        for name, by_protocol in _with_rules(by_name, rules).items():
            record, laxer = _strictest(by_protocol), None
            for searches in by_protocol.values():
                if searches[0] is not record:
                    laxer = laxer or searches[0]
            found.append(Model(dataset, name, record, laxer))
        yield from sorted(found, key=lambda model: -model.quality)


def _with_rules(by_name: Mapping[str, Runs], rules: Sequence[ResultRecord]) -> dict[str, Runs]:
    """Add the rules to the models of a data set."""
    found: dict[str, Any] = dict(by_name)
    first = next(iter(by_name.values()))
    dataset = next(iter(first.values()))[0].dataset
    for record in rules:
        if record.dataset == dataset and record.protocol in first:
            found.setdefault(_title_of_rule(record), {})[record.protocol] = [record]
    return found


def _title_of_rule(record: ResultRecord) -> str:
    """Name a rule, and the encoder that it reads, if any."""
    return f"{record.model}, {record.embeddings}" if record.embeddings else record.model


def _strictest(runs: Runs) -> ResultRecord:
    return runs[strictest(runs)][0]


def speed_points(by_name: Mapping[str, Runs], rules: Sequence[ResultRecord] = ()) -> dict[str, list[float]]:
    """Give quality and speed of the models and rules of one data set, for `figures.quality_against_speed`.

    A run with a change of its own, such as hyperqa-eq9-none, is left out.
    """
    found = {}
    for name, runs in _with_rules(by_name, rules).items():
        record = _strictest(runs)
        if record.questions_per_second and _is_plain(name, record):
            summary = record.metrics[_METRIC]
            title = record.model if name in by_name else name
            found[title] = [record.questions_per_second, summary["mean"], summary["ci95"] or 0.0]
    return found


def plain_searches(runs: EqualBudget) -> Iterator[ResultRecord]:
    """Give the first search of every model on each data set, without runs with a change of their own."""
    for by_name in runs.values():
        for name, by_protocol in by_name.items():
            for searches in by_protocol.values():
                if _is_plain(name, searches[0]):
                    yield searches[0]


def _is_plain(name: str, record: ResultRecord) -> bool:
    """Tell whether a run has no change of its own, as hyperqa-eq9-none has."""
    return record.configuration.get("model", name) == name


@dataclass(frozen=True)
class Repeat:
    """MAP of a run, or of a claim's difference, for every repetition of the search."""

    title: str
    values: list[float]
    number: str  # the format of a value
    of_seeds: float | None  # the deviation of the seeds of the first search

    @property
    def of_searches(self) -> float:
        return statistics.stdev(self.values)


def repeats(runs: EqualBudget, papers: Papers) -> Iterator[Repeat]:
    """Find the runs whose whole search was repeated, and the claims about them."""
    for dataset, by_name in runs.items():
        repeated: dict[str, dict[int, float]] = {}
        for name, by_protocol in by_name.items():
            searches = by_protocol[strictest(by_protocol)]
            if len(searches) > 1:
                means = {}
                for each in searches:
                    means[each.search["search_seed"]] = each.metrics[_METRIC]["mean"]
                repeated[name] = means
                of_seeds = statistics.stdev(searches[0].metrics[_METRIC]["per_seed"])
                yield Repeat(f"{dataset}, {name}", list(means.values()), ".3f", of_seeds)
        for claim in papers.claims:
            better, worse = repeated.get(claim["better"], {}), repeated.get(claim["worse"], {})
            seeds = sorted(better.keys() & worse.keys())
            if len(seeds) > 1:
                differences = [better[seed] - worse[seed] for seed in seeds]
                yield Repeat(claim["claim"], differences, "+.3f", None)
