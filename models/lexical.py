"""Rule baselines: no parameters, no training.

Every function takes the same three arguments and returns one score per candidate, higher being better:

* `question_tokens`: one sequence of tokens per question (words or word ids);
* `candidate_tokens`: one sequence of tokens per candidate, the candidates of a question contiguous;
* `candidate_offsets`: the candidates of question i are `offsets[i]` up to, not including, `offsets[i + 1]`.

RR, WO and WO+RR are those of Bonadiman & Moschitti (2020), section 2.1.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

Tokens = Sequence[Hashable]
LexicalModel = Callable[[Sequence[Tokens], Sequence[Tokens], ArrayLike], np.ndarray]


def _question_of_row(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    offsets = np.asarray(candidate_offsets, dtype=np.int64)
    sizes = np.diff(offsets)
    if (
        len(offsets) != len(question_tokens) + 1
        or offsets[0] != 0
        or offsets[-1] != len(candidate_tokens)
        or (sizes < 0).any()
    ):
        raise ValueError(
            "candidate_offsets must rise from 0 to the number of candidates, with one entry per question and "
            f"one more. Received: {len(question_tokens)} questions, {len(candidate_tokens)} candidates, "
            f"offsets {offsets}."
        )
    return np.repeat(np.arange(len(question_tokens)), sizes)


def _position(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    """Position of each candidate among those of its question, from 0."""
    rows = _question_of_row(question_tokens, candidate_tokens, candidate_offsets)
    return np.arange(len(rows)) - np.asarray(candidate_offsets)[rows]


def _overlap(
    question_tokens: Sequence[Tokens],
    candidate_tokens: Sequence[Tokens],
    candidate_offsets: ArrayLike,
    weight: Callable[[Hashable], float],
) -> np.ndarray:
    """Sum of the weights of the distinct words that question and candidate share."""
    rows = _question_of_row(question_tokens, candidate_tokens, candidate_offsets)
    questions = [frozenset(tokens) for tokens in question_tokens]
    return np.array(
        [
            math.fsum(map(weight, questions[row].intersection(tokens)))  # exact, so blind to the set's order
            for row, tokens in zip(rows, candidate_tokens, strict=True)
        ],
        dtype=np.float64,
    )


def constant(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    """Score every candidate 0: under a tie policy blind to file order this is a random ranking.

    Args:
        question_tokens: one sequence of tokens per question.
        candidate_tokens: one sequence of tokens per candidate.
        candidate_offsets: where each question's candidates begin, and the number of candidates.

    Returns:
        float64 scores, one per candidate.

    Example:
        >>> constant([["who"]], [["a"], ["b"]], [0, 2]).tolist()
        [0.0, 0.0]
    """
    return np.zeros(len(_question_of_row(question_tokens, candidate_tokens, candidate_offsets)))


def reciprocal_rank(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    """RR: the reciprocal of each candidate's place in the original order.

    Meaningless on a data set that lists its correct answers first.

    Args:
        question_tokens: one sequence of tokens per question.
        candidate_tokens: one sequence of tokens per candidate.
        candidate_offsets: where each question's candidates begin, and the number of candidates.

    Returns:
        float64 scores, one per candidate.

    Example:
        >>> reciprocal_rank([["who"]], [["a"], ["b"]], [0, 2]).tolist()
        [1.0, 0.5]
    """
    return 1.0 / (1 + _position(question_tokens, candidate_tokens, candidate_offsets))


def word_overlap(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    """WO: the number of distinct words that occur in both question and candidate.

    Args:
        question_tokens: one sequence of tokens per question.
        candidate_tokens: one sequence of tokens per candidate.
        candidate_offsets: where each question's candidates begin, and the number of candidates.

    Returns:
        float64 scores, one per candidate.

    Example:
        >>> word_overlap([["who", "ran"]], [["she", "ran"], ["b"]], [0, 2]).tolist()
        [1.0, 0.0]
    """
    return _overlap(question_tokens, candidate_tokens, candidate_offsets, lambda word: 1)


def word_overlap_then_rank(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    """WO+RR: word overlap, ties broken by the original order.

    Meaningless on a data set that lists its correct answers first.

    Args:
        question_tokens: one sequence of tokens per question.
        candidate_tokens: one sequence of tokens per candidate.
        candidate_offsets: where each question's candidates begin, and the number of candidates.

    Returns:
        float64 scores, one per candidate.

    Example:
        >>> word_overlap_then_rank([["ran"]], [["b"], ["c"], ["ran"]], [0, 3]).argsort().tolist()
        [1, 0, 2]
    """
    overlap = word_overlap(question_tokens, candidate_tokens, candidate_offsets)
    position = _position(question_tokens, candidate_tokens, candidate_offsets)
    # Less than one overlapping word, in equal steps: reciprocal ranks would merge in float32 far down a list.
    return overlap - position / max(position.max(initial=0) + 1, 1)


def idf_word_overlap(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    """Word overlap with each shared word weighted by its rarity among all candidates given.

    The weight is ln((N + 1) / (n_w + 1)) for a word in n_w of the N candidates.

    Args:
        question_tokens: one sequence of tokens per question.
        candidate_tokens: one sequence of tokens per candidate.
        candidate_offsets: where each question's candidates begin, and the number of candidates.

    Returns:
        float64 scores, one per candidate.

    Example:
        >>> idf_word_overlap([["who", "ran"]], [["who", "ran"], ["who"]], [0, 2]).round(3).tolist()
        [0.405, 0.0]
    """
    frequency: dict[Hashable, int] = {}
    for tokens in candidate_tokens:
        for word in set(tokens):
            frequency[word] = frequency.get(word, 0) + 1
    n = len(candidate_tokens)
    idf = {word: math.log((n + 1) / (count + 1)) for word, count in frequency.items()}
    return _overlap(question_tokens, candidate_tokens, candidate_offsets, lambda word: idf[word])


def bm25(
    question_tokens: Sequence[Tokens], candidate_tokens: Sequence[Tokens], candidate_offsets: ArrayLike
) -> np.ndarray:
    """BM25 of the `bm25s` library (Lucene's variant, k1 = 1.5, b = 0.75).

    Document frequencies and the mean length are those of all candidates given, so give a whole split.

    Args:
        question_tokens: one sequence of tokens per question.
        candidate_tokens: one sequence of tokens per candidate.
        candidate_offsets: where each question's candidates begin, and the number of candidates.

    Returns:
        float64 scores, one per candidate.

    Example:
        >>> scores = bm25([["who", "ran"]], [["she", "ran"], ["b"]], [0, 2])
        >>> bool(scores[0] > scores[1])
        True
    """
    # Imported here because it loads JAX where that is installed.
    import bm25s

    _question_of_row(question_tokens, candidate_tokens, candidate_offsets)
    index = bm25s.BM25()
    index.index([[str(word) for word in tokens] for tokens in candidate_tokens], show_progress=False)
    scores = np.zeros(len(candidate_tokens))
    for tokens, (start, end) in zip(question_tokens, itertools.pairwise(candidate_offsets), strict=True):
        known = index.get_tokens_ids([str(word) for word in tokens])
        if len(known):
            scores[start:end] = index.get_scores_from_ids(known)[start:end]
    return scores


LEXICAL_MODELS: dict[str, LexicalModel] = {
    "Random": constant,
    "RR": reciprocal_rank,
    "WO": word_overlap,
    "WO+RR": word_overlap_then_rank,
    "IDF-WO": idf_word_overlap,
    "BM25": bm25,
}
"""The rule baselines by their names in the papers' tables."""
