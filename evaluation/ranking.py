"""Ranking metrics by trec_eval's own code, under a tie policy that file order cannot bend.

trec_eval reads scores as float32, sorts by score and breaks ties by document id, descending. Some data sets
list the correct answers first, so ids that follow the file would hand a constant scorer a perfect or a
worst ranking. Here the ids are a seeded permutation, and a constant scorer gets what a random one gets.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytrec_eval
from numpy.typing import ArrayLike

from data_prep.protocols import counts_under

METRICS = ("map", "mrr", "p@1", "ndcg@10")
"""Names of the metrics: mean average precision, mean reciprocal rank, precision at 1, nDCG at rank 10."""

_TREC_NAMES = ("map", "recip_rank", "P_1", "ndcg_cut_10")


def scores_as_trec_eval_reads(scores: ArrayLike) -> np.ndarray:
    """Round scores to float32, as trec_eval does, and refuse those that have no place in a ranking.

    Args:
        scores: one number per candidate.

    Returns:
        float32 array of the same length.

    Raises:
        ValueError: a score is NaN, infinite or too large for float32.

    Example:
        >>> scores_as_trec_eval_reads([0.25, 1.0])
        array([0.25, 1.  ], dtype=float32)
    """
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
    """Draw the order in which tied candidates are ranked.

    Args:
        n_rows: number of candidates of all questions together.
        tie_seed: seed of the permutation.

    Returns:
        int64 permutation of 0 ... n_rows-1; of two tied candidates the one with the higher number goes first.

    Example:
        >>> sorted(tie_order(4).tolist())
        [0, 1, 2, 3]
    """
    return np.random.default_rng(tie_seed).permutation(n_rows)


def evaluate_ranking(
    question_ids: Sequence[str], labels: ArrayLike, scores: ArrayLike, *, tie_seed: int = 0
) -> pd.DataFrame:
    """Rank the candidates of each question by their scores and measure each ranking with trec_eval's code.

    The three arguments are parallel: one entry per candidate. Ties are broken by a seeded permutation.

    Args:
        question_ids: the question that each candidate belongs to, in any order.
        labels: 1 for a correct candidate, 0 for a wrong one.
        scores: higher is better; rounded to float32.
        tie_seed: seed of the permutation that breaks ties.

    Returns:
        One row per question in order of first appearance, index `question_id`, columns `METRICS` (float64,
        fractions) and `n_correct`, `n_wrong` (int64). A question without a correct candidate has metrics 0.0;
        whether it counts is for `summarise` to say.

    Raises:
        ValueError: lengths differ, there are no rows, a label is not 0 or 1, an id is missing, or a score is
            not finite.

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
        raise ValueError(f"labels must be 0 or 1. Received: {sorted(set(labels.tolist()) - {0, 1})[:5]}.")
    codes, questions = pd.factorize(np.asarray(question_ids, dtype=object))
    if (codes < 0).any():
        raise ValueError(f"question_ids must not be missing. Received: none in row {np.argmin(codes)}.")

    labels = labels.astype(np.int64)
    n_correct = np.bincount(codes, weights=labels, minlength=len(questions)).astype(np.int64)
    n_wrong = np.bincount(codes, minlength=len(questions)) - n_correct

    order = np.argsort(codes, kind="stable")
    # Equal width, so that trec_eval's comparison of ids as text is that of the numbers.
    ids = np.char.zfill(tie_order(len(scores), tie_seed).astype(str), len(str(len(scores))))[order].tolist()
    label_list, score_list = labels[order].tolist(), scores[order].tolist()
    ends = np.cumsum(n_correct + n_wrong)
    qrels, run = {}, {}
    for question in np.flatnonzero(n_correct):
        rows = slice(ends[question] - n_correct[question] - n_wrong[question], ends[question])
        qrels[str(question)] = dict(zip(ids[rows], label_list[rows], strict=True))
        run[str(question)] = dict(zip(ids[rows], score_list[rows], strict=True))

    values = np.zeros((len(questions), len(METRICS)))
    measured = pytrec_eval.RelevanceEvaluator(qrels, _TREC_NAMES).evaluate(run)
    for question, metrics in measured.items():
        values[int(question)] = [metrics[name] for name in _TREC_NAMES]
    table = pd.DataFrame(values, columns=list(METRICS), index=pd.Index(questions, name="question_id"))
    return table.assign(n_correct=n_correct, n_wrong=n_wrong)


def questions_that_count(per_question: pd.DataFrame, rule: str) -> np.ndarray:
    """Select the questions that a protocol counts.

    Args:
        per_question: what `evaluate_ranking` returns.
        rule: "answerable" (a correct candidate; WikiQA "filtered", TrecQA "raw"), "clean" (a correct and a
            wrong one; TrecQA "clean") or "all" (every question; one without a correct candidate counts as 0,
            as `trec_eval -c` has it).

    Returns:
        bool array, one per row of `per_question`.

    Raises:
        UserError: `rule` is none of the three.

    Example:
        >>> table = evaluate_ranking(["a", "a", "b"], [1, 0, 0], [1.0, 0.0, 0.0])
        >>> questions_that_count(table, "answerable").tolist()
        [True, False]
    """
    return counts_under(rule, per_question["n_correct"].to_numpy(), per_question["n_wrong"].to_numpy())


def summarise(per_question: pd.DataFrame, rule: str) -> dict[str, float]:
    """Average the metrics over the questions that a protocol counts.

    Args:
        per_question: what `evaluate_ranking` returns.
        rule: "answerable", "clean" or "all"; see `questions_that_count`.

    Returns:
        The mean of each of `METRICS`, as a fraction.

    Raises:
        UserError: `rule` is unknown.
        ValueError: no question counts under it.

    Example:
        >>> table = evaluate_ranking(["a", "a", "b"], [1, 0, 0], [1.0, 0.0, 0.0])
        >>> summarise(table, "answerable")["map"], summarise(table, "all")["map"]
        (1.0, 0.5)
    """
    counts = questions_that_count(per_question, rule)
    if not counts.any():
        raise ValueError(
            f"No question counts under the rule {rule!r}. Received: {len(per_question)} questions."
        )
    return {metric: float(per_question[metric].to_numpy()[counts].mean()) for metric in METRICS}


def expected_random_ranking(n_correct: ArrayLike, n_wrong: ArrayLike) -> pd.DataFrame:
    """Compute in closed form what a ranking drawn at random scores on average.

    With N candidates, R of them correct and H_N the N-th harmonic number, the expectations are
    AP = (H_N + (R-1)(N-H_N)/(N-1)) / N, P@1 = R/N, RR = sum_k C(N-k, R-1) / (k C(N, R)), and for nDCG@10 the
    share R/N of each position's gain over the ideal gain.

    Args:
        n_correct: number of correct candidates of each question.
        n_wrong: number of wrong candidates of each question.

    Returns:
        One row per question with the columns of `evaluate_ranking`; 0.0 where no candidate is correct.

    Example:
        >>> expected_random_ranking([1], [1])[["map", "p@1"]].iloc[0].to_dict()
        {'map': 0.75, 'p@1': 0.5}
    """
    rows = []
    for correct, wrong in zip(np.asarray(n_correct).tolist(), np.asarray(n_wrong).tolist(), strict=True):
        n = correct + wrong
        if correct == 0:
            rows.append((0.0, 0.0, 0.0, 0.0, correct, wrong))
            continue
        positions = np.arange(1, n + 1)
        first_at = np.array(
            [math.comb(n - k, correct - 1) / math.comb(n, correct) for k in positions.tolist()]
        )
        harmonic = (1 / positions).sum()
        average_precision = (harmonic + (correct - 1) * (n - harmonic) / max(n - 1, 1)) / n
        reciprocal_rank = (first_at / positions).sum()
        gains = 1 / np.log2(np.arange(2, 12))
        ndcg = correct / n * gains[:n].sum() / gains[:correct].sum()
        rows.append((average_precision, reciprocal_rank, correct / n, ndcg, correct, wrong))
    return pd.DataFrame(rows, columns=[*METRICS, "n_correct", "n_wrong"])
