"""The statistics of the study of Eq. 9: the chosen learning rates, and a summary of each condition.

A condition is HyperQA under one reading of Eq. 9, or CosineQA.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.evaluation.metrics import MAIN_METRICS, spreads
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test

BASELINE = "none"
SIDES = ("questions", "answers")
Run = Mapping[str, Any]


def choose_rate(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Choose the learning rate with the highest mean of best dev MAPs; a rate that diverged is out.

    Returns `learning_rate`, None where every rate diverged; `at_edge`, whether it is the least or the
    greatest of several; and `rates`, the dev MAPs, or the message, of each.
    """
    rates: dict[float, dict[str, Any]] = {}
    for trial in trials:
        of_rate = rates.setdefault(trial["learning_rate"], {"dev_map": []})
        if "diverged" in trial:
            of_rate["diverged"] = trial["diverged"]
        else:
            of_rate["dev_map"].append(trial["dev_map"])
    best, highest = None, -np.inf
    # Of equal rates the least.
    for rate in sorted(rates):
        if "diverged" not in rates[rate] and np.mean(rates[rate]["dev_map"]) > highest:
            best, highest = rate, np.mean(rates[rate]["dev_map"])
    several = len(rates) > 1
    return {
        "learning_rate": best,
        "at_edge": several and best in (min(rates), max(rates)),
        "rates": [{"learning_rate": rate, **rates[rate]} for rate in sorted(rates)],
    }


def summarise_conditions(
    dimension: int,
    tuned: Mapping[str, Mapping[str, Any]],
    runs: Mapping[str, Sequence[Run]],
    level: float,
) -> list[dict[str, Any]]:
    """Summarise the runs of all conditions at one size d, on the same test questions.

    `tuned` is what `choose_rate` returns, by condition. `runs` has, by condition, a mapping per seed: `seed`
    and either `diverged` or `history`, `norms` (the rows of `NormTracker`) and `test` (`question_ids` and
    lists of metrics). `level` is the share of the best mean of best dev MAPs that is to be reached.

    Returns a mapping per condition: what was chosen, `diverged` (messages by seed), and of the other seeds
    summaries with 95 % t intervals, curves, `epochs_to_level` (None: never), `ap`, the mean over the seeds of
    each question's average precision, and `p`, its paired randomisation test against `none`, after Holm.
    """
    finished: dict[str, list[Run]] = {}
    highest = 0.0
    for name, of_condition in runs.items():
        finished[name] = [run for run in of_condition if "diverged" not in run]
        if finished[name]:
            best = _by_epoch(finished[name], "dev_map").max(axis=1).mean()
            highest = max(highest, best)
    summaries = []
    for name, choice in tuned.items():
        diverged, seeds = {}, []
        for run in runs[name]:
            if "diverged" in run:
                diverged[str(run["seed"])] = run["diverged"]
            else:
                seeds.append(run["seed"])
        summary = {"dimension": dimension, "condition": name, **choice}
        summary |= {"seeds": seeds, "diverged": diverged}
        if finished[name]:
            summary |= _summary(finished[name], level * highest)
        summaries.append(summary)
    _test_against_baseline({each["condition"]: each for each in summaries if "ap" in each})
    return summaries


def _test_against_baseline(measured: dict[str, dict[str, Any]]) -> None:
    """Add `p` to the summaries of all conditions but the baseline's, where that one has a summary."""
    asked = [each["question_ids"] for each in measured.values()]
    if asked and asked.count(asked[0]) < len(asked):
        raise ValueError("the runs must have the same test questions.")
    baseline = measured.pop(BASELINE, None)
    if baseline is None or not measured:
        return
    others = list(measured.values())
    raw = [paired_randomisation_test(each["ap"], baseline["ap"]) for each in others]
    for each, p in zip(others, holm_correction(raw).tolist(), strict=True):
        each["p"] = p


def _summary(runs: Sequence[Run], to_reach: float) -> dict[str, Any]:
    """Summarise the finished runs of one condition."""
    dev, edge = _by_epoch(runs, "dev_map"), _by_epoch(runs, "edge_share")
    reached = dev >= to_reach
    first_epoch = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, None)
    of_seeds = {"best_dev_map": dev.max(axis=1), "edge_share": edge.mean(axis=1)}
    metrics = {name: _on_test(runs, name).mean(axis=1) for name in MAIN_METRICS}
    return {
        "metrics": spreads(metrics),
        **spreads(of_seeds),
        "dev_level": to_reach,
        "epochs_to_level": first_epoch.tolist(),
        "best_epoch": [run["best_epoch"] + 1 for run in runs],
        "seconds_per_epoch": float(np.median(_by_epoch(runs, "seconds"))),
        "dev_map": dev.tolist(),
        "loss": _by_epoch(runs, "loss").mean(axis=0).tolist(),
        "gradient_norm": _by_epoch(runs, "gradient_norm").mean(axis=0).tolist(),
        "edge_share_by_epoch": edge.mean(axis=0).tolist(),
        "norms": {side: _mean_norms(runs, side) for side in SIDES},
        "question_ids": runs[0]["test"]["question_ids"],
        "ap": _on_test(runs, "map").mean(axis=0).tolist(),
    }


def _by_epoch(runs: Sequence[Run], key: str) -> np.ndarray:
    """Gather a value of the history: (seeds, epochs)."""
    return np.array([pd.DataFrame(run["history"])[key] for run in runs], np.float64)


def _on_test(runs: Sequence[Run], metric: str) -> np.ndarray:
    """Gather a metric of the test questions: (seeds, questions)."""
    return np.array([run["test"][metric] for run in runs])


def _mean_norms(runs: Sequence[Run], side: str) -> dict[str, Any]:
    """Average the rows of `NormTracker` over the seeds, for the texts of one side."""
    means = {}
    for kind in ("before", "after", "on_edge"):
        of_seeds = []
        for run in runs:
            of_seeds.append([row[side][kind] for row in run["norms"]])
        means[kind] = np.mean(of_seeds, axis=0).tolist()
    return means
