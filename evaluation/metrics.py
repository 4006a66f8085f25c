"""Ranking metrics by trec_eval's code, with ties broken independently of the order of the file.

trec_eval reads scores as float32, sorts by score and breaks ties by document id, descending. Some data sets
list the correct answers first, so ids in the order of the file would give a constant scorer a perfect (or the
worst) ranking. Here the ids are a seeded permutation, so a constant scorer ranks at random.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytrec_eval
from numpy.typing import ArrayLike

from answer_ranking.data_prep.tables import counts_under

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedSplit

METRICS = ("map", "mrr", "p@1", "ndcg@10")
"""Names of the metrics: mean average precision, mean reciprocal rank, precision at 1, nDCG at rank 10."""
MAIN_METRICS = METRICS[:3]
"""Those of short tables: MAP, MRR and P@1."""
PRINTED_METRICS = METRICS[:2]
"""Those that the papers print: MAP and MRR."""

_TREC_NAMES = {
    "map": "map",
    "mrr": "recip_rank",
    "p@1": "P_1",
    "ndcg@10": "ndcg_cut_10",
    "recall@1": "recall_1",
    "recall@10": "recall_10",
    "recall@100": "recall_100",
    "success@5": "success_5",
    "success@10": "success_10",
}
RUN_METRICS = (*METRICS, "recall@10", "recall@100", "success@5", "success@10")
"""What a run file is measured by: also recall, and success, whether a correct answer is found."""


def scores_as_trec_eval_reads(scores: ArrayLike) -> np.ndarray:
    """Round scores to float32, as trec_eval does; a ValueError names those that are not finite."""
    given = np.asarray(scores, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = given.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(rounded))
    if len(bad):
        raise ValueError(
            f"scores must be finite float32 numbers to be ranked. Received: {len(bad)} of {len(given)} "
            f"that are not, the first in row {bad[0]}: {given[bad[0]]}."
        )
    return rounded


def tie_order(n_rows: int, tie_seed: int = 0) -> np.ndarray:
    """Draw a permutation of the rows: of two tied candidates, the one with the higher number ranks first."""
    return np.random.default_rng(tie_seed).permutation(n_rows)


def tie_ids(n_rows: int, tie_seed: int = 0) -> np.ndarray:
    """Return `tie_order` as document ids, whose order as text is that of the numbers."""
    return np.char.zfill(tie_order(n_rows, tie_seed).astype(str), len(str(n_rows)))


def trec_eval(
    qrels: dict[str, dict[str, int]],
    run: dict[str, dict[str, float]],
    metrics: Sequence[str] = METRICS,
) -> dict[str, list[float]]:
    """Return the metrics of every ranked question in their order, by trec_eval's own code."""
    names = [_TREC_NAMES[metric] for metric in metrics]
    found = {}
    for question, values in pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run).items():
        found[question] = [values[name] for name in names]
    return found


def evaluate_ranking(
    question_ids: Sequence[str], labels: ArrayLike, scores: ArrayLike, *, tie_seed: int = 0
) -> pd.DataFrame:
    """Rank the candidates of each question by their scores and measure each ranking with trec_eval's code.

    The three arguments are parallel: one entry per candidate. Ties are broken by a seeded permutation.

    Labels are 1 for a correct candidate and 0 for a wrong one. Scores are rounded to float32; higher is
    better. `tie_seed` is the seed of the permutation.

    Returns one row per question in order of first appearance: index `question_id`, columns `METRICS`
    (float64, fractions) and `n_correct`, `n_wrong` (int64). A question without a correct candidate has
    metrics 0.0; whether it counts is for `summarise` to say. A ValueError says that lengths differ, there are
    no rows, a label is not 0 or 1, an id is missing, or a score is not finite.

    Example:
        >>> evaluate_ranking(["q1", "q1", "q1"], [0, 1, 0], [0.9, 0.5, 0.1])["mrr"].to_dict()
        {'q1': 0.5}
    """
    labels = np.asarray(labels)
    scores = scores_as_trec_eval_reads(scores)
    if not len(question_ids) == len(labels) == len(scores):
        raise ValueError(
            "question_ids, labels and scores must be parallel. "
            f"Received: lengths {len(question_ids)}, {len(labels)}, {len(scores)}."
        )
    if len(scores) == 0:
        raise ValueError("There is nothing to rank. Received: no candidates.")
    if not np.isin(labels, (0, 1)).all():
        others = sorted(set(labels.tolist()) - {0, 1})
        raise ValueError(f"labels must be 0 or 1. Received: {others[:5]}.")
    codes, questions = pd.factorize(np.asarray(question_ids, dtype=object))
    if (codes < 0).any():
        missing = np.argmin(codes)
        raise ValueError(f"question_ids must not be missing. Received: none in row {missing}.")

    labels = labels.astype(np.int64)
    n_candidates = np.bincount(codes, minlength=len(questions))
    n_correct = np.bincount(codes, labels, len(questions)).astype(np.int64)

    order = np.argsort(codes, kind="stable")
    ids = tie_ids(len(scores), tie_seed)[order].tolist()
    label_list, score_list = labels[order].tolist(), scores[order].tolist()
    ends = np.cumsum(n_candidates)
    qrels, run = {}, {}
    for question in np.flatnonzero(n_correct):
        rows = slice(ends[question] - n_candidates[question], ends[question])
        qrels[str(question)] = dict(zip(ids[rows], label_list[rows], strict=True))
        run[str(question)] = dict(zip(ids[rows], score_list[rows], strict=True))

    values = np.zeros((len(questions), len(METRICS)))
    for name, metrics in trec_eval(qrels, run).items():
        values[int(name)] = metrics
    index = pd.Index(questions, name="question_id")
    table = pd.DataFrame(values, columns=list(METRICS), index=index)
    return table.assign(n_correct=n_correct, n_wrong=n_candidates - n_correct)


def per_question(split: "EncodedSplit", scores: ArrayLike) -> pd.DataFrame:
    """Measure the ranking of every question of a scored split.

    `scores` are float (n_rows,), higher is better. Returns one row per question in the split's order, as
    `evaluate_ranking` does, and raises its errors.

    Example:
        >>> per_question(dev, score(ranker, dev))["map"].nsmallest(5)  # doctest: +SKIP
    """
    ids = np.repeat(np.asarray(split.question_ids, object), np.diff(split.candidate_offsets))
    return evaluate_ranking(ids.tolist(), split.labels, scores)


def measure(split: "EncodedSplit", scores: ArrayLike, rule: str = "answerable") -> dict[str, float]:
    """Measure a scored split: the mean of each metric over the questions that count.

    `scores` are float (n_rows,), higher is better; `rule` says which questions count, see
    `questions_that_count`. Returns the mean of each of `METRICS`, as a fraction. Raises the errors of
    `evaluate_ranking` and `summarise`.

    Example:
        >>> measure(dev, score(ranker, dev))  # doctest: +SKIP
        {'map': 0.706, 'mrr': 0.718, 'p@1': 0.573, 'ndcg@10': 0.776}
    """
    return summarise(per_question(split, scores), rule)


def questions_that_count(per_question: pd.DataFrame, rule: str) -> np.ndarray:
    """Select the questions that a protocol counts.

    The rules are "answerable" (a correct candidate; WikiQA "filtered", TrecQA "raw"), "clean" (a correct and
    a wrong one; TrecQA "clean") and "all" (every question; one without a correct candidate counts as 0, as
    `trec_eval -c` has it); another one is a UserError. Returns a bool per row of `per_question`, which is a
    table of `evaluate_ranking`.

    Example:
        >>> table = evaluate_ranking(["a", "a", "b"], [1, 0, 0], [1.0, 0.0, 0.0])
        >>> questions_that_count(table, "answerable").tolist()
        [True, False]
    """
    return counts_under(rule, per_question["n_correct"].to_numpy(), per_question["n_wrong"].to_numpy())


def summarise(per_question: pd.DataFrame, rule: str) -> dict[str, float]:
    """Average the metrics over the questions that a protocol counts.

    `per_question` is a table of `evaluate_ranking`, `rule` as in `questions_that_count`. Returns the mean of
    each of `METRICS`, as a fraction; a ValueError says that no question counts.

    Example:
        >>> table = evaluate_ranking(["a", "a", "b"], [1, 0, 0], [1.0, 0.0, 0.0])
        >>> summarise(table, "answerable")["map"], summarise(table, "all")["map"]
        (1.0, 0.5)
    """
    counted = per_question[questions_that_count(per_question, rule)]
    if counted.empty:
        raise ValueError(
            f"No question counts under the rule {rule!r}. Received: {len(per_question)} questions."
        )
    return {metric: float(counted[metric].to_numpy().mean()) for metric in METRICS}


def strictest(protocols: Iterable[str]) -> str:
    """Choose the protocol under which the fewest questions count: "clean" where there is one, else the first.

    The questions that only a laxer one counts cannot be ranked wrong.
    """
    names = list(protocols)
    return "clean" if "clean" in names else names[0]


def over_seeds(test: Sequence[pd.DataFrame], dev: Sequence[pd.DataFrame], rule: str) -> dict[str, Any]:
    """Sum up the tables of every seed: the fields of a `ResultRecord` that hold metrics."""
    on_test = [table[questions_that_count(table, rule)] for table in test]
    on_dev = [table[questions_that_count(table, rule)] for table in dev]
    per_question = {"question_ids": on_test[0].index.tolist()}
    for metric in METRICS:
        per_question[metric] = [table[metric].tolist() for table in on_test]
    return {
        "metrics": means_over_seeds(on_test),
        "metrics_count_all": means_over_seeds(test),
        "metrics_dev": means_over_seeds(on_dev),
        "per_question": per_question,
    }


def means_over_seeds(
    tables: Sequence[pd.DataFrame], metrics: Sequence[str] = METRICS
) -> dict[str, dict[str, Any]]:
    """Average each metric over the questions of every seed's table, and sum up with `spreads`."""
    means = {}
    for metric in metrics:
        means[metric] = [float(table[metric].to_numpy().mean()) for table in tables]
    return spreads(means)


def expected_random_ranking(n_correct: ArrayLike, n_wrong: ArrayLike) -> pd.DataFrame:
    """Compute in closed form what a ranking drawn at random scores on average.

    With N candidates, R of them correct and H_N the N-th harmonic number, the expectations are
    AP = (H_N + (R-1)(N-H_N)/(N-1)) / N, P@1 = R/N, RR = sum_k C(N-k, R-1) / (k C(N, R)), and for nDCG@10 the
    share R/N of each position's gain over the ideal gain.

    The arguments are the numbers of correct and wrong candidates of each question. Returns one row per
    question with the columns of `evaluate_ranking`; 0.0 where no candidate is correct.

    Example:
        >>> expected_random_ranking([1], [1])[["map", "p@1"]].iloc[0].to_dict()
        {'map': 0.75, 'p@1': 0.5}
    """
    rows = []
    counts = np.transpose([np.asarray(n_correct), np.asarray(n_wrong)])
    for correct, wrong in counts.tolist():
        n = correct + wrong
        if correct == 0:
            rows.append((0.0, 0.0, 0.0, 0.0, correct, wrong))
            continue
        positions = np.arange(1, n + 1)
        first_at = [math.comb(n - k, correct - 1) / math.comb(n, correct) for k in range(1, n + 1)]
        harmonic = (1 / positions).sum()
        average_precision = (harmonic + (correct - 1) * (n - harmonic) / max(n - 1, 1)) / n
        reciprocal_rank = (np.array(first_at) / positions).sum()
        gains = 1 / np.log2(np.arange(2, 12))
        ndcg = correct / n * gains[:n].sum() / gains[:correct].sum()
        rows.append((average_precision, reciprocal_rank, correct / n, ndcg, correct, wrong))
    return pd.DataFrame(rows, columns=[*METRICS, "n_correct", "n_wrong"])


def mean_confidence_interval(values: ArrayLike) -> tuple[float, float]:
    """Compute the mean and the half width of its 95 % Student t interval.

    `values` are one number per run (such as per seed). The half width of a single value is NaN. A ValueError
    says that there are no values.

    Example:
        >>> mean, half_width = mean_confidence_interval([0.70, 0.72])
        >>> round(mean, 3), round(half_width, 3)
        (0.71, 0.127)
    """
    from scipy import stats

    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"values must be a list of at least one number. Received: shape {values.shape}.")
    if len(values) == 1:
        return float(values[0]), float("nan")
    half_width = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return float(values.mean()), float(half_width)


def spreads(values: Mapping[str, ArrayLike]) -> dict[str, dict[str, Any]]:
    """Sum up the values of every seed, by name, as records have them; one seed has no interval."""
    found = {}
    for name, of_seeds in values.items():
        mean, half_width = mean_confidence_interval(of_seeds)
        ci95 = None if math.isnan(half_width) else half_width
        per_seed = np.asarray(of_seeds, float).tolist()
        found[name] = {"mean": mean, "ci95": ci95, "per_seed": per_seed}
    return found
