"""Masks of another length and ragged texts: refused by name, never taken for something else."""

import keras
import numpy as np
import pytest
from layer_checks import to_numpy

from answer_ranking import layers

TEXT = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
POOLINGS = [layers.MaskedSum, layers.MaskedMean, layers.MaskedMax]
PAIRS = [layers.AttentivePooling, layers.SoftAlignment, layers.WordRelatedness]
OF_ONE = [*POOLINGS, lambda: layers.PooledConvolution(2, 2), lambda: layers.QuasiRecurrentGates(2)]
OF_TWO = [
    layers.HyperbolicDistance,
    layers.CosineSimilarity,
    layers.CircularCorrelation,
    layers.RecurrentPooling,
    lambda: layers.ValueSharedWeights(1),
]
WRONG = [(2, 1), (2, 5), (2, 3, 1)]


@pytest.mark.parametrize("shape", WRONG)
@pytest.mark.parametrize("make", OF_ONE)
def test_a_mask_of_another_shape_is_refused_with_both_shapes(make, shape):
    layer = make()
    with pytest.raises(ValueError, match=r"mask must have the shape") as error:
        layer(TEXT, mask=np.ones(shape, bool))
    assert type(layer).__name__ in str(error.value)
    assert str(TEXT.shape) in str(error.value) and str(shape) in str(error.value)


@pytest.mark.parametrize("shape", WRONG)
@pytest.mark.parametrize("make", PAIRS)
def test_so_is_one_of_a_pair(make, shape):
    for masks in ([np.ones(shape, bool), None], [None, np.ones(shape, bool)]):
        with pytest.raises(ValueError, match=r"mask must have the shape"):
            make()([TEXT, TEXT], mask=masks)


@pytest.mark.parametrize("make", PAIRS)
def test_one_mask_is_no_pair(make):
    with pytest.raises(ValueError, match=r"is a pair"):
        make()([TEXT, TEXT], mask=np.ones((2, 3), bool))


def test_so_is_that_of_gates():
    gates = [TEXT, 1 / (1 + np.exp(-TEXT))]
    for shape in WRONG:
        with pytest.raises(ValueError, match=r"mask must have the shape"):
            layers.RecurrentPooling()(gates, mask=[np.ones(shape, bool), None])


@pytest.mark.parametrize("length", [1, 2])
def test_gates_of_another_length_are_refused(length):
    shorter = TEXT[:, :length]
    with pytest.raises(ValueError, match=r"RecurrentPooling takes"):
        layers.RecurrentPooling()([TEXT, shorter])
    with pytest.raises(ValueError, match=r"CrossTemporalGate takes"):
        layers.CrossTemporalGate()([[TEXT, shorter, TEXT], [TEXT, TEXT, TEXT]])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_mask_for_all_texts_is_repeated(pooling):
    mask = np.array([[True, False, True]])
    repeated = to_numpy(pooling()(TEXT, mask=np.repeat(mask, 2, axis=0)))
    np.testing.assert_array_equal(to_numpy(pooling()(TEXT, mask=mask)), repeated)


def test_where_lengths_are_not_known_the_mean_of_ones_is_one_or_refused():
    text, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    model = keras.Model([text, mask], layers.MaskedMean()(text, mask=mask))
    ones = np.ones((2, 3, 4), "float32")
    np.testing.assert_array_equal(to_numpy(model([ones, np.ones((2, 3), bool)])), np.ones((2, 4)))
    try:
        found = model.predict([ones, np.ones((2, 1), bool)], verbose=0)
    except ValueError as error:
        assert "mask must have the shape" in str(error)
    else:
        np.testing.assert_array_equal(found, np.ones((2, 4)))


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="ragged tensors are TensorFlow's")
@pytest.mark.parametrize("make", [*OF_ONE, layers.UnitBall])
def test_ragged_texts_are_refused(make):
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_tensor(TEXT, lengths=[3, 1])
    with pytest.raises(ValueError, match="to_tensor"):
        make()(ragged)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="ragged tensors are TensorFlow's")
@pytest.mark.parametrize("make", [*PAIRS, *OF_TWO])
def test_so_are_those_of_a_pair(make):
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_tensor(TEXT, lengths=[3, 1])
    with pytest.raises(ValueError, match="to_tensor"):
        make()([ragged, ragged])


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="ragged tensors are TensorFlow's")
def test_so_are_ragged_lists_and_gates():
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_tensor(TEXT, lengths=[3, 1])
    with pytest.raises(ValueError, match="to_tensor"):
        layers.CrossTemporalGate()([[ragged] * 3, [ragged] * 3])
    with pytest.raises(ValueError, match="to_tensor"):
        layers.BucketByLength()(tf.RaggedTensor.from_tensor(np.ones((2, 3, 4), "int32"), lengths=[3, 1]))


def test_points_outside_the_ball_count_as_near_its_edge():
    inside, outside = np.array([[0.0, 0.5]]), np.array([[0.0, 1.5]])
    found = to_numpy(layers.HyperbolicDistance()([np.float32(inside), np.float32(outside)]))
    expected = 2 * np.arcsinh(np.sqrt(1.0**2 / ((1 - 0.25) * 1e-5)))
    np.testing.assert_allclose(found, [expected], rtol=1e-5)
