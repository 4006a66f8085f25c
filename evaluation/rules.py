"""Rule baselines: no parameters, no training.

Every rule takes the same three arguments and returns one float64 score per candidate, higher being better:

* `questions`: one sequence of tokens per question (words or word ids);
* `candidates`: one sequence of tokens per candidate, the candidates of a question contiguous;
* `offsets`: the candidates of question i are `offsets[i]` up to, not including, `offsets[i + 1]`.

RR, WO and WO+RR are those of Bonadiman & Moschitti (2020), section 2.1. RR and WO+RR use the order of the
candidates: they say nothing on a data set that lists its correct answers first.
"""

import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from answer_ranking.data_prep import DatasetDescription
from answer_ranking.data_prep.vocabulary import Tokenizer
from answer_ranking.evaluation.metrics import evaluate_ranking, expected_random_ranking

Texts = Sequence[Sequence[Hashable]]
Rule = Callable[[Texts, Texts, ArrayLike], np.ndarray]

LEAK = "file order: do not use"
WORST_WO = "WO, every tie against the correct answer"
_AT_ONCE = 10_000  # texts


def _question_of_row(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    bounds = np.asarray(offsets, dtype=np.int64)
    sizes = np.diff(bounds)
    ends = (len(bounds), bounds[0], bounds[-1])
    if ends != (len(questions) + 1, 0, len(candidates)) or (sizes < 0).any():
        raise ValueError(
            "candidate_offsets must rise from 0 to the number of candidates, with one entry per question and "
            f"one more. Received: {len(questions)} questions, {len(candidates)} candidates, offsets {bounds}."
        )
    return np.repeat(np.arange(len(questions)), sizes)


def _position(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    """Position of each candidate among those of its question, from 0."""
    rows = _question_of_row(questions, candidates, offsets)
    return np.arange(len(rows)) - np.asarray(offsets)[rows]


def _overlap(
    questions: Texts,
    candidates: Texts,
    offsets: ArrayLike,
    weight: Callable[[Hashable], float],
) -> np.ndarray:
    """Sum of the weights of the distinct words that question and candidate share."""
    rows = _question_of_row(questions, candidates, offsets)
    words = list(map(frozenset, questions))
    scores = np.zeros(len(candidates))
    for number, (row, tokens) in enumerate(zip(rows, candidates, strict=True)):
        shared = words[row].intersection(tokens)
        # fsum is exact, whatever the set's order.
        scores[number] = math.fsum(map(weight, shared))
    return scores


def constant(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    """Random: score every candidate 0; ties are broken at random."""
    return np.zeros(len(_question_of_row(questions, candidates, offsets)))


def reciprocal_rank(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    """RR: the reciprocal of each candidate's place in the original order."""
    return 1.0 / (1 + _position(questions, candidates, offsets))


def word_overlap(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    """WO: the number of distinct words that occur in both question and candidate."""
    return _overlap(questions, candidates, offsets, lambda word: 1)


def word_overlap_then_rank(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    """WO+RR: word overlap, ties broken by the original order."""
    overlap = word_overlap(questions, candidates, offsets)
    position = _position(questions, candidates, offsets)
    # Less than one overlapping word, in equal steps: reciprocal ranks would merge in float32 far down a list.
    return overlap - position / max(position.max(initial=0) + 1, 1)


def idf_word_overlap(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    """IDF-WO: word overlap with the weight ln((N + 1) / (n_w + 1)) for a word in n_w of the N candidates."""
    frequency: Counter[Hashable] = Counter()
    for tokens in candidates:
        frequency.update(set(tokens))
    n = len(candidates)
    return _overlap(questions, candidates, offsets, lambda word: math.log((n + 1) / (frequency[word] + 1)))


def bm25(questions: Texts, candidates: Texts, offsets: ArrayLike) -> np.ndarray:
    """BM25 of bm25s (Lucene's variant, k1 = 1.5, b = 0.75), with the frequencies of all candidates."""
    # Imported here because it loads JAX where that is installed.
    import bm25s

    _question_of_row(questions, candidates, offsets)
    index = bm25s.BM25()
    index.index([list(map(str, tokens)) for tokens in candidates], show_progress=False)
    scores = np.zeros(len(candidates))
    for tokens, (start, end) in zip(questions, itertools.pairwise(np.asarray(offsets)), strict=True):
        known = index.get_tokens_ids(list(map(str, tokens)))
        if len(known):
            scores[start:end] = index.get_scores_from_ids(known)[start:end]
    return scores


RULES: dict[str, Rule] = {
    "Random": constant,
    "RR": reciprocal_rank,
    "WO": word_overlap,
    "WO+RR": word_overlap_then_rank,
    "IDF-WO": idf_word_overlap,
    "BM25": bm25,
}
"""The rules by their names in the papers' tables."""


def rule_scores(
    table: pd.DataFrame,
    description: DatasetDescription,
    names: Collection[str] = tuple(RULES),
) -> dict[str, np.ndarray]:
    """Score the candidates of a split by rules: per rule one float64 score per row."""
    texts = texts_of(table, description)
    return {name: RULES[name](*texts) for name in names}


def texts_of(
    table: pd.DataFrame,
    description: DatasetDescription,
) -> tuple[Texts, Texts, np.ndarray]:
    """Split the texts of a table of candidates into words: what every rule takes."""
    tokenizer = Tokenizer(pretokenised=description.pretokenised)
    first = np.flatnonzero(~table["question_id"].duplicated())
    questions = _tokens(tokenizer, table["question"].iloc[first])
    return questions, _tokens(tokenizer, table["candidate"]), np.append(first, len(table))


def _tokens(tokenizer: Tokenizer, texts: pd.Series) -> list[list[str]]:
    """Split each distinct text once, in parts, and keep each word once, which saves most of the memory."""
    numbers, distinct = pd.factorize(texts)
    split: list[list[str]] = []
    for start in range(0, len(distinct), _AT_ONCE):
        for tokens in tokenizer(distinct[start : start + _AT_ONCE].tolist()):
            split.append(list(map(sys.intern, tokens)))
    return [split[number] for number in numbers]


def measure_rules(
    table: pd.DataFrame,
    description: DatasetDescription,
    tie_seeds: int,
    scores: Mapping[str, np.ndarray] | None = None,
) -> dict[str, pd.DataFrame]:
    """Measure rules on every question of a split, as `evaluate_ranking` does: a table per row of the results.

    Random is the expectation over all orders. Rules that use the order of a data set that lists correct
    answers first are named so (`LEAK`). Two more rows show what the ties of WO are worth where they are not
    broken at random.
    """
    scores = rule_scores(table, description) if scores is None else scores
    rows = {}
    for name, values in scores.items():
        if name == "Random":
            counts = _measured(table, values)
            expected = expected_random_ranking(counts["n_correct"], counts["n_wrong"])
            rows[name] = expected.set_index(counts.index)
        elif name in ("RR", "WO+RR"):
            title = f"{name}, {LEAK}" if description.lists_correct_first else name
            rows[title] = _mean_over_ties(table, values)
        else:
            rows[name] = _mean_over_ties(table, values, tie_seeds)
    if "WO" in scores and description.lists_correct_first:
        step = np.arange(len(table)) / len(table)
        rows[f"WO, ties in {LEAK}"] = _mean_over_ties(table, scores["WO"] - step)
        title = "WO, ties in reversed file order: do not use"
        rows[title] = _mean_over_ties(table, scores["WO"] + step)
    elif "WO" in scores:
        against = scores["WO"] - 0.5 * table["label"].to_numpy()
        rows[WORST_WO] = _mean_over_ties(table, against)
    return rows


def _mean_over_ties(table: pd.DataFrame, scores: np.ndarray, seeds: int = 1) -> pd.DataFrame:
    total = _measured(table, scores)
    for seed in range(1, seeds):
        total = total + _measured(table, scores, seed)
    return total / seeds


def _measured(table: pd.DataFrame, scores: np.ndarray, tie_seed: int = 0) -> pd.DataFrame:
    question_ids, labels = table["question_id"].to_numpy(object), table["label"].to_numpy()
    return evaluate_ranking(question_ids, labels, scores, tie_seed=tie_seed)
