"""The list-wise step of rankers that encode texts apart, against its equations in float64."""

import keras
import numpy as np
import pytest

from answer_ranking.data_prep import EncodedSplit, EncodedTexts, UserError
from answer_ranking.models import hyperqa
from answer_ranking.training import ListwiseApart, ListwiseOptions
from answer_ranking.training.batch_stream import BatchStream


def texts_of(*texts):
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return EncodedTexts(np.concatenate(texts).astype(np.int32), offsets)


@pytest.fixture
def split():
    """Two questions with a correct answer, the first with two; and one without."""
    return EncodedSplit(
        questions=texts_of([2, 3], [4], [5]),
        candidates=texts_of([6, 7], [8], [2, 9, 3], [4, 6], [7], [8, 8]),
        candidate_offsets=np.array([0, 3, 5, 6]),
        labels=np.array([1, 0, 1, 0, 1, 0], np.int8),
        question_ids=["a", "b", "c"],
        candidate_ids=list("123456"),
    )


@pytest.fixture
def ranker():
    vectors = np.random.default_rng(0).normal(size=(10, 4)).astype("float32")
    return hyperqa(vectors, 3, max_norm=0.9)


def loss_of(ranker, split):
    """The mean divergence over the questions with a correct and a wrong answer, from the model's scores."""
    divergences = []
    for number in range(2):
        rows = np.arange(split.candidate_offsets[number], split.candidate_offsets[number + 1])
        answers = split.candidates.padded(rows)
        question = np.repeat(split.questions.padded([number]), len(rows), axis=0)
        scores = np.asarray(ranker([question, answers]), np.float64)
        q = np.exp(scores) / np.exp(scores).sum()
        p = split.labels[rows] / split.labels[rows].sum()
        divergences.append(sum(a * np.log(a / b) for a, b in zip(p, q, strict=True) if a))
    return np.mean(divergences)


def step(ranker, split, rate):
    method = ListwiseApart(split, ListwiseOptions(batch_size=8))
    trainer = method.trainer(ranker)
    trainer.compile(optimizer=keras.optimizers.SGD(rate), jit_compile=False)
    return trainer.fit(BatchStream(method, trainer).dataset(), verbose=0).history["loss"][0]


def test_a_step_follows_the_gradient_of_the_mean_divergence(ranker, split):
    before, weights = loss_of(ranker, split), [w.numpy() for w in ranker.trainable_variables]
    rate = 1e-3
    assert step(ranker, split, rate) == pytest.approx(before, rel=1e-4)
    moved = [(w.numpy() - old) for w, old in zip(ranker.trainable_variables, weights, strict=True)]
    squares = sum(float(np.square(m / rate).sum()) for m in moved)
    # To first order a step of plain descent lowers the loss by the rate times the gradient's square.
    assert before - loss_of(ranker, split) == pytest.approx(rate * squares, rel=0.05)


def test_long_lists_are_cut_with_their_correct_answers(ranker, split):
    method = ListwiseApart(split, ListwiseOptions(batch_size=8, max_candidates=2))
    (batch,) = method.batches(method.trainer(ranker), 0)
    assert batch["question_of_answer"].tolist() == [0, 0, 1, 1]
    # The first question's two correct answers, and both candidates of the second.
    assert sorted(batch["label"].reshape(2, 2).tolist()) == [[0, 1], [0.5, 0.5]]


def test_questions_without_both_kinds_of_answers_are_left_out(split):
    assert ListwiseApart(split, ListwiseOptions()).questions.tolist() == [0, 1]
    with pytest.raises(UserError, match="nothing to train on"):
        ListwiseApart(split.keep_questions(np.array([False, False, True])), ListwiseOptions())
