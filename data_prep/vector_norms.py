"""The length of word vectors, which differs between sources and which some models are sensitive to."""

from dataclasses import replace

import numpy as np

from data_prep.errors import UserError
from data_prep.word_vectors import WordVectors


def scale_to_norm(vectors: WordVectors, counts: np.ndarray, norm: float) -> WordVectors:
    """Scale all word vectors by one factor, so that the running words' have a mean length.

    Ratios and angles between vectors stay as they are.

    Args:
        vectors: the word vectors.
        counts: integers (n_words,), how often every word occurs in the texts that are to be read.
        norm: float, the mean Euclidean length to reach, above 0.

    Returns:
        The scaled word vectors.

    Raises:
        UserError: `norm` is not above 0, or all running words have the vector zero.

    Example:
        >>> vectors = WordVectors(np.array([[0, 0], [3, 4], [0, 1]], "float32"), "own", 1.0, 1.0, 2)
        >>> scale_to_norm(vectors, np.array([0, 1, 0]), 1.0).matrix.round(1).tolist()
        [[0.0, 0.0], [0.6000000238418579, 0.800000011920929], [0.0, 0.20000000298023224]]
    """
    if not norm > 0:
        raise UserError(f"the word vectors' norm must be above 0. Received: {norm}")
    present = mean_norm(vectors, counts)
    if present == 0:
        raise UserError(f"{vectors.name}: the vectors of all running words are zero and cannot be scaled.")
    return replace(vectors, matrix=vectors.matrix * np.float32(norm / present))


def mean_norm(vectors: WordVectors, counts: np.ndarray) -> float:
    """Return the mean Euclidean length of the running words' vectors, 0 where there are no words.

    Args:
        vectors: the word vectors.
        counts: integers (n_words,), how often every word occurs.

    Example:
        >>> vectors = WordVectors(np.array([[0, 0], [3, 4], [0, 1]], "float32"), "own", 1.0, 1.0, 2)
        >>> mean_norm(vectors, np.array([0, 1, 3]))
        2.0
    """
    norms = np.linalg.norm(vectors.matrix, axis=1).astype(np.float64)
    return float(norms @ counts / max(1, counts.sum()))
