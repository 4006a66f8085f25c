"""Trainings that are interrupted and go on are, bit for bit, the trainings that are not."""

import json
import re

import keras
import numpy as np
import pytest

from data_prep import UserError
from models.ctrn import features_alone, qrnn
from models.hyperqa import hyperqa
from training.callbacks import TrainingDivergedError
from training.fit_pairwise import fit_pairwise
from training.fit_pointwise import fit_pointwise
from training.negative_sampling import NegativeSampler
from training.packed_bag_of_words import PackedBagOfWords
from training.pairwise_settings import PairwiseSettings
from training.pointwise_settings import PointwiseSettings
from training.training_state import TrainingState

PAIRWISE = {"batch_size": 7, "learning_rate": 0.2, "margin": 0.5, "eq9": "none", "clip_norm": 1.0}
POINTWISE = {"batch_size": 11, "learning_rate": 0.02, "clip_norm": 1.0}


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


def measure(split, scores):
    """Share of correct candidates that score above the mean of the others; a figure that moves a lot."""
    return {"map": float((scores[split.labels == 1] > scores[split.labels == 0].mean()).mean())}


def fit_hyperqa(vectors, train, dev, options, dropout, seed, **others):
    ranker = hyperqa(vectors, 5, max_norm=0.9, embedding_dropout=dropout, dropout=dropout, seed=seed)
    encoding = PackedBagOfWords(ranker.get_layer("encoder"))
    settings = PairwiseSettings(**PAIRWISE | options)
    return ranker, fit_pairwise(ranker, encoding, train, dev, settings, measure, seed=seed, **others)


def fit_qrnn(vectors, train, dev, options, dropout, seed, **others):
    ranker = qrnn(
        vectors, 4, hidden=(3,), n_features=2, dropout=dropout, embedding_dropout=dropout, seed=seed
    )
    settings = PointwiseSettings(**POINTWISE | options)
    return ranker, fit_pointwise(ranker, train, dev, settings, measure, seed=seed, **others)


def fit_features(vectors, train, dev, options, dropout, seed, **others):
    ranker = features_alone(2, hidden=(6,), dropout=dropout, seed=seed)
    settings = PointwiseSettings(**POINTWISE | options)
    return ranker, fit_pointwise(ranker, train, dev, settings, measure, seed=seed, **others)


KINDS = {"pairwise": fit_hyperqa, "pointwise": fit_features, "pointwise, words": fit_qrnn}
each_kind = pytest.mark.parametrize("kind", ["pairwise", "pointwise"])


@pytest.fixture
def train(make_split, make_vectors):
    def run(kind, state_path=None, *callbacks, key="k", dropout=0.2, seed=4, **options):
        ranker, result = KINDS[kind](
            make_vectors(),
            make_split(30, seed=2, n_features=2),
            make_split(12, seed=3, n_features=2),
            {"epochs": 5, **options},
            dropout,
            seed,
            state_path=state_path,
            state_key=key,
            callbacks=callbacks,
            verbose=False,
        )
        history = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in result.history]
        return history, result.best_epoch, [v.numpy() for v in ranker.trainable_variables]

    return run


def assert_same(ours, theirs):
    assert ours[:2] == theirs[:2]
    for a, b in zip(ours[2], theirs[2], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("kind", "options", "moments"),
    [
        (
            "pairwise",
            {"optimizer": "adam", "learning_rate": 0.02},
            [("before saving", 0), ("after saving", 2)],
        ),
        # Draws that depend on the weights, as those of sampling="hard" do.
        ("pairwise", {"sampling": "mix", "own_negatives": 3, "l2": 0.01, "epochs": 3}, [("begin", 2)]),
        ("pairwise", {"patience": 1, "epochs": 12, "learning_rate": 1.0}, [("after saving", 1)]),
        # With dropout, whose random numbers are part of the state.
        ("pointwise", {}, [("before saving", 0), ("after saving", 2)]),
        ("pointwise", {"patience": 1, "epochs": 25, "learning_rate": 0.2}, [("after saving", 1)]),
        ("pointwise, words", {"optimizer": "adagrad", "epochs": 3}, [("before saving", 2)]),
    ],
)
def test_a_training_goes_on_where_it_was_interrupted(train, tmp_path, kind, options, moments):
    unbroken = train(kind, **options)
    path = tmp_path / "state.npz"
    # What a writer leaves that is killed while it writes.
    (tmp_path / ".state.npz.x1.part").write_bytes(b"half a state")
    for moment, epoch in moments:
        with pytest.raises(KeyboardInterrupt):
            train(kind, path, Interrupt(moment, epoch), **options)
    assert_same(train(kind, path, **options), unbroken)
    if "patience" in options:
        # A finished one has nothing left to do.
        assert_same(train(kind, path, Interrupt("begin", len(unbroken[0])), **options), unbroken)
        assert len(unbroken[0]) == unbroken[1] + 1 + options["patience"] < options["epochs"]


def test_the_states_of_dropout_are_what_makes_it_so(train, tmp_path):
    """The test above would notice a saved state that begins the random numbers of dropout anew."""
    unbroken = train("pointwise")
    path = tmp_path / "state.npz"
    with pytest.raises(KeyboardInterrupt):
        train("pointwise", path, Interrupt("after saving", 2))
    state = TrainingState.load(path, "k")
    # Keras keeps a seed and a counter of the draws; the optimizer's only integer is a scalar.
    (place,) = [i for i, x in enumerate(state.optimizer) if x.dtype.kind in "iu" and x.shape == (2,)]
    assert state.optimizer[place][1] > 0
    state.optimizer[place][1] = 0
    state.save(path)
    assert train("pointwise", path)[0] != unbroken[0]


@each_kind
def test_the_same_seed_gives_the_same_numbers_and_another_others(train, kind):
    first = train(kind, epochs=2)
    assert_same(train(kind, epochs=2), first)
    assert train(kind, epochs=2, seed=5)[0] != first[0]


@each_kind
def test_the_best_epoch_s_weights_are_kept(train, tmp_path, kind):
    path = tmp_path / "state.npz"
    history, best, weights = train(kind, path)
    figures = [epoch["dev_map"] for epoch in history]
    assert best == int(np.argmax(figures))
    # A training that ends with the best epoch ends with its weights.
    for ours, theirs in zip(weights, train(kind, epochs=best + 1)[2], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    arrays = [[rng.normal(size=(5, 3)).astype("float32"), rng.normal(size=3)] for _ in range(3)]
    state = TrainingState(*arrays, history=[{"loss": 0.1, "dev_map": 1 / 3}], best_epoch=0, key="k")
    state.save(tmp_path / "state.npz")
    return state, tmp_path / "state.npz"


def test_a_state_is_read_as_it_was_written(saved):
    state, path = saved
    loaded = TrainingState.load(path, "k")
    assert (loaded.history, loaded.best_epoch, loaded.key) == (state.history, state.best_epoch, state.key)
    for name in ("weights", "optimizer", "best_weights"):
        for ours, theirs in zip(getattr(loaded, name), getattr(state, name), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype


def test_a_damaged_state_is_refused_by_name_or_has_no_harm(saved):
    _, path = saved
    content = path.read_bytes()
    pieces = [content[:end] for end in (0, 1, len(content) // 2, len(content) - 1)]
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 255
        pieces.append(bytes(changed))
    whole, refused = TrainingState.load(path, "k"), 0
    for piece in [*pieces, b"hello" * 100]:
        path.write_bytes(piece)
        try:
            read = TrainingState.load(path, "k")
        except UserError as error:
            assert re.search(r"state\.npz is damaged .* Remove it", str(error))
            refused += 1
        else:
            # The byte lay where a zip file keeps a date, or nothing.
            np.testing.assert_equal(vars(read), vars(whole))
    assert refused > len(pieces) / 2


def test_a_state_that_lacks_an_array_is_refused(saved):
    _, path = saved
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored if name != "optimizer_0"}
    np.savez(path, **arrays)
    with pytest.raises(UserError, match=r"state\.npz is damaged"):
        TrainingState.load(path, "k")


def test_the_state_of_another_configuration_is_refused(saved):
    with pytest.raises(UserError, match=r"state\.npz belongs to another configuration"):
        TrainingState.load(saved[1], "another")


@each_kind
def test_a_step_that_diverges_is_named_and_the_epochs_before_are_kept(train, tmp_path, kind):
    options = {"optimizer": "sgd", "learning_rate": 0.05, "epochs": 4}
    unbroken = train(kind, **options)
    path = tmp_path / "state.npz"
    rates = keras.callbacks.LearningRateScheduler(lambda epoch: 0.05 if epoch < 2 else 1e38)
    with pytest.raises(TrainingDivergedError) as raised:
        train(kind, path, rates, **options)
    step = int(re.search(r"at step (\d+): .* is (nan|inf)", str(raised.value))[1])
    if kind == "pairwise":
        # 30 questions in batches of 7 are 5 steps an epoch: the first of epoch 2 ruins the weights.
        assert step == 11
    assert isinstance(raised.value, UserError)
    with np.load(path) as stored:
        assert len(json.loads(bytes(stored["facts"]))["history"]) == 2
        assert all(np.isfinite(stored[name]).all() for name in stored)
    assert_same(train(kind, path, **options), unbroken)


def test_weights_ruined_by_the_last_update_of_an_epoch_are_noticed(train, tmp_path):
    path = tmp_path / "state.npz"
    options = {"learning_rate": 3e38, "margin": 100, "batch_size": 30, "clip_norm": None, "epochs": 2}
    with pytest.raises(TrainingDivergedError, match="step 0: the update gave weights"):
        train("pairwise", path, optimizer="sgd", **options)
    assert not path.exists()


def test_the_question_that_ruins_a_step_is_the_one_named(make_split, make_vectors):
    split, vectors = make_split(9), make_vectors()
    # A word that occurs in one question alone has a vector that no sum survives.
    ruined = 6
    assert not (split.candidates.words == 41).any()
    split.questions.words[split.questions.offsets[ruined]] = 41
    vectors = np.concatenate([vectors, np.full((2, vectors.shape[1]), np.inf, "float32")])
    ranker = hyperqa(vectors, 5, seed=1)
    settings = PairwiseSettings(epochs=2, batch_size=1, foreign_negatives=0)
    place = list(NegativeSampler(split, seed=3).draw(0).questions).index(ruined)
    cause = rf"step {place}: the (loss|gradient's norm) is (nan|inf)"
    with pytest.raises(TrainingDivergedError, match=cause):
        fit_pairwise(
            ranker,
            PackedBagOfWords(ranker.get_layer("encoder")),
            split,
            make_split(3),
            settings,
            measure,
            seed=3,
            verbose=False,
        )
    assert all(np.isfinite(v.numpy()).all() for v in ranker.trainable_variables)
