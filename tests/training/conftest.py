import numpy as np
import pytest

from answer_ranking.data_prep import EncodedSplit, EncodedTexts


@pytest.fixture
def make_split():
    """Random questions in the form that training reads: `make_split(n_questions, words, seed)`."""

    def make(n_questions=12, words=40, seed=0, longest=9, n_features=0):
        rng = np.random.default_rng(seed)

        def texts(n):
            lengths = rng.integers(1, longest, n)
            offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            return EncodedTexts(rng.integers(2, words, offsets[-1]).astype(np.int32), offsets)

        counts = rng.integers(3, 8, n_questions)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        labels = np.zeros(offsets[-1], np.int8)
        for start, count in zip(offsets, counts, strict=False):
            labels[start + rng.choice(count, rng.integers(1, 3), replace=False)] = 1
        return EncodedSplit(
            questions=texts(n_questions),
            candidates=texts(offsets[-1]),
            candidate_offsets=offsets,
            labels=labels,
            question_ids=[f"q{i}" for i in range(n_questions)],
            candidate_ids=[f"c{i}" for i in range(offsets[-1])],
            features=rng.normal(size=(offsets[-1], n_features)).astype("float32") if n_features else None,
        )

    return make


@pytest.fixture
def correct_first():
    """Texts that say nothing, in lists of 4 to 7 with the correct candidates first, as in TrecQA."""

    def make(n_questions, seed, n_correct=1):
        rng = np.random.default_rng(seed)
        counts = rng.integers(4, 8, n_questions)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        n = offsets[-1]
        place = np.arange(n) - np.repeat(offsets[:-1], counts)
        return EncodedSplit(
            questions=EncodedTexts(np.full(n_questions, 2, np.int32), np.arange(n_questions + 1)),
            candidates=EncodedTexts(rng.integers(3, 6, n).astype(np.int32), np.arange(n + 1)),
            candidate_offsets=offsets,
            labels=(place < n_correct).astype(np.int8),
            question_ids=[f"{seed}-{i}" for i in range(n_questions)],
            candidate_ids=[f"c{i}" for i in range(n)],
        )

    return make
