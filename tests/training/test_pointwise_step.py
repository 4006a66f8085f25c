"""Pointwise steps against the formulas in float64 NumPy, differentiated by hand."""

import keras
import numpy as np
import pytest

from answer_ranking.layers import MaskedMean
from answer_ranking.models import features_alone
from answer_ranking.training import Pointwise, PointwiseOptions, fit
from answer_ranking.training.batch_stream import BatchStream

RATE = 0.3
OPTIONS = [{}, {"clip_norm": 1e3}, {"l2": 0.02, "clip_norm": 0.03}]


def linear_ranker(vectors, n_features):
    """Score w [mean of the question; mean of the answer; features] + b over trainable word vectors."""
    names = {
        "question": ((None,), "int32"),
        "answer": ((None,), "int32"),
        "features": ((n_features,), "float32"),
    }
    inputs = [keras.Input(shape, dtype=dtype, name=name) for name, (shape, dtype) in names.items()]
    embedding = keras.layers.Embedding(*vectors.shape, mask_zero=True, weights=[vectors], name="vectors")
    mean = MaskedMean()
    pair = keras.layers.Concatenate()([*(mean(embedding(text)) for text in inputs[:2]), inputs[2]])
    score = keras.layers.Dense(1, bias_initializer=keras.initializers.Constant(0.1), name="dense")(pair)
    return keras.Model(inputs, keras.layers.Reshape(())(score))


def clipped(gradients, clip_norm):
    norm = np.sqrt(sum((g**2).sum() for g in gradients))
    scale = 1 if clip_norm is None else min(1, clip_norm / norm)
    return [g * scale for g in gradients], norm


def cross_entropy(scores, labels):
    return np.mean(np.log1p(np.exp(-np.where(labels == 1, 1, -1) * scores)))


def linear_step(weights, split, rows, l2=0.0, clip_norm=None):
    """Loss, gradient's norm and weights after one step of SGD over some rows."""
    vectors, kernel, bias = (np.float64(w) for w in weights)
    n = vectors.shape[1]
    at_vectors, at_kernel, at_bias = np.zeros_like(vectors), np.zeros_like(kernel), np.zeros(1)
    scores = []
    for row in rows:
        texts = split.questions.take([split.question_of_row[row]]), split.candidates.take([row])
        words = [text.words for text in texts]
        pair = np.concatenate([*(vectors[w].mean(axis=0) for w in words), np.float64(split.features[row])])
        scores.append(pair @ kernel[:, 0] + bias[0])
        # The derivative of -log sigmoid(s) for a correct answer and of -log(1 - sigmoid(s)) for a wrong one.
        share = (1 / (1 + np.exp(-scores[-1])) - split.labels[row]) / len(rows)
        at_kernel[:, 0] += share * pair
        at_bias += share
        for side, text in enumerate(words):
            for word in text:
                at_vectors[word] += share * kernel[side * n : (side + 1) * n, 0] / len(text)
    gradients = [at_vectors + 2 * l2 * vectors, at_kernel + 2 * l2 * kernel, at_bias]
    gradients, norm = clipped(gradients, clip_norm)
    moved = [np.float64(w) - RATE * g for w, g in zip(weights, gradients, strict=True)]
    return cross_entropy(np.array(scores), split.labels[rows]), norm, moved


def trained(way, ranker, optimizer=None, callbacks=()):
    trainer = way.trainer(ranker)
    trainer.compile(optimizer=optimizer or keras.optimizers.SGD(RATE), jit_compile=False)
    data = BatchStream(way, trainer).dataset()
    return trainer.fit(data, shuffle=False, callbacks=callbacks, verbose=0).history


@pytest.mark.parametrize("options", OPTIONS)
def test_one_step_equals_float64_numpy(make_split, make_vectors, options):
    split = make_split(n_features=2)
    ranker = linear_ranker(make_vectors(), 2)
    before = [v.numpy() for v in ranker.trainable_variables]
    history = trained(Pointwise(split, PointwiseOptions(batch_size=1000, **{"l2": 0.0} | options)), ranker)
    loss, norm, expected = linear_step(before, split, np.arange(split.n_rows), **options)
    assert history["loss"][0] == pytest.approx(loss, rel=1e-5)
    assert history["gradient_norm"][0] == pytest.approx(norm, rel=1e-5)
    for variable, start, value in zip(ranker.trainable_variables, before, expected, strict=True):
        moved = np.abs(value - start).max()
        assert moved > 1e-6
        np.testing.assert_allclose(variable.numpy(), value, atol=1e-4 * moved + 1e-7, err_msg=variable.path)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_an_epoch_of_steps_equals_float64_numpy(make_split, batch_size):
    """A logistic regression: CTRN's MLP without hidden layers, on the features alone."""
    split = make_split(n_features=3)
    split.features[:, 0] = np.arange(split.n_rows) / 10  # tells the rows of a batch
    ranker = features_alone(3, hidden=(), seed=5)
    kernel, bias = (np.float64(v.numpy()) for v in ranker.trainable_variables)
    way = Pointwise(split, PointwiseOptions(batch_size=batch_size, l2=0.01, clip_norm=0.5), seed=2)
    losses = []
    for batch in way.batches(None, 0):
        rows = np.rint(batch["features"][:, 0] * 10).astype(int)
        x, y = np.float64(split.features[rows]), split.labels[rows]
        scores = x @ (kernel[:, 1] - kernel[:, 0]) + bias[1] - bias[0]
        losses.append(cross_entropy(scores, y))
        share = (1 / (1 + np.exp(-scores)) - y) / len(rows)
        # The score is the difference of two logits.
        at_kernel, at_bias = np.outer(share @ x, [-1, 1]), share.sum() * np.array([-1, 1])
        (at_kernel, at_bias), _ = clipped([at_kernel + 2 * 0.01 * kernel, at_bias], 0.5)
        kernel, bias = kernel - RATE * at_kernel, bias - RATE * at_bias
    history = trained(way, ranker)
    for variable, value in zip(ranker.trainable_variables, (kernel, bias), strict=True):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-4, atol=1e-5)
    # Every batch counts alike in the reported loss, a shorter one too.
    assert history["loss"][0] == pytest.approx(np.mean(losses), rel=1e-4)


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_weight_decay_is_that_of_adamw_and_spares_biases(make_split, decay):
    train = make_split(n_features=3)
    ranker = features_alone(3, hidden=(), seed=1)
    kernel, bias = (np.float64(v.numpy()) for v in ranker.trainable_variables)
    bias += 1
    ranker.trainable_variables[1].assign(bias)
    options = {"optimizer": "adamw", "learning_rate": 0.1, "weight_decay": decay, "l2": 0.0}
    way = Pointwise(train, PointwiseOptions(batch_size=1000, epochs=1, **options))
    scores = train.features @ (kernel[:, 1] - kernel[:, 0]) + bias[1] - bias[0]
    share = (1 / (1 + np.exp(-scores)) - train.labels) / train.n_rows
    at_kernel = np.outer(share @ train.features, [-1, 1])
    fit(ranker, way, dev=make_split(n_features=3), verbose=False)
    # Adam's first step has the length of the rate, whatever the gradient's.
    expected = kernel * (1 - 0.1 * decay) - 0.1 * np.sign(at_kernel)
    np.testing.assert_allclose(ranker.trainable_variables[0].numpy(), expected, atol=1e-4)
    moved = 0.1 * np.sign(share.sum()) * np.array([-1, 1])
    np.testing.assert_allclose(ranker.trainable_variables[1].numpy(), bias - moved, atol=1e-4)


def test_training_pairs_without_the_features_that_the_ranker_wants_are_refused(make_split):
    train, dev = make_split(), make_split(n_features=4)
    with pytest.raises(ValueError, match=r"input `features`. Received: a split without features"):
        fit(features_alone(4), Pointwise(train, PointwiseOptions()), dev=dev)
