"""The layer that skips the padding against the layers that compute step by step, with gradients."""

import keras
import numpy as np
import pytest
from gradients import compiled, with_gradients
from layer_checks import assert_close, check_padding, run_layer_test, to_numpy

from answer_ranking.layers import (
    CrossTemporalEncoder,
    CrossTemporalGate,
    MaskedMean,
    QuasiRecurrentGates,
    RecurrentPooling,
)

RNG = np.random.default_rng(5)
SEEDS = keras.random.SeedGenerator(1)
# More words than a block has, texts of one word and of none, and an empty partner.
LENGTHS = ([7, 3, 1, 0, 5, 2, 20], [2, 19, 1, 4, 0, 6, 17])
# JAX compiles every operation of every test anew, and keeps the padding either way: fewer cases there.
JAX = keras.backend.backend() == "jax"
WAYS = [False] if JAX else [False, True]
KEPT = [("ifo", None, 2, False)] if JAX else [("fo", "scaled", 3, False), ("ifo", None, 2, False)]
SKIPPED = [("fo", "scaled", 3, True), ("ifo", None, 2, True), ("fo", "index", 2, True), ("f", None, 1, True)]

either_way = pytest.mark.parametrize("skip_padding", WAYS)


def masks_of(lengths):
    return [np.arange(max(side)) < np.array(side)[:, None] for side in lengths]


def texts(masks, features=3):
    return [np.float32(RNG.normal(size=(*mask.shape, features))) for mask in masks]


def of_unknown_shapes(function):
    """On TensorFlow padding is left out only where a shape is unknown."""
    if keras.backend.backend() != "tensorflow":
        return compiled(function)
    import tensorflow as tf

    unknown = tf.TensorSpec((None, None, 3), "float32")
    return tf.function(function, input_signature=[unknown, unknown])


def step_by_step(layer, inputs, masks):
    """The same from layers that are tested against loops; shares the kernels."""
    gates = [layer.gates(text, mask=mask) for text, mask in zip(inputs, masks, strict=True)]
    if layer.crossing:
        hidden = CrossTemporalGate(alignment=layer.crossing)(gates, mask=masks)
    else:
        hidden = [RecurrentPooling()(gate, mask=mask) for gate, mask in zip(gates, masks, strict=True)]
    return [MaskedMean()(x, mask=mask) for x, mask in zip(hidden, masks, strict=True)]


@pytest.mark.parametrize(
    ("pooling", "crossing", "kernel_size", "skip_padding"), KEPT if JAX else [*KEPT, *SKIPPED]
)
def test_equals_the_layers_step_by_step(pooling, crossing, kernel_size, skip_padding):
    layer = CrossTemporalEncoder(4, kernel_size, pooling, crossing, skip_padding=skip_padding)
    masks = masks_of(LENGTHS)
    inputs = texts(masks)
    layer(inputs, mask=masks)
    weights = [np.float32(RNG.normal(size=(len(side), 4))) for side in LENGTHS]

    def weighted(function):
        return lambda *x: [keras.ops.multiply(w, y) for w, y in zip(weights, function(list(x)), strict=True)]

    fast = of_unknown_shapes(weighted(lambda x: layer(x, mask=masks)))
    reference = weighted(lambda x: step_by_step(layer, x, masks))
    (means, found), (expected_means, expected_found) = (
        with_gradients(each)(*inputs) for each in (fast, reference)
    )
    assert_close(means, expected_means)
    assert_close(found, expected_found, rtol=1e-4)


@pytest.mark.slow
@either_way
def test_many_words_pass_through_many_blocks(skip_padding):
    """Two levels of blocks: more blocks than a block has words."""
    masks = masks_of(([150, 40], [200, 3]))
    inputs = texts(masks)
    layer = CrossTemporalEncoder(4, skip_padding=skip_padding)
    layer.build([text.shape for text in inputs])
    actual = of_unknown_shapes(lambda *x: layer(list(x), mask=masks))(*inputs)
    reference = compiled(lambda *x: step_by_step(layer, list(x), masks))(*inputs)
    assert_close(actual, reference, rtol=1e-4)


@pytest.mark.slow
def test_without_masks_every_step_counts():
    inputs = texts(masks_of(([4, 4], [6, 6])))
    layer = CrossTemporalEncoder(4)
    layer.build([text.shape for text in inputs])
    everywhere = [np.ones(text.shape[:2], bool) for text in inputs]
    means = compiled(lambda *x: layer(list(x)))(*inputs)
    assert_close(means, compiled(lambda *x: layer(list(x), mask=everywhere))(*inputs), rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@either_way
@pytest.mark.parametrize("crossing", ["index", None])
@pytest.mark.parametrize(("n_texts", "lengths"), [(2, (0, 3)), (2, (3, 0)), (0, (2, 3))])
def test_texts_without_steps_and_batches_without_texts(crossing, n_texts, lengths, skip_padding):
    masks = [np.ones((n_texts, length), bool) for length in lengths]
    inputs = texts(masks)
    layer = CrossTemporalEncoder(4, crossing=crossing, skip_padding=skip_padding)
    layer.build([text.shape for text in inputs])
    means = of_unknown_shapes(lambda *x: layer(list(x), mask=masks))(*inputs)
    for mean, length in zip(means, lengths, strict=True):
        assert tuple(mean.shape) == (n_texts, 4)
        # With crossing a text opposite an empty one gives zero, too.
        assert bool(to_numpy(mean).any()) == (length > 0 and n_texts > 0 and crossing is None)


@pytest.mark.slow
@either_way
def test_padding_changes_nothing(skip_padding):
    masks = masks_of(([3, 1, 6], [4, 2, 1]))
    layer = CrossTemporalEncoder(4, skip_padding=skip_padding)
    check_padding(layer, texts(masks), masks, tolerance=1e-5)


def test_layer(tmp_path):
    masks = masks_of(([6, 3, 1, 0], [2, 4, 2, 3]))
    # Without padding skipped, which XLA and mixed precision are tried on, too.
    arguments = {"filters": 4, "skip_padding": False, "kernel_initializer": "he_normal"}
    shapes = [(4, 4), (4, 4)]
    run_layer_test(
        CrossTemporalEncoder, arguments, texts(masks), tmp_path, masks=masks, output_shape=shapes, n_weights=3
    )


@pytest.mark.slow
def test_a_pair_has_as_many_questions_as_answers():
    layer, (question, answer) = CrossTemporalEncoder(4), (np.ones((n, 5, 3), "float32") for n in (1, 3))
    with pytest.raises(ValueError, match="the same batch and features"):
        layer([question, answer])
    first, second = layer([answer, 2 * answer])
    assert first.shape == second.shape == (3, 4)


def test_only_a_layer_that_keeps_its_padding_is_compiled():
    assert CrossTemporalEncoder(4, skip_padding=False).supports_jit
    assert CrossTemporalEncoder(4).supports_jit == (keras.backend.backend() == "jax")


def test_wrong_options_and_shapes_are_refused():
    for arguments in (
        {"crossing": "other"},
        {"crossing": "index", "pooling": "f"},
        {"crossing": None, "pooling": "io"},
        {"filters": 0},
        {"kernel_size": 0},
    ):
        with pytest.raises(ValueError, match="Received: "):
            CrossTemporalEncoder(**{"filters": 3, **arguments})
    x = np.zeros((2, 3, 4), "float32")
    for inputs in ([x], [x, x[..., :2]], [x, x[0]], x):
        with pytest.raises(ValueError, match="Received: input_shape="):
            CrossTemporalEncoder(3)(inputs)


def test_kernels_of_a_seeded_initializer_differ():
    """One seed for all gates must not make candidate and gates alike."""
    layers = [QuasiRecurrentGates(4, kernel_initializer=keras.initializers.GlorotUniform(3)) for _ in "ab"]
    for layer in layers:
        layer.build((None, None, 5))
    first, second = ([to_numpy(kernel) for kernel in layer.kernels] for layer in layers)
    assert not np.allclose(first[0], first[1])
    assert not np.allclose(first[1], first[2])
    np.testing.assert_equal(first, second)
    drawing = QuasiRecurrentGates(4, kernel_initializer=keras.initializers.GlorotUniform(SEEDS))
    drawing.build((None, None, 5))
    assert not np.allclose(*map(to_numpy, drawing.kernels[:2]))
