"""The length of word vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep import UserError, WordVectors
from data_prep.vector_norms import mean_norm, scale_to_norm


def _vectors(matrix):
    return WordVectors(np.float32(matrix), "own", 0.9, 0.8, len(matrix[0]))


@given(st.integers(0, 2**32 - 1), st.floats(1e-2, 1e2))
def test_running_words_have_the_mean_norm_and_the_directions_stay(seed, norm):
    rng = np.random.default_rng(seed)
    before = _vectors(np.vstack([np.zeros(4), rng.normal(size=(6, 4))]))
    # Row 0 is padding and does not run; a word that does not occur does not count, but is scaled.
    counts = np.array([0, 0, 5, 1, 2, 0, 7])
    after = scale_to_norm(before, counts, norm)
    running = np.repeat(np.arange(7), counts)
    exact = before.matrix.astype(np.float64)
    lengths = np.sqrt((exact[running] ** 2).sum(axis=1))
    assert after.matrix == pytest.approx(exact * norm / lengths.mean(), rel=1e-5)
    assert mean_norm(after, counts) == pytest.approx(norm, rel=1e-5)
    assert not after.matrix[0].any()
    assert after.matrix.dtype == np.float32
    assert (after.name, after.coverage_types, after.coverage_tokens) == ("own", 0.9, 0.8)


@pytest.mark.parametrize("norm", [0.0, -1.0, float("nan")])
def test_a_norm_that_is_none_is_refused(norm):
    with pytest.raises(UserError, match="above 0"):
        scale_to_norm(_vectors([[0.0], [2.0]]), np.array([0, 3]), norm)


@pytest.mark.parametrize("counts", [[0, 3, 0], [0, 0, 0]])
def test_zero_vectors_cannot_be_scaled(counts):
    with pytest.raises(UserError, match="own: the vectors of all running words are zero"):
        scale_to_norm(_vectors([[0.0], [0.0], [2.0]]), np.array(counts), 1.0)
