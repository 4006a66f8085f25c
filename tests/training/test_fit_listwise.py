"""List-wise steps against float64 NumPy, scores in row order, resuming, and the order of candidates."""

from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from data_prep import EncodedSplit, EncodedTexts, UserError
from models.cosinet import cosinet
from training.fit_listwise import fit_listwise
from training.list_scorer import ListScorer
from training.listwise_batches import ListwiseBatches
from training.listwise_settings import ListwiseSettings
from training.listwise_trainer import ListwiseTrainer, divergence
from training.pair_scorer import PairScorer
from training.slanted_triangular_rate import SlantedTriangularRate


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


def test_equal_scores_of_n_candidates_and_k_answers_are_log_n_over_k_apart():
    label = tf.constant([[0.5, 0.5, 0, 0, 0, 0, 0, 0]])
    real = tf.constant([[True] * 6 + [False] * 2])
    assert float(divergence(tf.fill((1, 8), 3.0), label, real)[0]) == pytest.approx(np.log(3), rel=1e-6)


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_a_step_of_gradient_descent_is_that_of_float64(make_split, l2):
    split = make_split(10, seed=4)
    ranker = word_sums()
    before = ranker.get_weights()[0].astype("float64")
    batches = ListwiseBatches(split, 10)
    trainer = ListwiseTrainer(ranker, l2=l2)
    trainer.compile(optimizer=keras.optimizers.SGD(0.3))
    logs = trainer.fit(batches.dataset(), shuffle=False, verbose=0).history

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


@pytest.mark.parametrize(
    ("across", "words_per_chunk"), [("none", 60), ("birnn", 1), ("birnn", 60), ("birnn", 16384)]
)
def test_scores_stand_in_row_order_whatever_the_chunks(make_split, make_vectors, across, words_per_chunk):
    split = make_split(9, seed=5)
    ranker = cosinet(make_vectors(), objective="listwise", across=across, filters=6, width=3)
    scores = ListScorer(ranker, split, words_per_chunk=words_per_chunk)()
    for i in range(9):
        rows = np.arange(*split.candidate_offsets[[i, i + 1]])
        alone = ranker([split.questions.padded([i]), split.candidates.padded(rows)[None]])
        np.testing.assert_allclose(scores[rows], alone[0], atol=2e-6)


def test_order_matters_to_a_network_across_candidates_and_to_nothing_else(make_split, make_vectors):
    split = make_split(9, seed=5)
    for across, differs in (("none", False), ("birnn", True)):
        ranker = cosinet(make_vectors(), objective="listwise", across=across, filters=6, width=3)
        in_order, shuffled = ListScorer(ranker, split)(), ListScorer(ranker, split, order_seed=1)()
        assert (np.abs(in_order - shuffled).max() > 1e-3) == differs
        if not differs:
            np.testing.assert_allclose(in_order, shuffled, atol=2e-6)


def test_without_a_network_across_candidates_lists_score_as_pairs(make_split, make_vectors):
    split, vectors = make_split(9, seed=5), make_vectors()
    lists = cosinet(vectors, objective="listwise", filters=6, seed=3)
    pairs = cosinet(vectors, objective="pointwise", filters=6, seed=3)
    np.testing.assert_allclose(ListScorer(lists, split)(), PairScorer(pairs, split)(), atol=2e-6)


def correct_first(n_questions, seed):
    """Texts that say nothing, in lists that have the only correct candidate first, as TrecQA's files do."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(4, 8, n_questions)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    labels = np.zeros(offsets[-1], np.int8)
    labels[offsets[:-1]] = 1
    return EncodedSplit(
        questions=EncodedTexts(np.full(n_questions, 2, np.int32), np.arange(n_questions + 1)),
        candidates=EncodedTexts(rng.integers(3, 6, offsets[-1]).astype(np.int32), np.arange(offsets[-1] + 1)),
        candidate_offsets=offsets,
        labels=labels,
        question_ids=[f"{seed}-{i}" for i in range(n_questions)],
        candidate_ids=[f"c{i}" for i in range(offsets[-1])],
    )


def precision_at_1(split, scores):
    best = [start + scores[start:stop].argmax() for start, stop in _bounds(split)]
    return {"map": float(split.labels[best].mean())}


def _bounds(split):
    return zip(split.candidate_offsets[:-1], split.candidate_offsets[1:], strict=True)


@pytest.mark.parametrize(("order_seed", "lowest", "highest"), [(None, 0.99, 1.0), (0, 0.05, 0.45)])
def test_a_model_across_candidates_finds_answers_that_stand_first_unless_they_are_shuffled(
    make_vectors, order_seed, lowest, highest
):
    ranker = cosinet(make_vectors(), objective="listwise", across="rnn", filters=6, width=1)
    train, dev = correct_first(120, 0), correct_first(120, 1)
    options = ListwiseSettings(epochs=6, batch_size=6, learning_rate=0.02)
    fit_listwise(ranker, train, dev, options, precision_at_1, order_seed=order_seed, verbose=False)
    # Lists have 4 to 7 candidates: chance is 0.19.
    scores = ListScorer(ranker, dev, order_seed=order_seed)()
    assert lowest <= precision_at_1(dev, scores)["map"] <= highest


def small_training(make_split, make_vectors, state_path=None, *callbacks, seed=4):
    common = {"filters": 5, "width": 3, "embedding_dropout": 0.2, "dropout": 0.2, "seed": seed}
    ranker = cosinet(make_vectors(), objective="listwise", across="rnn", hidden=4, **common)
    result = fit_listwise(
        ranker,
        make_split(30, seed=2),
        make_split(12, seed=3),
        ListwiseSettings(epochs=3, batch_size=4, learning_rate=0.05),
        precision_at_1,
        seed=seed,
        state_path=state_path,
        state_key="k",
        callbacks=[SlantedTriangularRate(0.05, cut_fraction=0.3, ratio=8), *callbacks],
        verbose=False,
    )
    history = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in result.history]
    return history, result.best_epoch, ranker.get_weights()


class InterruptAfter(keras.callbacks.Callback):
    """Ends the process's work after an epoch was saved."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


def test_an_interrupted_training_goes_on_bit_for_bit_learning_rate_included(
    make_split, make_vectors, tmp_path
):
    unbroken = small_training(make_split, make_vectors)
    state = tmp_path / "state.npz"
    with pytest.raises(KeyboardInterrupt):
        small_training(make_split, make_vectors, state, InterruptAfter(0))
    resumed = small_training(make_split, make_vectors, state)
    assert resumed[:2] == unbroken[:2]
    for ours, theirs in zip(resumed[2], unbroken[2], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    losses = [epoch["loss"] for epoch in unbroken[0]]
    assert losses[-1] < losses[0]


def test_labels_that_leave_nothing_to_train_on(make_split, make_vectors):
    split = make_split()
    split = replace(split, labels=np.zeros_like(split.labels))
    ranker = cosinet(make_vectors(), objective="listwise", filters=4)
    with pytest.raises(UserError, match="nothing to train"):
        fit_listwise(ranker, split, split, ListwiseSettings(), precision_at_1, verbose=False)


def test_settings_out_of_range():
    for options in ({"batch_size": 0}, {"max_candidates": 1}, {"epochs": -1}):
        with pytest.raises(UserError, match="Received"):
            ListwiseSettings(**options)
