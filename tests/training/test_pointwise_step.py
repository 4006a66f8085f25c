"""Pointwise steps against the formulas in float64 NumPy, differentiated by hand."""

import keras
import numpy as np
import pytest

from data_prep import UserError
from evaluation import evaluate_ranking, summarise
from layers import MaskedMean
from models.ctrn import features_alone
from training.callbacks import StopOnDivergence, TrainingDivergedError
from training.fit_pointwise import fit_pointwise
from training.pointwise_batches import PointwiseBatches
from training.pointwise_settings import PointwiseSettings
from training.pointwise_trainer import PointwiseTrainer

RATE = 0.3
OPTIONS = [
    {},
    {"l2": 0.02},
    {"clip_norm": 0.05},
    {"clip_norm": 1e3},
    {"clip_value": 0.01},
    {"l2": 0.02, "clip_value": 0.02, "clip_norm": 0.03},
]


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


def clipped(gradients, clip_value, clip_norm):
    if clip_value is not None:
        gradients = [np.clip(g, -clip_value, clip_value) for g in gradients]
    norm = np.sqrt(sum((g**2).sum() for g in gradients))
    scale = 1 if clip_norm is None else min(1, clip_norm / norm)
    return [g * scale for g in gradients], norm


def cross_entropy(scores, labels):
    return np.mean(np.log1p(np.exp(-np.where(labels == 1, 1, -1) * scores)))


def linear_step(weights, split, rows, l2=0.0, clip_value=None, clip_norm=None):
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
    gradients, norm = clipped(gradients, clip_value, clip_norm)
    moved = [np.float64(w) - RATE * g for w, g in zip(weights, gradients, strict=True)]
    return cross_entropy(np.array(scores), split.labels[rows]), norm, moved


@pytest.mark.parametrize("options", OPTIONS)
def test_one_step_equals_float64_numpy(make_split, make_vectors, options):
    split = make_split(n_features=2)
    ranker = linear_ranker(make_vectors(), 2)
    before = [v.numpy() for v in ranker.trainable_variables]
    trainer = PointwiseTrainer(ranker, **options)
    trainer.compile(optimizer=keras.optimizers.SGD(RATE), jit_compile=False)
    batches = PointwiseBatches(split, 1000)
    history = trainer.fit(batches.dataset(), shuffle=False, verbose=0).history
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
    batches = PointwiseBatches(split, batch_size, seed=2)
    losses = []
    for batch in batches.batches():
        rows = np.rint(batch["features"][0, :, 0] * 10).astype(int)
        x, y = np.float64(split.features[rows]), split.labels[rows]
        scores = x @ (kernel[:, 1] - kernel[:, 0]) + bias[1] - bias[0]
        losses.append(cross_entropy(scores, y))
        share = (1 / (1 + np.exp(-scores)) - y) / len(rows)
        # The score is the difference of two logits.
        at_kernel, at_bias = np.outer(share @ x, [-1, 1]), share.sum() * np.array([-1, 1])
        (at_kernel, at_bias), _ = clipped([at_kernel + 2 * 0.01 * kernel, at_bias], None, 0.5)
        kernel, bias = kernel - RATE * at_kernel, bias - RATE * at_bias
    trainer = PointwiseTrainer(ranker, l2=0.01, clip_norm=0.5)
    trainer.compile(optimizer=keras.optimizers.SGD(RATE), jit_compile=False)
    history = trainer.fit(batches.dataset(), shuffle=False, verbose=0).history
    for variable, value in zip(ranker.trainable_variables, (kernel, bias), strict=True):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-4, atol=1e-5)
    # Every batch counts alike in the reported loss, a shorter one too.
    assert history["loss"][0] == pytest.approx(np.mean(losses), rel=1e-4)


def measure(split, scores):
    questions = np.repeat(split.question_ids, np.diff(split.candidate_offsets))
    return summarise(evaluate_ranking(questions, split.labels, scores), "answerable")


def fit_features(train, dev, **options):
    ranker = features_alone(3, hidden=(8,), dropout=0.1, seed=1)
    settings = PointwiseSettings(**{"epochs": 8, "learning_rate": 0.05, "batch_size": 16} | options)
    return ranker, fit_pointwise(ranker, train, dev, settings, measure, seed=1, verbose=False)


def test_what_can_be_learnt_is_learnt(make_split):
    train, dev = make_split(40, n_features=3), make_split(15, seed=1, n_features=3)
    for split in (train, dev):
        split.features[:, 1] += 3 * split.labels
    _, result = fit_features(train, dev)
    best = max(epoch["dev_map"] for epoch in result.history)
    assert best > 0.95
    assert result.history[result.best_epoch]["dev_map"] == best
    assert result.history[-1]["loss"] < result.history[0]["loss"] < np.log(2) + 0.3
    assert set(result.history[0]) >= {"loss", "gradient_norm", "seconds", "dev_map", "dev_mrr"}


def test_labels_that_are_all_the_same_are_refused(make_split):
    train = make_split(n_features=3)
    train.labels[:] = 0
    with pytest.raises(UserError, match="nothing to train on"):
        fit_features(train, make_split(n_features=3))


def test_a_dev_split_without_the_features_that_the_ranker_wants_is_refused(make_split):
    with pytest.raises(ValueError, match=r"input `features`. Received: a split without features"):
        fit_features(make_split(n_features=3), make_split())


def test_training_pairs_without_the_features_that_the_ranker_wants_are_refused(make_split):
    train, dev = make_split(), make_split(n_features=4)
    with pytest.raises(ValueError, match=r"input `features`. Received: training pairs without features"):
        fit_pointwise(features_alone(4), train, dev, PointwiseSettings(), lambda split, scores: {})


def test_the_pair_that_ruins_a_step_is_the_one_named(make_split):
    train = make_split(6, n_features=3)
    train.features[:, 0] = np.arange(train.n_rows)
    order = [int(b["features"][0, 0, 0]) for b in PointwiseBatches(train, 1, seed=1).batches()]
    place = 13
    train.features[order[place], 1] = np.inf
    with pytest.raises(TrainingDivergedError, match=rf"at step {place}: .* is (nan|inf).*learning rate"):
        fit_features(train, make_split(n_features=3), batch_size=1)


def test_a_step_that_is_not_finite_changes_nothing(make_split, make_vectors):
    vectors = make_vectors()
    vectors[7] = np.nan
    ranker = linear_ranker(vectors, 2)
    trainer = PointwiseTrainer(ranker)
    trainer.compile(optimizer=keras.optimizers.Adam(0.1), jit_compile=False)
    before = ranker.get_weights()
    with pytest.raises(TrainingDivergedError, match=r"at step 0: the loss is nan"):
        trainer.fit(
            PointwiseBatches(make_split(n_features=2), 1000).dataset(),
            shuffle=False,
            callbacks=[StopOnDivergence()],
            verbose=0,
        )
    for ours, theirs in zip(ranker.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("option", [{"l2": -1.0}, {"clip_norm": 0.0}, {"clip_value": -1.0}])
def test_options_out_of_range_are_refused(option):
    with pytest.raises(ValueError, match="Received"):
        PointwiseTrainer(features_alone(3), **option)


@pytest.mark.parametrize(
    "option", [{"batch_size": 0}, {"l2": -1.0}, {"patience": 0}, {"learning_rate": 0.0}, {"epochs": -1}]
)
def test_settings_out_of_range_are_the_user_s_to_mend(option):
    ((name, value),) = option.items()
    with pytest.raises(UserError, match=rf"{name} must be .*Received: {value}"):
        PointwiseSettings(**option)
