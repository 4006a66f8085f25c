"""Selection on dev, resuming, dropout, divergence, and what a training shows of itself."""

import json
import re
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import keras
import numpy as np
import pandas as pd
import pytest

from answer_ranking.data_prep import EncodedSplit, EncodedTexts, UserError
from answer_ranking.evaluation import measure
from answer_ranking.models import cosinet, features_alone, hyperqa, qa_cnn
from answer_ranking.training import (
    HardestNegative,
    HardestNegativeOptions,
    Listwise,
    ListwiseOptions,
    Pairwise,
    PairwiseOptions,
    Pointwise,
    PointwiseOptions,
    SlantedTriangularRate,
    TrainingDivergedError,
    fit,
    fitting,
    score,
)
from answer_ranking.training.batch_stream import BatchStream

PAIRWISE = {"batch_size": 7, "learning_rate": 0.2, "margin": 0.5, "eq9": "none", "clip_norm": 1.0}
POINTWISE = {"batch_size": 11, "learning_rate": 0.02, "clip_norm": 1.0}
LISTWISE = {"batch_size": 4, "learning_rate": 0.05}
HARDEST = {"batch_size": 6, "sampled_negatives": 5, "learning_rate": 0.5, "margin": 0.3}


def build(kind, vectors, split, dropout, seed, options):
    """Make a small ranker, and a method of training of the kind."""
    both = {"embedding_dropout": dropout, "dropout": dropout, "seed": seed}
    if kind == "pairwise":
        ranker = hyperqa(vectors, 5, max_norm=0.9, **both)
        return ranker, Pairwise(split, PairwiseOptions(**PAIRWISE | options), seed)
    if kind == "listwise":
        ranker = sums_of_words(vectors, dropout, seed)
        return ranker, Listwise(split, ListwiseOptions(**LISTWISE | options), seed)
    if kind == "hardest":
        ranker = qa_cnn(vectors, 4, embedding_dropout=dropout, seed=seed)
        return ranker, HardestNegative(split, HardestNegativeOptions(**HARDEST | options), seed)
    ranker = features_alone(2, hidden=(6,), dropout=dropout, seed=seed)
    return ranker, Pointwise(split, PointwiseOptions(**POINTWISE | options), seed)


def sums_of_words(vectors, dropout, seed):
    """A ranker of lists that is quickly compiled: a linear function of the sum of an answer's words."""
    question = keras.Input((None,), dtype="int32", name="question")
    answers = keras.Input((None, None), dtype="int32", name="answers")
    words = keras.layers.Embedding(*vectors.shape, weights=[vectors], trainable=False)(answers)
    words = keras.layers.Dropout(dropout, seed=seed)(words)
    score = keras.layers.Dense(1, kernel_initializer=keras.initializers.GlorotUniform(seed))
    scores = score(keras.ops.sum(words, axis=2))[..., 0]
    return keras.Model([question, answers], scores + 0 * keras.ops.sum(question))


class Interrupt(keras.callbacks.Callback):
    """Ends the process's work at a moment; all that it held in memory is lost with it."""

    def __init__(self, moment, epoch):
        super().__init__()
        self.moment, self.epoch, self.current = moment, epoch, 0

    def on_epoch_begin(self, epoch, logs=None):
        self.current = epoch
        self._end("begin")

    def on_train_batch_end(self, batch, logs=None):
        self._end("before saving")

    def on_epoch_end(self, epoch, logs=None):
        self._end("after saving")

    def _end(self, moment):
        if (moment, self.current) == (self.moment, self.epoch):
            raise KeyboardInterrupt


class Trained(NamedTuple):
    """What a training gives, and what it had."""

    history: list
    best_epoch: int
    weights: list
    ranker: keras.Model
    split: EncodedSplit
    dev: EncodedSplit


@pytest.fixture
def train(make_split, make_vectors):
    def run(kind, state=None, *callbacks, key="k", dropout=0.2, seed=4, **options):
        split, dev = make_split(30, seed=2, n_features=2), make_split(25, seed=3, n_features=2)
        # A question without a correct answer takes no part.
        dev.labels[dev.question_of_row == 4] = 0
        ranker, way = build(kind, make_vectors(), split, dropout, seed, {"epochs": 5, **options})
        if kind == "listwise":
            callbacks = [SlantedTriangularRate(0.05, cut_fraction=0.3, ratio=8), *callbacks]
        result = fit(ranker, way, dev=dev, state=state, key=key, callbacks=callbacks, verbose=False)
        history = [epoch | {"seconds": None} for epoch in result.history]
        weights = [v.numpy() for v in ranker.trainable_variables]
        return Trained(history, result.best_epoch, weights, ranker, split, dev)

    return run


@pytest.mark.parametrize("kind", ["pairwise", "pointwise", "listwise", "hardest"])
def test_every_batch_draws_its_own_dropout(make_split, make_vectors, kind):
    """Batches of the same texts, under weights that do not move, have losses that differ."""
    one = make_split(1, seed=2, n_features=2)
    # Two candidates, so that draws of wrong answers do not differ.
    rows = [int(np.flatnonzero(one.labels == 1)[0]), int(np.flatnonzero(one.labels == 0)[0])]
    words = [np.int32([5, 7, 9]), np.int32([6, 8])]
    same = EncodedTexts(np.tile(np.concatenate(words), 8), np.concatenate([[0], np.cumsum([3, 2] * 8)]))
    split = replace(
        one,
        questions=EncodedTexts(np.full(8, 4, np.int32), np.arange(9)),
        candidates=same,
        candidate_offsets=2 * np.arange(9),
        labels=np.tile(one.labels[rows], 8),
        question_ids=[f"q{i}" for i in range(8)],
        candidate_ids=[f"c{i}" for i in range(16)],
        features=np.tile(np.float32([0.5, -1.0]), (16, 1)),
    )
    options = {"batch_size": 1, "l2": 0.0, "learning_rate": 1e-30}
    options |= {
        "pairwise": {"foreign_negatives": 0, "margin": 9.0},
        "hardest": {"negatives_from": "own"},
    }.get(kind, {})
    ranker, way = build(kind, make_vectors(), split, 0.5, 1, options)
    losses = []

    class EachLoss(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            self.model.reset_metrics()

        def on_train_batch_end(self, batch, logs=None):
            losses.append(logs["loss"])

    trainer = way.trainer(ranker)
    trainer.compile(keras.optimizers.SGD(1e-30), jit_compile=False)
    trainer.fit(BatchStream(way, trainer).dataset(), shuffle=False, callbacks=[EachLoss()], verbose=0)
    assert len(losses) == len(way) >= 8
    # Pointwise there are correct pairs and wrong ones, which differ anyway.
    assert len({round(loss, 6) for loss in losses}) > 2


def assert_same(ours, theirs):
    assert (ours.history, ours.best_epoch) == (theirs.history, theirs.best_epoch)
    np.testing.assert_equal(ours.weights, theirs.weights)


def assert_best_on_dev(trained):
    """An epoch before the last one is the best on dev, and the ranker has its weights."""
    figures = [epoch["dev_map"] for epoch in trained.history]
    assert len(set(figures)) > 1
    assert trained.best_epoch == int(np.argmax(figures)) < len(figures) - 1
    best = {name: trained.history[trained.best_epoch][f"dev_{name}"] for name in ("map", "mrr", "p@1")}
    found = measure(trained.dev, score(trained.ranker, trained.dev))
    assert best == pytest.approx({name: found[name] for name in best}, abs=1e-9)
    # On the training data, the figure is another.
    on_train = measure(trained.split, score(trained.ranker, trained.split))
    assert abs(on_train["map"] - best["map"]) > 1e-3


class Rates(keras.callbacks.Callback):
    """Keeps the learning rate of every epoch."""

    def __init__(self):
        super().__init__()
        self.rates = []

    def on_epoch_end(self, epoch, logs=None):
        self.rates.append(float(self.model.optimizer.learning_rate))


@pytest.mark.parametrize(
    ("kind", "options", "moments"),
    # The seeds are such that the best epoch is not the last one.
    [
        (
            "pairwise",
            {"optimizer": "adam", "learning_rate": 0.02, "own_negatives": 3, "l2": 0.01, "seed": 6},
            [("begin", 2)],
        ),
        # With dropout, whose random numbers are part of the state.
        (
            "pointwise",
            {"patience": 1, "epochs": 25, "seed": 8},
            [("before saving", 0), ("after saving", 1)],
        ),
        # With the learning rate of its step.
        ("listwise", {"epochs": 3, "seed": 6}, [("after saving", 0)]),
        ("hardest", {"epochs": 4, "share_negatives": True, "seed": 2}, [("before saving", 2)]),
    ],
)
def test_a_training_has_its_best_epoch_and_goes_on_where_it_was_interrupted(
    train, tmp_path, kind, options, moments
):
    unbroken = train(kind, None, seen := Rates(), **options)
    assert_best_on_dev(unbroken)
    if kind == "hardest":
        assert seen.rates == pytest.approx([0.5, 0.5 / 2, 0.5 / 3, 0.5 / 4])
    path = tmp_path / "state.npz"
    # What a writer leaves that is killed while it writes.
    (tmp_path / ".state.npz.x1.part").write_bytes(b"half a state")
    for moment, epoch in moments:
        with pytest.raises(KeyboardInterrupt):
            train(kind, path, Interrupt(moment, epoch), **options)
    assert_same(train(kind, path, **options), unbroken)
    if "patience" in options:
        # A finished one has nothing left to do.
        n_epochs = len(unbroken.history)
        assert_same(train(kind, path, Interrupt("begin", n_epochs), **options), unbroken)
        assert n_epochs == unbroken.best_epoch + 1 + options["patience"] < options["epochs"]


def test_a_step_that_diverges_is_named_and_the_epochs_before_are_kept(train, tmp_path):
    options = {"optimizer": "sgd", "learning_rate": 0.05, "epochs": 4}
    path, saved = tmp_path / "state.npz", []
    keep = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: saved.append(path.read_bytes()))
    rates = keras.callbacks.LearningRateScheduler(lambda epoch: 0.05 if epoch < 2 else 1e38)
    with pytest.raises(TrainingDivergedError) as raised:
        train("pairwise", path, rates, keep, **options)
    # 30 questions in batches of 7 are 5 steps an epoch: the first of epoch 2 ruins the weights.
    assert re.search(r"at step 11: .* is (nan|inf)", str(raised.value))
    assert isinstance(raised.value, UserError)
    with np.load(path) as stored:
        assert len(json.loads(bytes(stored["facts"]))["history"]) == 2
        assert all(np.isfinite(stored[name]).all() for name in stored)
    # The epoch that failed has written nothing.
    assert len(saved) == 2 and path.read_bytes() == saved[-1]


def test_weights_ruined_by_the_last_update_of_an_epoch_are_noticed(train, tmp_path):
    path = tmp_path / "state.npz"
    options = {"learning_rate": 3e38, "margin": 100, "batch_size": 30, "clip_norm": None, "epochs": 2}
    with pytest.raises(TrainingDivergedError, match="step 0: the update gave weights"):
        train("pairwise", path, optimizer="sgd", **options)
    assert not path.exists()


def test_scores_of_dev_that_are_not_finite_are_noticed(make_split):
    train, dev = make_split(9, n_features=2), make_split(5, seed=2, n_features=2)
    dev.features[0] = np.nan
    way = Pointwise(train, PointwiseOptions(epochs=2), seed=3)
    with pytest.raises(TrainingDivergedError, match=r"scores of dev are not finite\. A lower learning rate"):
        fit(features_alone(2, hidden=(), seed=1), way, dev, verbose=False)


def test_the_question_that_ruins_a_step_is_the_one_named(make_split, make_vectors):
    split, vectors = make_split(9), make_vectors()
    # A word that occurs in one question alone gets a vector that no sum survives.
    ruined = 6
    assert not (split.candidates.words == 41).any()
    split.questions.words[split.questions.offsets[ruined]] = 41
    vectors = np.concatenate([vectors, np.ones((2, vectors.shape[1]), "float32")])
    ranker = hyperqa(vectors, 5, seed=1)
    table = ranker.get_layer("encoder").get_layer("word_vectors").embeddings
    # After the check of the weights.
    spoil = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: table.assign(
            np.where(np.arange(len(vectors))[:, None] == 41, np.inf, vectors)
        )
    )
    way = Pairwise(split, PairwiseOptions(epochs=2, batch_size=1, foreign_negatives=0), seed=3)
    place = list(way.sampler.draw(0).questions).index(ruined)
    cause = rf"step {place}: the (loss|gradient's norm) is (nan|inf)"
    with pytest.raises(TrainingDivergedError, match=cause):
        fit(ranker, way, dev=make_split(3), callbacks=[spoil], verbose=False)
    assert all(np.isfinite(v.numpy()).all() for v in ranker.trainable_variables)


@pytest.fixture
def shown(make_split, make_vectors):
    def run(*callbacks, epochs=3, verbose=False, state=None, **options):
        ranker = hyperqa(make_vectors(), 4, max_norm=0.9)
        way = Pairwise(make_split(20), PairwiseOptions(epochs=epochs, batch_size=6, **options))
        dev, label = make_split(6, seed=1), "HyperQA, seed 0"
        return fit(ranker, way, dev, state=state, label=label, callbacks=callbacks, verbose=verbose)

    return run


def test_a_user_s_callback_sees_every_epoch_and_may_end_the_training(shown):
    seen = []

    class UntilSecond(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((epoch, set(logs)))
            self.model.stop_training = epoch == 1

    result = shown(UntilSecond(), epochs=5)
    assert seen == [(number, set(epoch)) for number, epoch in enumerate(result.history)] and len(seen) == 2
    history = pd.DataFrame(result.history)
    assert {"loss", "edge_share", "gradient_norm", "dev_map", "seconds"} <= set(history)
    assert np.isfinite(history).all(axis=None) and history["edge_share"].between(0, 1).all()


def test_a_large_model_can_be_interrupted_after_every_step(shown, monkeypatch):
    """Its steps are calls of their own, a small one's are one call; the training is the same."""
    ends = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: ends.append(batch))
    keras.utils.set_random_seed(0)
    small = shown(count).history
    assert ends == [3] * 3
    ends.clear()
    monkeypatch.setattr(fitting, "_LARGE", 0)
    keras.utils.set_random_seed(0)
    large = shown(count).history
    assert ends == [0, 1, 2, 3] * 3
    assert [epoch["loss"] for epoch in small] == pytest.approx([epoch["loss"] for epoch in large], rel=1e-6)


@pytest.mark.parametrize(("value", "message"), [(np.nan, "not finite before"), (0.0, "all zero")])
def test_word_vectors_without_a_meaning_are_refused_before_the_first_step(
    make_split, make_vectors, value, message
):
    vectors = make_vectors()
    vectors[1 if np.isnan(value) else slice(None)] = value
    way = Pairwise(make_split(), PairwiseOptions(epochs=1))
    with pytest.raises(UserError, match=rf"{message}.*vectors|vectors.*{message}"):
        fit(hyperqa(vectors, 4), way, dev=make_split(6, seed=1))


def test_no_epoch_leaves_the_ranker_as_it_is(make_split, make_vectors):
    ranker = hyperqa(make_vectors(), 4)
    before = ranker.get_weights()
    result = fit(ranker, Pairwise(make_split(), PairwiseOptions(epochs=0)), dev=make_split(6, seed=1))
    assert (result.history, result.best_epoch) == ([], -1)
    np.testing.assert_equal(ranker.get_weights(), before)


@pytest.mark.parametrize(
    ("kind", "options", "ranker", "message"),
    [
        ("pairwise", {}, cosinet, "Cosinet reads question and answer together"),
        ("hardest", {}, cosinet, "Cosinet reads question and answer together"),
        ("listwise", {}, cosinet, "Cosinet reads one answer at a time"),
        ("pointwise", {}, partial(cosinet, objective="listwise"), "Cosinet reads a list of answers"),
        ("pairwise", {"eq9": "points"}, partial(qa_cnn, filters=4), "QA-CNN has no points in a ball"),
    ],
)
def test_a_way_of_training_that_does_not_fit_is_refused(
    make_split, make_vectors, kind, options, ranker, message
):
    split, vectors = make_split(n_features=2), make_vectors()
    _, way = build(kind, vectors, split, 0.0, 0, {"epochs": 1, **options})
    with pytest.raises(UserError, match=message):
        fit(ranker(vectors), way, dev=split)


def test_what_cannot_be_trained_is_refused_before_the_first_step(make_split, make_vectors, set_policy):
    split, vectors = make_split(), make_vectors()
    ranker, way = build("pairwise", vectors, split, 0.0, 0, {"epochs": 1})
    with pytest.raises(UserError, match="no dev question has a correct answer"):
        fit(ranker, way, dev=split.keep_questions(np.zeros(split.n_questions, bool)))
    set_policy("mixed_float16")
    ranker, way = build("pairwise", vectors, split, 0.0, 0, {"epochs": 1})
    with pytest.raises(UserError, match="float16 fall to zero"):
        fit(ranker, way, dev=split)


@pytest.mark.parametrize("trained", [{"word_vectors", "projection"}, set()])
def test_what_a_user_freezes_stays_and_what_is_unfrozen_is_trained(make_split, make_vectors, trained):
    split = make_split(12, seed=2)
    ranker, way = build("pairwise", make_vectors(), split, 0.0, 0, {"epochs": 1})
    parts = {name: ranker.get_layer("encoder").get_layer(name) for name in ("word_vectors", "projection")}
    for name, layer in parts.items():
        layer.trainable = name in trained
    before = {name: layer.get_weights()[0].copy() for name, layer in parts.items()}
    fit(ranker, way, dev=split, verbose=False)
    changed = {name for name, layer in parts.items() if np.ptp(layer.get_weights()[0] - before[name]) > 0}
    assert changed == trained


def pairs_of_words(vectors, last, **options):
    """A ranker of pairs that ends in a layer of the user's."""
    sides = [keras.Input((None,), dtype="int32", name=name) for name in ("question", "answer")]
    words = keras.layers.Embedding(*vectors.shape, weights=[vectors], trainable=False)
    means = [keras.ops.mean(words(side), axis=1) for side in sides]
    x = keras.layers.Dense(4, **options)(keras.layers.Concatenate()(means))
    return keras.Model(sides, last(x), name="Mine")


@pytest.mark.parametrize(
    ("last", "options", "message"),
    [
        (keras.layers.Dense(1), {}, r"scores \(None, 1\)"),
        (lambda x: keras.ops.sum(keras.ops.cast(x, "bfloat16"), axis=-1), {}, "bfloat16"),
        (lambda x: [x[:, 0], x[:, 1]], {}, "give one output"),
        (lambda x: keras.ops.sum(x, axis=-1), {"kernel_regularizer": "l2"}, "penalties of its own"),
    ],
)
def test_scores_and_losses_that_no_step_reads_are_refused(make_split, make_vectors, last, options, message):
    split = make_split()
    method = Pointwise(split, PointwiseOptions(epochs=1))
    with pytest.raises(UserError, match=message):
        fit(pairs_of_words(make_vectors(), last, **options), method, dev=split, verbose=False)


def test_moving_averages_are_those_of_the_best_epoch_and_of_a_state(make_split, make_vectors, tmp_path):
    split, dev = make_split(30, seed=2), make_split(25, seed=3)

    def trained(epochs, state):
        normalised = keras.layers.BatchNormalization(momentum=0.5)
        keras.utils.set_random_seed(3)
        ranker = pairs_of_words(make_vectors(), lambda x: keras.ops.sum(normalised(x) ** 2, axis=-1))
        method = Pointwise(split, PointwiseOptions(epochs=epochs, learning_rate=0.3), seed=1)
        return ranker, fit(ranker, method, dev=dev, state=state, verbose=False)

    ranker, whole = trained(6, tmp_path / "whole.npz")
    assert whole.best_epoch < 5
    best = whole.history[whole.best_epoch]["dev_map"]
    assert measure(dev, score(ranker, dev))["map"] == pytest.approx(best, abs=1e-9)
    trained(3, tmp_path / "parts.npz")
    again, in_parts = trained(6, tmp_path / "parts.npz")
    assert [epoch["dev_map"] for epoch in in_parts.history] == [epoch["dev_map"] for epoch in whole.history]
    np.testing.assert_equal(again.get_weights(), ranker.get_weights())
