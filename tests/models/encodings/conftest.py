import numpy as np
import pytest

from answer_ranking.data_prep import EncodedTexts


@pytest.fixture
def make_texts():
    """Random texts in the form that training reads."""

    def make(n, words=40, seed=0, longest=9):
        rng = np.random.default_rng(seed)
        offsets = np.concatenate([[0], np.cumsum(rng.integers(1, longest, n))]).astype(np.int64)
        return EncodedTexts(rng.integers(2, words, offsets[-1]).astype(np.int32), offsets)

    return make
