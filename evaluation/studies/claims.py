"""The papers' claims "A beats B", tested on the records of reproduce/studies/fair.py.

`reproduce/results/claims.json` and the table of `docs/claims.md` are written from these records and the
`claims` of `papers.toml`, by `python -m answer_ranking.reports`.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.comparisons import SIGNIFICANT, question_means
from answer_ranking.evaluation.metrics import mean_confidence_interval, strictest
from answer_ranking.evaluation.records import ResultRecord, read_record
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test
from answer_ranking.evaluation.tables import Papers, format_measured, markdown_table, wrapped

HOLDS, UNSHOWN, TURNS = "holds", "does not show", "turns round"
POWER = 0.8
_METRIC = "map"

Runs = Mapping[str, Sequence[ResultRecord]]
"""The runs of a model on a data set: by protocol, a record for each repetition of its search."""
Fair = Mapping[str, Mapping[str, Runs]]
"""Runs by data set and name."""


def read_fair(folder: Path) -> Fair:
    """Read the records of the fair fight; a data set is a folder, a name that of a file.

    Repetitions of a search have a name that ends in -search-N; they stand behind the search of that name.
    """
    found: dict[str, dict[str, dict[str, list[ResultRecord]]]] = {}
    for path in sorted(folder.glob("*/*.json")):
        record = read_record(path)
        if not {"search_seed", "trials"} <= record.search.keys():
            raise UserError(f"{path} is no record of reproduce/studies/fair.py. Remove it.")
        name = path.stem.removesuffix(f"-{record.protocol}")
        name = name.removesuffix(f"-search-{record.search['search_seed']}")
        runs = found.setdefault(path.parent.name, {}).setdefault(name, {}).setdefault(record.protocol, [])
        runs.append(record)
        runs.sort(key=lambda each: each.search["search_seed"])
    return found


def claims(fair: Fair, papers: Papers) -> list[dict[str, Any]]:
    """Test every claim on those of its data sets that have both records.

    The test is a paired randomisation test over the questions, on each question's mean over the seeds. It is
    corrected after Holm for all tests that the claims name, those without records included: a verdict does
    not depend on which of them have been run. `detectable` is the least difference that this test, at Holm's
    strictest level, finds in four of five repetitions.
    """
    found, planned = [], 0
    for claim in papers.claims:
        for dataset in claim["data"]:
            planned += 1
            pairs = _pairs(fair.get(dataset, {}), claim["better"], claim["worse"])
            if not pairs:
                continue
            printed = [
                _printed_difference(claim["paper"], *pair, papers) if claim.get("printed", True) else None
                for pair in pairs
            ]
            # Of several protocols the one that the paper prints.
            place = next((i for i, each in enumerate(printed) if each is not None), 0)
            found.append(_tested(claim, dataset, *pairs[place], printed[place]))
    of_missing = [1.0] * (planned - len(found))
    corrected = holm_correction([*(each["p"] for each in found), *of_missing]).tolist()
    normal = statistics.NormalDist().inv_cdf
    for each, p in zip(found, corrected, strict=False):
        strictness = normal(1 - SIGNIFICANT / 2 / planned) + normal(POWER)
        each["p"] = round(p, 6)
        each["detectable"] = round(strictness * each.pop("error"), 6)
        each["verdict"] = verdict(each["ours"], p)
    return found


def verdict(difference: float, p: float) -> str:
    """Say what became of a claim."""
    if p >= SIGNIFICANT:
        return UNSHOWN
    return HOLDS if difference > 0 else TURNS


def _pairs(models: Mapping[str, Runs], better: str, worse: str) -> list[tuple[ResultRecord, ResultRecord]]:
    """Find the first searches of two names, a pair per protocol."""
    a, b = models.get(better, {}), models.get(worse, {})
    return [(a[protocol][0], b[protocol][0]) for protocol in sorted(a.keys() & b.keys())]


def _printed_difference(
    paper: str, better: ResultRecord, worse: ResultRecord, papers: Papers
) -> float | None:
    """Subtract what the claim's paper prints, for the models of other papers, too."""
    rows = (papers.printed_row(replace(each, paper=paper))[1] for each in (better, worse))
    ours, theirs = (row.get(_METRIC) for row in rows)
    return None if ours is None or theirs is None else round(float(ours) - float(theirs), 6)


def _tested(
    claim: Mapping[str, Any], dataset: str, better: ResultRecord, worse: ResultRecord, printed: float | None
) -> dict[str, Any]:
    budgets = [(each.search["trials"], len(each.seeds)) for each in (better, worse)]
    names = f"{claim['better']} and {claim['worse']} on {dataset}"
    if budgets[0] != budgets[1]:
        raise UserError(f"{names} had different budgets. Run both with the same --trials and --seeds.")
    values = question_means(better, worse, _METRIC)
    if values is None or better.embeddings != worse.embeddings:
        raise UserError(f"{names} have different questions or word vectors. Run both again.")
    differences = np.subtract(*values)
    mean, half_width = mean_confidence_interval(differences)
    return {
        "claim": claim["claim"],
        "paper": claim["paper"],
        "dataset": dataset,
        "protocol": better.protocol,
        "printed_difference": printed,
        "ours": round(mean, 6),
        "ci95": round(half_width, 6),
        "p": paired_randomisation_test(*values),
        "error": float(differences.std(ddof=1)) / math.sqrt(len(differences)),
        "trials": budgets[0][0],
        "seeds": budgets[0][1],
    }


def claims_file(found: Sequence[Mapping[str, Any]]) -> str:
    """Write the claims as JSON, one a line."""
    lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False, allow_nan=False)}" for each in found)
    return f"[\n{lines}\n]\n" if found else "[]\n"


def claims_block(
    found: Sequence[Mapping[str, Any]],
    fair: Fair,
    papers: Papers,
    rules: Sequence[ResultRecord] = (),
) -> str:
    """Write the part of the page that comes from the records: `found` are the claims, `rules` those of rules.

    Example:
        >>> from answer_ranking.evaluation.tables import read_papers
        >>> claims_block([], {}, read_papers())
        'No claim has been tested yet.'
    """
    parts = []
    if found:
        header = ["claim", "paper", "data", "printed", "ours", "p", "detectable", "budget", "verdict"]
        parts.append(markdown_table(header, [_row(each) for each in found]))
        verdicts = [each["verdict"] for each in found]
        counts = ", ".join(f"{each} {verdicts.count(each)}" for each in (HOLDS, UNSHOWN, TURNS))
        tested = {(each["claim"], each["dataset"]) for each in found}
        missing = {
            each["claim"]: ", ".join(data for data in each["data"] if (each["claim"], data) not in tested)
            for each in papers.claims
        }
        listed = "; ".join(f"{claim} ({data})" for claim, data in missing.items() if data)
        untested = f" Not run yet: {listed}." if listed else ""
        parts.append(wrapped(f"Of {len(found)} tests: {counts}.{untested}"))
    parts += ["### Every model", models_table(fair, rules)] if fair else []
    if repeats := repeats_table(fair, papers):
        parts += ["### How much depends on the search", repeats]
    return "\n\n".join(parts) or "No claim has been tested yet."


def _row(claim: Mapping[str, Any]) -> list[str]:
    printed = claim["printed_difference"]
    return [
        claim["claim"],
        claim["paper"],
        f"{claim['dataset']}, {claim['protocol']}",
        "–" if printed is None else f"{printed:+.3f}",
        f"{claim['ours']:+.3f} ± {claim['ci95']:.3f}",
        f"{claim['p']:.2g}",
        f"{claim['detectable']:.3f}" if claim["verdict"] == UNSHOWN else "",
        _budget(claim, claim["seeds"]),
        f"**{claim['verdict']}**",
    ]


def _budget(search: Mapping[str, Any], seeds: int) -> str:
    return f"{search['trials']} trials, {seeds} seeds"


def models_table(fair: Fair, rules: Sequence[ResultRecord] = ()) -> str:
    """Set what became of every model and of the rules, the best first: quality on test, size and speed."""
    header = ["data", "model", "MAP", "MAP, clean", "parameters", "training, s", "questions/s", "budget"]
    rows = []
    for dataset, models in fair.items():
        runs = _with_rules(models, rules)
        for name in sorted(runs, key=lambda name: -_strictest(runs[name]).metrics[_METRIC]["mean"]):
            record = _strictest(runs[name])
            others = [each[0] for each in runs[name].values() if each[0] is not record]
            both = [format_measured(each.metrics[_METRIC]) for each in (*others, record)]
            rows.append(
                [
                    dataset,
                    name,
                    *(both if others else [*both, "–"]),
                    f"{record.parameters:,}",
                    _number(record.training_seconds),
                    _number(record.questions_per_second),
                    _budget(record.search, len(record.seeds)) if record.search else "–",
                ]
            )
    return markdown_table(header, rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _with_rules(models: Mapping[str, Runs], rules: Sequence[ResultRecord]) -> dict[str, Runs]:
    """Add the rules to the models of a data set."""
    found: dict[str, Any] = dict(models)
    first = next(iter(models.values()))
    dataset = next(iter(first.values()))[0].dataset
    for record in rules:
        if record.dataset == dataset and record.protocol in first:
            found.setdefault(record.model, {})[record.protocol] = [record]
    return found


def _strictest(runs: Runs) -> ResultRecord:
    return runs[strictest(runs)][0]


def speed_points(models: Mapping[str, Runs], rules: Sequence[ResultRecord] = ()) -> dict[str, list[float]]:
    """Give quality and speed of the models and rules of one data set, for `figures.quality_against_speed`.

    A run with a change of its own, such as hyperqa-eq9-none, is left out.
    """
    found = {}
    for name, runs in _with_rules(models, rules).items():
        record = _strictest(runs)
        if record.questions_per_second and record.configuration.get("model", name) == name:
            summary = record.metrics[_METRIC]
            found[record.model] = [record.questions_per_second, summary["mean"], summary["ci95"] or 0.0]
    return found


def repeats_table(fair: Fair, papers: Papers) -> str:
    """Set the runs whose whole search was repeated, and the claims about them, by search."""
    rows = []
    for dataset, models in fair.items():
        repeated: dict[str, dict[int, float]] = {}
        for name, runs in models.items():
            searches = runs[strictest(runs)]
            if len(searches) > 1:
                means = {each.search["search_seed"]: each.metrics[_METRIC]["mean"] for each in searches}
                repeated[name] = means
                of_seeds = statistics.stdev(searches[0].metrics[_METRIC]["per_seed"])
                shown = ", ".join(f"{each:.3f}" for each in means.values())
                spread = statistics.stdev(means.values())
                rows.append([f"{dataset}, {name}", shown, f"{spread:.4f}", f"{of_seeds:.4f}"])
        for claim in papers.claims:
            better, worse = (repeated.get(claim[side], {}) for side in ("better", "worse"))
            differences = [better[seed] - worse[seed] for seed in sorted(better.keys() & worse.keys())]
            if len(differences) > 1:
                shown = ", ".join(f"{each:+.3f}" for each in differences)
                rows.append([claim["claim"], shown, f"{statistics.stdev(differences):.4f}", ""])
    header = ["", "MAP, test, by search", "deviation of the searches", "of the seeds"]
    return markdown_table(header, rows) if rows else ""
