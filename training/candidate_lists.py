"""The candidates of questions as lists: their order, and how they are laid out."""

import zlib
from collections.abc import Sequence

import numpy as np

from data_prep import EncodedSplit

_UNKNOWN = 1


def list_rows(split: EncodedSplit, order_seed: int | None = None) -> list[np.ndarray]:
    """Give each question's rows in the order in which a list-wise model sees them.

    In a document the order of the sentences is a fair signal. Where the files of a data set list correct
    answers first, it is the label itself: give such a data set an `order_seed`, for training and for scoring.

    Args:
        split: questions and candidates.
        order_seed: None keeps the split's order; else candidates are shuffled, in a way that depends on this
            seed, the question's identifier and the number of its candidates alone.

    Returns:
        One int64 array of rows per question.

    Example:
        >>> [rows.tolist() for rows in list_rows(split)]  # doctest: +SKIP
        [[0, 1, 2], [3, 4]]
    """
    rows = np.split(np.arange(split.n_rows), split.candidate_offsets[1:-1])
    if order_seed is None:
        return rows
    return [
        np.random.default_rng([order_seed, zlib.crc32(str(name).encode())]).permutation(own)
        for name, own in zip(split.question_ids, rows, strict=True)
    ]


def padded_lists(split: EncodedSplit, lists: Sequence[np.ndarray]) -> np.ndarray:
    """Lay the candidates of lists out as a block, filled up with 0.

    A candidate without a word is laid out as one unknown word, since one of padding alone is no candidate.

    Args:
        split: has the candidates.
        lists: the rows of each list.

    Returns:
        int32 `(lists, candidates, length)`, as wide as the longest list and text.

    Example:
        >>> padded_lists(split, [np.array([0, 1, 2]), np.array([3])]).shape  # doctest: +SKIP
        (2, 3, 11)
    """
    texts = split.candidates.padded(np.concatenate(lists))
    texts[texts[:, 0] == 0, 0] = _UNKNOWN
    real = real_candidates(lists)
    block = np.zeros((*real.shape, texts.shape[1]), np.int32)
    block[real] = texts
    return block


def real_candidates(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Tell candidates from padding.

    Args:
        lists: the rows of each list.

    Returns:
        bool `(lists, candidates)`, as wide as the longest list.

    Example:
        >>> real_candidates([np.array([4, 5]), np.array([6])]).tolist()
        [[True, True], [True, False]]
    """
    counts = np.array([len(rows) for rows in lists])
    return np.arange(counts.max()) < counts[:, None]
