"""List-wise steps against float64 NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from answer_ranking.training import Listwise, ListwiseOptions
from answer_ranking.training.batch_stream import BatchStream
from answer_ranking.training.listwise import divergence


def word_sums(words=40, seed=0):
    """The simplest ranker of lists: an answer's score is the sum of its words' weights."""
    question = keras.Input((None,), dtype="int32", name="question")
    answers = keras.Input((None, None), dtype="int32", name="answers")
    weights = np.random.default_rng(seed).normal(size=(words, 1)).astype("float32")
    scores = keras.layers.Embedding(words, 1, weights=[weights], name="words")(answers)[..., 0]
    scores = ops.sum(ops.where(answers > 0, scores, 0.0), axis=-1)
    # What a model says of padding must not matter.
    scores = ops.where(ops.any(answers > 0, axis=-1), scores, 100.0)
    return keras.Model([question, answers], scores + 0 * ops.sum(question))


def kl(scores, labels):
    """Kullback-Leibler divergence in float64, and its gradient with respect to the scores."""
    q = np.exp(scores - scores.max())
    q /= q.sum()
    p = labels / labels.sum()
    real = p > 0
    return (p[real] * (np.log(p[real]) - np.log(q[real]))).sum(), q - p


def test_the_divergence_is_that_of_float64():
    rng = np.random.default_rng(1)
    counts = np.array([1, 4, 9, 6, 2])
    real = np.arange(9) < counts[:, None]
    scores = rng.normal(0, 20, real.shape).astype("float32")
    labels = (rng.random(real.shape) < 0.4) & real
    labels[:, 0] = True
    expected = [kl(s[r].astype("float64"), y[r]) for s, y, r in zip(scores, labels, real, strict=True)]
    label = labels / labels.sum(1, keepdims=True)
    variable = tf.Variable(scores)
    with tf.GradientTape() as tape:
        losses = divergence(variable, tf.constant(label, tf.float32), tf.constant(real))
    gradient = tape.gradient(losses, variable).numpy()
    np.testing.assert_allclose(losses, [loss for loss, _ in expected], rtol=1e-5, atol=1e-5)
    for ours, (_, theirs), r in zip(gradient, expected, real, strict=True):
        np.testing.assert_allclose(ours[r], theirs, atol=1e-6)
        assert not ours[~r].any()


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_a_step_of_gradient_descent_is_that_of_float64(make_split, l2):
    split = make_split(10, seed=4)
    ranker = word_sums()
    before = ranker.get_weights()[0].astype("float64")
    way = Listwise(split, ListwiseOptions(batch_size=10, l2=l2))
    trainer = way.trainer(ranker)
    trainer.compile(optimizer=keras.optimizers.SGD(0.3))
    logs = trainer.fit(BatchStream(way, trainer).dataset(), shuffle=False, verbose=0).history

    losses, gradient = [], 2 * l2 * before
    for start, stop in zip(split.candidate_offsets, split.candidate_offsets[1:], strict=False):
        counts = np.zeros((stop - start, len(before)))
        for i, row in enumerate(range(start, stop)):
            np.add.at(counts[i], split.candidates.take([row]).words, 1)
        loss, at_scores = kl((counts @ before)[:, 0], split.labels[start:stop])
        losses.append(loss)
        gradient = gradient + (counts.T @ at_scores)[:, None] / 10
    np.testing.assert_allclose(ranker.get_weights()[0], before - 0.3 * gradient, atol=2e-6)
    assert logs["loss"][0] == pytest.approx(np.mean(losses), rel=1e-5)
    assert logs["gradient_norm"][0] == pytest.approx(np.linalg.norm(gradient), rel=1e-4)
