"""Metrics of rankings over a whole collection, and their tests against BM25."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.evaluation.metrics import means_over_seeds, trec_eval
from answer_ranking.evaluation.significance import holm_correction, paired_randomisation_test

_RECALLS = ("recall@1", "recall@10", "recall@100")
METRICS = (*_RECALLS, "mrr@10")
BASELINE = "BM25"


def measure(ranking: pd.DataFrame, correct: dict[str, dict[str, int]]) -> pd.DataFrame:
    """Measure a ranking by trec_eval's code.

    Args:
        ranking: the columns `question_id`, `candidate_id` and `rank`, from 1.
        correct: the correct answers by question, each with 1.

    Returns a row per question of `correct`, with `METRICS`: the shares of the correct answers among the first
    1, 10 and 100, and 1 / the rank of the first correct answer if it is at most 10. A question for which
    nothing was found has 0.

    Example:
        >>> ranking = pd.DataFrame({"question_id": "q", "candidate_id": ["b", "a"], "rank": [1, 2]})
        >>> measure(ranking, {"q": {"a": 1}}).loc["q"].tolist()
        [0.0, 1.0, 1.0, 0.5]
    """
    run: dict[str, dict[str, float]] = {}
    rows = ranking[["question_id", "candidate_id", "rank"]].itertuples(index=False)
    for question, candidate, rank in rows:
        run.setdefault(question, {})[candidate] = -float(rank)
    found = trec_eval(correct, run, (*_RECALLS, "mrr"))
    table = pd.DataFrame.from_dict(found, orient="index", columns=list(METRICS))
    table = table.reindex(list(correct)).fillna(0.0)
    table["mrr@10"] = table["mrr@10"].where(table["mrr@10"] > 1 / 10.5, 0.0)
    return table


def compare(
    measured: Mapping[str, Mapping[str, Sequence[pd.DataFrame]]],
) -> dict[str, dict[str, Any]]:
    """Sum up the metrics of all systems, and test each against BM25.

    `measured` holds, by system and split ("dev", "test"), a table of `measure` per seed. Returns by system
    `metrics` and `metrics_dev` (mean, ci95 and per_seed, see `means_over_seeds`); `per_question`, MRR@10 of
    every question, the mean over the seeds; and, but for BM25, `p`, corrected after Holm over the systems.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, by_split in measured.items():
        rows[name] = {
            "metrics": means_over_seeds(by_split["test"], METRICS),
            "metrics_dev": means_over_seeds(by_split["dev"], METRICS),
            "per_question": np.mean([each["mrr@10"] for each in by_split["test"]], axis=0).tolist(),
        }
    baseline = rows[BASELINE]["per_question"]
    rivals = [row for name, row in rows.items() if name != BASELINE]
    raw = [paired_randomisation_test(row["per_question"], baseline) for row in rivals]
    for row, p in zip(rivals, holm_correction(raw).tolist(), strict=True):
        row["p"] = p
    return rows
