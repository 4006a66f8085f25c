import keras
import numpy as np
import pytest

from answer_ranking.layers.common import word_embedding
from answer_ranking.models.networks.ctrn import ctrn, qrnn

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(30, 6)).astype("float32")
QUESTION = np.array([[3, 4, 9, 0], [5, 0, 0, 0]], "int32")
ANSWER = np.array([[7, 8, 0], [2, 11, 4]], "int32")


def test_words_are_looked_up_and_padding_is_masked():
    layer = word_embedding(VECTORS)
    assert layer.name == "word_vectors"
    np.testing.assert_array_equal(layer(QUESTION), VECTORS[QUESTION])
    np.testing.assert_array_equal(layer.compute_mask(QUESTION), QUESTION > 0)
    assert not layer.trainable_variables
    assert [v.path for v in word_embedding(VECTORS, trainable=True).trainable_variables]


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), ()])
def test_what_is_no_matrix_is_refused(shape):
    with pytest.raises(ValueError, match=r"Received: shape="):
        word_embedding(np.zeros(shape, "float32"))


def test_a_layer_that_is_trained_is_not_shared():
    for layer, trainable in ((word_embedding(VECTORS), True), (word_embedding(VECTORS, True), False)):
        with pytest.raises(ValueError, match="cannot be shared"):
            word_embedding(layer, trainable)


@pytest.fixture
def rankers():
    """Two rankers over the same layer of word vectors."""
    layer = word_embedding(VECTORS)
    made = [build(layer, 4, hidden=(3,), dropout=0.1, seed=2) for build in (ctrn, qrnn)]
    assert all(ranker.get_layer("word_vectors") is layer for ranker in made)
    return made


def fit(ranker):
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    ranker.compile(keras.optimizers.Adam(0.1), loss, run_eagerly=True)
    # In one order: sums in another order differ in the last bit, and Adam makes a whole step of that.
    ranker.fit([QUESTION, ANSWER], np.array([1.0, 0.0]), epochs=2, shuffle=False, verbose=0)


def test_training_one_ranker_leaves_the_other_as_it_was(rankers):
    first, second = rankers
    before, scores = first.get_weights(), np.asarray(second([QUESTION, ANSWER]))
    others = second.get_weights()
    fit(first)
    moved = [v.path for v, b in zip(first.weights, before, strict=True) if (v.numpy() != b).any()]
    assert {v.path for v in first.trainable_variables} <= set(moved)
    assert not any("word_vectors" in path for path in moved)
    np.testing.assert_equal(second.get_weights(), others)
    np.testing.assert_array_equal(np.asarray(second([QUESTION, ANSWER])), scores)


def test_each_ranker_with_a_shared_layer_is_saved_whole(rankers, tmp_path):
    for number, ranker in enumerate(rankers):
        fit(ranker)
        path = tmp_path / f"{number}.keras"
        ranker.save(path)
        loaded = keras.models.load_model(path)
        np.testing.assert_array_equal(loaded.get_layer("word_vectors").get_weights()[0], VECTORS)
        np.testing.assert_array_equal(
            np.asarray(loaded([QUESTION, ANSWER])), np.asarray(ranker([QUESTION, ANSWER]))
        )
        # A loaded ranker has word vectors of its own, which may serve others in turn.
        assert loaded.get_layer("word_vectors") is not ranker.get_layer("word_vectors")
        ctrn(loaded.get_layer("word_vectors"), 4)
