"""The papers' claims "A beats B", tested on the records of reproduce/studies/fair.py.

`reproduce/results/claims.json` and the table of `docs/claims.md` are written from these records and the
`claims` of `papers.toml`, by `python -m answer_ranking.evaluation.report`.
"""

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.metrics import mean_confidence_interval
from answer_ranking.evaluation.records import ResultRecord, read_record
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test
from answer_ranking.evaluation.tables import Papers, format_measured, markdown_table, wrapped

HOLDS, UNSHOWN, TURNS = "holds", "does not show", "turns round"
POWER = 0.8
_METRIC = "map"
_REPEATED = re.compile(r"(.+)-search-\d+")


def read_fair(folder: Path) -> dict[str, dict[str, ResultRecord]]:
    """Read the records of the fair fight, by data set and name; a data set is a folder."""
    found: dict[str, dict[str, ResultRecord]] = {}
    for path in sorted(folder.glob("*/*.json"), key=lambda path: path.with_suffix("").parts):
        record = read_record(path)
        if not record.search:
            raise UserError(f"{path} is no record of reproduce/studies/fair.py. Remove it.")
        found.setdefault(path.parent.name, {})[path.stem] = record
    return found


def claims(fair: Mapping[str, Mapping[str, ResultRecord]], papers: Papers) -> list[dict[str, Any]]:
    """Test every claim on every data set that has both records.

    The test is a paired randomisation test over the questions, on each question's mean over the seeds,
    corrected after Holm for all tests of the list. `detectable` is the least difference that this test, at
    Holm's strictest level, finds in four of five repetitions.
    """
    found = []
    for claim in papers.claims:
        for dataset, records in fair.items():
            pairs = _pairs(records, claim["better"], claim["worse"])
            if not pairs:
                continue
            printed = [
                _printed_difference(*pair, papers) if claim.get("printed", True) else None for pair in pairs
            ]
            # Of several protocols the one that the paper prints.
            place = next((i for i, each in enumerate(printed) if each is not None), 0)
            found.append(_tested(claim, dataset, *pairs[place], printed[place]))
    corrected = holm_correction([each["p"] for each in found]).tolist()
    normal = statistics.NormalDist().inv_cdf
    for each, p in zip(found, corrected, strict=True):
        strictness = normal(1 - SIGNIFICANT / 2 / len(found)) + normal(POWER)
        each["p"] = round(p, 6)
        each["detectable"] = round(strictness * each.pop("error"), 6)
        each["verdict"] = verdict(each["ours"], p)
    return found


def verdict(difference: float, p: float) -> str:
    """Say what became of a claim."""
    if p >= SIGNIFICANT:
        return UNSHOWN
    return HOLDS if difference > 0 else TURNS


def _pairs(
    records: Mapping[str, ResultRecord], better: str, worse: str
) -> list[tuple[ResultRecord, ResultRecord]]:
    """Find the records of two names, a pair per protocol, which is a suffix where there are several."""
    protocols = sorted({each.protocol for each in records.values()})
    suffixes = [f"-{each}" for each in protocols] if len(protocols) > 1 else [""]
    names = [(f"{better}{suffix}", f"{worse}{suffix}") for suffix in suffixes]
    return [(records[a], records[b]) for a, b in names if a in records and b in records]


def _printed_difference(better: ResultRecord, worse: ResultRecord, papers: Papers) -> float | None:
    ours, theirs = (papers.printed_row(each)[1].get(_METRIC) for each in (better, worse))
    return None if ours is None or theirs is None else round(float(ours) - float(theirs), 6)


def _tested(
    claim: Mapping[str, Any], dataset: str, better: ResultRecord, worse: ResultRecord, printed: float | None
) -> dict[str, Any]:
    budgets = [
        (each.search["minutes"], each.search["minutes"] or each.search["trials"]) for each in (better, worse)
    ]
    names = f"{claim['better']} and {claim['worse']} on {dataset}"
    if budgets[0] != budgets[1] or len(better.seeds) != len(worse.seeds):
        raise UserError(
            f"{names} had different budgets. Run both with the same --trials, --minutes and --seeds."
        )
    values = [
        dict(zip(each.per_question["question_ids"], np.mean(each.per_question[_METRIC], axis=0), strict=True))
        for each in (better, worse)
    ]
    if values[0].keys() != values[1].keys() or better.embeddings != worse.embeddings:
        raise UserError(f"{names} have different questions or word vectors. Run both again.")
    ours, theirs = list(values[0].values()), [values[1][question] for question in values[0]]
    differences = np.subtract(ours, theirs)
    mean, half_width = mean_confidence_interval(differences)
    return {
        "claim": claim["claim"],
        "paper": claim["paper"],
        "dataset": dataset,
        "protocol": better.protocol,
        "printed_difference": printed,
        "ours": round(mean, 6),
        "ci95": round(half_width, 6),
        "p": paired_randomisation_test(ours, theirs),
        "error": float(differences.std(ddof=1)) / math.sqrt(len(differences)),
        "trials": min(each.search["trials"] for each in (better, worse)),
        "minutes": better.search["minutes"],
        "seeds": len(better.seeds),
    }


def claims_file(found: Sequence[Mapping[str, Any]]) -> str:
    """Write the claims as JSON, one a line."""
    lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False, allow_nan=False)}" for each in found)
    return f"[\n{lines}\n]\n" if found else "[]\n"


def claims_block(
    found: Sequence[Mapping[str, Any]],
    fair: Mapping[str, Mapping[str, ResultRecord]],
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
        header = ["claim", "paper", "data", "printed", "ours", "p", "could show", "budget", "verdict"]
        parts.append(markdown_table(header, [_row(each) for each in found]))
        verdicts = [each["verdict"] for each in found]
        counts = ", ".join(f"{each} {verdicts.count(each)}" for each in (HOLDS, UNSHOWN, TURNS))
        tested = {each["claim"] for each in found}
        untested = "; ".join(each["claim"] for each in papers.claims if each["claim"] not in tested)
        missing = f" Not run yet: {untested}." if untested else ""
        parts.append(wrapped(f"Of {len(found)} tests: {counts}.{missing}"))
    parts += ["### Every model", models_table(fair, rules)] if fair else []
    if repeats := repeats_table(fair, papers):
        parts += ["### How much depends on the search", repeats]
    return "\n\n".join(parts) or "No claim has been tested yet."


def _row(claim: Mapping[str, Any]) -> list[str]:
    printed = claim["printed_difference"]
    budget = f"{claim['minutes']:g} min" if claim["minutes"] else f"{claim['trials']} trials"
    return [
        claim["claim"],
        claim["paper"],
        f"{claim['dataset']}, {claim['protocol']}",
        "–" if printed is None else f"{printed:+.3f}",
        f"{claim['ours']:+.3f} ± {claim['ci95']:.3f}",
        f"{claim['p']:.2g}",
        f"{claim['detectable']:.3f}" if claim["verdict"] == UNSHOWN else "",
        f"{budget}, {claim['seeds']} seeds",
        f"**{claim['verdict']}**",
    ]


def models_table(fair: Mapping[str, Mapping[str, ResultRecord]], rules: Sequence[ResultRecord] = ()) -> str:
    """Set what became of every model and of the rules, the best first: quality on test, size and speed."""
    header = ["data", "model", "MAP", "MAP, clean", "parameters", "training, s", "questions/s"]
    rows = []
    for dataset, records in fair.items():
        runs = _by_model(records, rules)
        for name in sorted(runs, key=lambda name: -_strictest(runs[name]).metrics[_METRIC]["mean"]):
            record = _strictest(runs[name])
            others = [each for each in runs[name].values() if each is not record]
            both = [format_measured(each.metrics[_METRIC]) for each in (*others, record)]
            rows.append(
                [
                    dataset,
                    name,
                    *(both if others else [*both, "–"]),
                    f"{record.parameters:,}",
                    _number(record.training_seconds),
                    _number(record.questions_per_second),
                ]
            )
    return markdown_table(header, rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _by_model(
    records: Mapping[str, ResultRecord], rules: Sequence[ResultRecord]
) -> dict[str, dict[str, ResultRecord]]:
    """Group the runs of one data set and its rules: by name, a record per protocol, without repetitions."""
    protocols = {each.protocol for each in records.values()}
    found: dict[str, dict[str, ResultRecord]] = {}
    for name, record in records.items():
        name = name.removesuffix(f"-{record.protocol}")
        if not _REPEATED.fullmatch(name):
            found.setdefault(name, {})[record.protocol] = record
    dataset = next(iter(records.values())).dataset
    for record in rules:
        if record.dataset == dataset and record.protocol in protocols:
            found.setdefault(record.model, {})[record.protocol] = record
    return found


def _strictest(runs: Mapping[str, ResultRecord]) -> ResultRecord:
    # Of raw and clean, which one training serves, the clean questions: the others cannot be ranked wrong.
    return runs[min(runs)]


def speed_points(
    records: Mapping[str, ResultRecord], rules: Sequence[ResultRecord] = ()
) -> dict[str, list[float]]:
    """Give quality and speed of the models and rules of one data set, for `figures.quality_against_speed`.

    A run with a change of its own, such as hyperqa-eq9-none, is left out.
    """
    found = {}
    for name, runs in _by_model(records, rules).items():
        record = _strictest(runs)
        if record.questions_per_second and record.configuration.get("model", name) == name:
            summary = record.metrics[_METRIC]
            found[record.model] = [record.questions_per_second, summary["mean"], summary["ci95"] or 0.0]
    return found


def _searches(records: Mapping[str, ResultRecord], name: str) -> list[float]:
    """Return the mean MAP of a run's own search and of its repetitions, in this order."""
    own = re.compile(rf"{re.escape(name)}(-search-\d+)?")
    return [each.metrics[_METRIC]["mean"] for key, each in records.items() if own.fullmatch(key)]


def repeats_table(fair: Mapping[str, Mapping[str, ResultRecord]], papers: Papers) -> str:
    """Set the runs whose whole search was repeated, and the claims about them, by search."""
    rows = []
    for dataset, records in fair.items():
        found = [match[1] for match in map(_REPEATED.fullmatch, records) if match]
        repeated = {name: _searches(records, name) for name in sorted(set(found) & set(records))}
        for name, maps in repeated.items():
            within = statistics.stdev(records[name].metrics[_METRIC]["per_seed"])
            shown = ", ".join(f"{each:.3f}" for each in maps)
            rows.append([f"{dataset}, {name}", shown, f"{statistics.stdev(maps):.4f}", f"{within:.4f}"])
        for claim in papers.claims:
            if {claim["better"], claim["worse"]} <= set(repeated):
                pairs = zip(repeated[claim["better"]], repeated[claim["worse"]], strict=False)
                differences = [better - worse for better, worse in pairs]
                shown = ", ".join(f"{each:+.3f}" for each in differences)
                rows.append([claim["claim"], shown, f"{statistics.stdev(differences):.4f}", ""])
    header = ["", "MAP, test, by search", "deviation of the searches", "of the seeds"]
    return markdown_table(header, rows) if rows else ""
