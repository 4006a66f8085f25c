"""Convolution and maximum against NumPy loops over the real words."""

import keras
import numpy as np
import pytest
from gradients import gradients
from layer_checks import assert_close, check_padding, run_layer_test, to_numpy

from answer_ranking.layers import PooledConvolution

RNG = np.random.default_rng(13)
TEXTS = np.float32(RNG.normal(size=(4, 6, 3)))
CHANNELS = np.float32(RNG.normal(size=(4, 6, 1)))
MASK = np.array([[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6, [1, 0, 1, 1, 0, 0]], dtype=bool)
# The channels of other pairs, which share the words.
PAIR_CHANNELS = np.float32(RNG.normal(size=(7, 6, 1)))
ROWS = np.array([0, 0, 3, 1, 2, 3, 3], dtype="int32")
ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def made(layer, *inputs):
    """Gives the layer its weights: those of a fixed seed, the bias included."""
    layer.build([x.shape for x in inputs] if len(inputs) > 1 else inputs[0].shape)
    rng = np.random.default_rng(3)
    layer.set_weights([rng.normal(size=weight.shape).astype("float32") for weight in layer.weights])
    return layer


def expected(layer, text, mask):
    """Loops over the steps and the words that the kernel sees there."""
    kernel, bias = (np.float64(to_numpy(weight)) for weight in layer.weights)
    width = len(kernel)
    text = np.where(mask[:, None], np.float64(text), 0)
    steps = []
    for t in np.flatnonzero(mask):
        total = bias.copy()
        for k in range(width):
            word = t + k - (width - 1) // 2
            if 0 <= word < len(text):
                total += text[word] @ kernel[k]
        steps.append(ACTIVATIONS[layer.activation](total))
    return np.max(steps, axis=0) if steps else np.zeros(layer.filters)


@pytest.mark.parametrize(
    ("arguments", "inputs", "shape"),
    [
        ({"filters": 5, "width": 3, "activation": "tanh"}, TEXTS, (4, 5)),
        ({"filters": 5, "width": 2}, [TEXTS, PAIR_CHANNELS[:4], ROWS[:4]], (4, 5)),
    ],
)
def test_pooled_convolution_layer(arguments, inputs, shape, tmp_path):
    masks = MASK if inputs is TEXTS else [MASK, MASK[ROWS[:4]], np.ones(4, dtype=bool)]
    run_layer_test(
        PooledConvolution,
        arguments,
        inputs,
        tmp_path,
        masks=masks,
        output_shape=shape,
        n_weights=2,
        half_precision_tolerance=0.05,
        trainable_input=inputs is TEXTS,
    )


@pytest.mark.parametrize(
    ("width", "activation"), [(1, "tanh"), (2, "relu"), (3, "sigmoid"), (4, "linear"), (9, "relu")]
)
def test_convolution_equals_numpy(width, activation):
    layer = made(PooledConvolution(4, width, activation=activation), TEXTS)
    output = to_numpy(layer(TEXTS, mask=MASK))
    values = [expected(layer, *row) for row in zip(TEXTS, MASK, strict=True)]
    np.testing.assert_allclose(output, values, rtol=1e-4, atol=1e-5)
    assert not output[2].any()  # of padding alone
    nested = to_numpy(layer(TEXTS.reshape(2, 2, 6, 3), mask=MASK.reshape(2, 2, 6)))
    np.testing.assert_allclose(nested.reshape(4, 4), output, rtol=1e-5, atol=1e-6)


def test_weights_and_values_are_those_of_keras_convolution():
    layer = made(PooledConvolution(4, 5), TEXTS)
    plain = keras.layers.Conv1D(4, 5, padding="same", activation="relu")
    plain.build(TEXTS.shape)
    plain.set_weights(layer.get_weights())
    np.testing.assert_allclose(
        to_numpy(layer(TEXTS)), to_numpy(plain(TEXTS)).max(axis=1), rtol=1e-5, atol=1e-6
    )


def test_one_convolution_of_the_words_for_all_pairs_is_exact():
    layer = made(PooledConvolution(4, 5), TEXTS, PAIR_CHANNELS, ROWS)

    def plain(texts, channels):
        repeated = keras.ops.take(texts, ROWS, axis=0)
        return layer(keras.ops.concatenate([repeated, channels], axis=-1), mask=MASK[ROWS])

    def shared(texts, channels):
        return layer([texts, channels, ROWS], mask=[MASK, None, None])

    values = to_numpy(shared(TEXTS, PAIR_CHANNELS))
    np.testing.assert_allclose(values, to_numpy(plain(TEXTS, PAIR_CHANNELS)), rtol=1e-5, atol=1e-5)
    for value, channel, row in zip(values, PAIR_CHANNELS, ROWS, strict=True):
        both = np.concatenate([TEXTS[row], channel], axis=-1)
        np.testing.assert_allclose(value, expected(layer, both, MASK[row]), rtol=1e-4, atol=1e-5)
    arrays = TEXTS, PAIR_CHANNELS
    assert_close(gradients(shared, arrays), gradients(plain, arrays), rtol=1e-4, atol=1e-5)


def test_channels_of_equal_shape_are_further_features():
    layer = made(PooledConvolution(4, 3), TEXTS, CHANNELS)
    values = to_numpy(layer([TEXTS, CHANNELS], mask=MASK))
    both = np.concatenate([TEXTS, CHANNELS], axis=-1)
    np.testing.assert_allclose(
        values, [expected(layer, *row) for row in zip(both, MASK, strict=True)], rtol=1e-4, atol=1e-5
    )


def test_padding_changes_nothing():
    fills = (0.0, 1e30, float("inf"), float("nan"))
    check_padding(made(PooledConvolution(4, 4), TEXTS), TEXTS, MASK, fills=fills, tolerance=1e-5)
    layer = made(PooledConvolution(4, 5), TEXTS, CHANNELS)
    check_padding(layer, [TEXTS, CHANNELS], MASK, fills=fills, tolerance=1e-5)


@pytest.mark.parametrize("arguments", [(0, 3), (4, 0), (4, 3, "sine")])
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="Received: "):
        PooledConvolution(*arguments)


@pytest.mark.parametrize(
    "shapes",
    [
        [(4, 6)],
        [(4, 6, 3), (4, 5, 1)],
        [(4, 6, 3), (7, 6, 1), (6,)],
        [(4, 6, 3), (4, 6, 1), (4,), (4,)],
    ],
)
def test_wrong_shapes_are_refused(shapes):
    arrays = [np.zeros(shape) for shape in shapes]
    with pytest.raises(ValueError, match="Received: input_shape="):
        PooledConvolution(4, 3)(arrays if len(arrays) > 1 else arrays[0])
