"""QRNN and CTRN layers against float64 NumPy loops written from the papers' equations, with gradients."""

import keras
import numpy as np
import pytest
from gradients import central_differences, compiled, gradients, with_gradients
from layer_checks import assert_close, check_padding, run_layer_test, to_numpy

from answer_ranking.layers import CrossTemporalGate, PoolingCell, QuasiRecurrentGates, RecurrentPooling
from answer_ranking.layers.recurrent_pooling import linear_recurrence, recurrent_pooling

RNG = np.random.default_rng(3)
POOLINGS = {"f": 2, "fo": 3, "ifo": 4}
MASK = np.array([[1] * 6, [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0] * 6], dtype=bool)
PARTNER_MASK = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]], dtype=bool)

each_pooling = pytest.mark.parametrize("pooling", POOLINGS)
each_method = pytest.mark.parametrize("method", ["unrolled", "blocked", "doubling"])
each_alignment = pytest.mark.parametrize("alignment", ["index", "scaled"])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gates(*shape, count=3):
    """A candidate between -1 and 1, and gates between 0 and 1."""
    numbers = RNG.normal(size=(count, *shape))
    return [np.float32(np.tanh(numbers[0])), *np.float32(sigmoid(numbers[1:]))]


def pool_by_loop(z, f, o=None, i=None, mask=None):
    """f-, fo- and ifo-pooling, step by step; a masked step leaves the state and gives zero."""
    z, f = np.float64(z), np.float64(f)
    h = np.zeros_like(z)
    for b in range(len(z)):
        c = np.zeros(z.shape[-1])
        for t in range(z.shape[1]):
            if mask is not None and not mask[b, t]:
                continue
            c = f[b, t] * c + (1 - f[b, t] if i is None else i[b, t]) * z[b, t]
            h[b, t] = c if o is None else o[b, t] * c
    return h


def cross_by_loop(text, partner, mask, partner_mask, alignment):
    """The crossing of CTRN for one side of the pair, with steps that count from 1."""
    z, f, o = text
    _, partner_f, partner_o = partner
    crossed_f, crossed_o = np.zeros(z.shape), np.zeros(z.shape)
    for b in range(len(z)):
        length, partner_length = mask[b].sum(), partner_mask[b].sum()
        if not length or not partner_length:
            continue
        for t in range(1, z.shape[1] + 1):
            ratio = np.ceil(max(length, partner_length) / min(length, partner_length))
            aligned = min(t if alignment == "index" else int(t * ratio), partner_length)
            crossed_f[b, t - 1] = partner_f[b, aligned - 1]
            crossed_o[b, t - 1] = partner_o[b, aligned - 1]
    return pool_by_loop(z, f, o, mask=mask) * pool_by_loop(z, crossed_f, crossed_o, mask=mask)


@each_method
@pytest.mark.parametrize("length", [1, 20])
def test_linear_recurrence_equals_the_loop(method, length):
    decay, update = np.float32(RNG.uniform(0, 1, (2, length, 3))), np.float32(RNG.normal(size=(2, length, 3)))
    weights = np.float32(RNG.normal(size=update.shape))

    def by_loop(decay, update):
        states = [np.zeros_like(update[:, 0])]
        for t in range(length):
            states.append(decay[:, t] * states[-1] + update[:, t])
        return weights * np.stack(states[1:], axis=1)

    def function(decay, update):
        return keras.ops.multiply(weights, linear_recurrence(decay, update, method))

    actual, found = with_gradients(function)(decay, update)
    np.testing.assert_allclose(to_numpy(actual), by_loop(decay, update), rtol=1e-5, atol=1e-6)
    assert_close(found, central_differences(by_loop, (decay, update)), rtol=1e-4, atol=1e-5)


def test_linear_recurrence_of_extreme_decays():
    """Decays of 0 and 1, and small ones, whose products underflow, on a text too long to unroll by itself."""
    decays = np.float32(np.broadcast_to([0.0, 1.0, 1e-20], (1, 150, 3)))
    updates = np.float32(RNG.normal(size=(1, 150, 3)))
    actual = to_numpy(compiled(linear_recurrence)(decays, updates))
    np.testing.assert_allclose(actual[..., 1], np.cumsum(np.float64(updates[..., 1]), axis=1), atol=1e-5)
    np.testing.assert_allclose(actual[..., ::2], updates[..., ::2], rtol=1e-6)
    assert all(np.isfinite(gradient).all() for gradient in gradients(linear_recurrence, (decays, updates)))


@pytest.mark.parametrize(
    ("pooling", "method", "masked"),
    [("f", "doubling", True), ("fo", "unrolled", False), ("fo", "doubling", True), ("ifo", "unrolled", True)],
)
def test_pooling_equals_the_loop(pooling, method, masked):
    mask = MASK if masked else None
    inputs = gates(4, 6, 3, count=POOLINGS[pooling])
    weights = np.float32(RNG.normal(size=(4, 6, 3)))

    def function(*tensors):
        return keras.ops.multiply(weights, recurrent_pooling(*tensors, mask=mask, method=method))

    def by_loop(*arrays):
        return weights * pool_by_loop(*arrays, mask=mask)

    actual, found = with_gradients(function)(*inputs)
    np.testing.assert_allclose(to_numpy(actual), by_loop(*inputs), rtol=1e-5, atol=1e-6)
    assert_close(found, central_differences(by_loop, inputs), rtol=1e-4, atol=1e-5)


@each_pooling
def test_fast_pooling_equals_the_rnn(pooling):
    inputs = gates(4, 6, 3, count=POOLINGS[pooling])
    reference = keras.layers.RNN(PoolingCell(3, pooling), return_sequences=True, zero_output_for_mask=True)
    joined = np.concatenate(inputs, axis=-1)
    reference.build(joined.shape)
    expected = to_numpy(compiled(lambda x: reference(x, mask=MASK))(joined))
    for method in ("auto", "unrolled", "blocked", "doubling"):
        layer = RecurrentPooling(method=method)
        actual = to_numpy(compiled(lambda *x, layer=layer: layer(list(x), mask=MASK))(*inputs))
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_pooling_cell_keeps_its_configuration(tmp_path):
    inputs = keras.Input((None, 6))
    model = keras.Model(inputs, keras.layers.RNN(PoolingCell(2, "fo"), return_sequences=True)(inputs))
    model.save(tmp_path / "model.keras")
    restored = keras.saving.load_model(tmp_path / "model.keras")
    x = np.concatenate(gates(2, 4, 2), axis=-1)
    np.testing.assert_array_equal(to_numpy(model(x)), to_numpy(restored(x)))


def test_recurrent_pooling_layer(tmp_path):
    # Of unknown length an unrolled loop is impossible, and "auto" chooses "blocked".
    run_layer_test(RecurrentPooling, {}, gates(4, 6, 3), tmp_path, masks=MASK, output_shape=(4, 6, 3))


@each_method
def test_padding_does_not_change_the_pooling(method):
    check_padding(RecurrentPooling(method=method), gates(4, 6, 3), MASK)


def convolve_by_loop(x, kernel, bias=0.0):
    """A causal convolution: the last tap of the kernel meets the current step."""
    k, _, d = kernel.shape
    result = np.zeros((*x.shape[:2], d))
    for t in range(x.shape[1]):
        for tap in range(k):
            if t - k + 1 + tap >= 0:
                result[:, t] += x[:, t - k + 1 + tap] @ kernel[tap]
    return result + bias


@pytest.mark.parametrize(
    ("pooling", "kernel_size", "use_bias"), [("f", 2, False), ("fo", 1, False), ("ifo", 3, True)]
)
def test_gates_equal_the_loop(pooling, kernel_size, use_bias):
    x = np.float32(RNG.normal(size=(4, 6, 3)))
    layer = QuasiRecurrentGates(5, kernel_size, pooling, use_bias, bias_initializer="random_normal")
    actual = layer(x, mask=MASK)
    x = np.where(MASK[..., None], np.float64(x), 0)
    kernels, biases = [to_numpy(w) for w in layer.kernels], [to_numpy(b) for b in layer.biases] or [0.0] * 4
    for number, result in enumerate(actual):
        activation = np.tanh if number == 0 else sigmoid
        expected = activation(convolve_by_loop(x, np.float64(kernels[number]), biases[number]))
        np.testing.assert_allclose(to_numpy(result), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("pooling", "kernel_size", "use_bias"), [("fo", 2, False), ("ifo", 3, True)])
def test_gradients_of_the_gates_are_those_of_the_loop(pooling, kernel_size, use_bias):
    x = np.float32(RNG.normal(size=(2, 4, 3)))
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=bool)
    count = POOLINGS[pooling]
    kernels = [np.float32(RNG.normal(size=(kernel_size, 3, 2))) for _ in range(count)]
    biases = [np.float32(RNG.normal(size=2)) for _ in range(count if use_bias else 0)]
    weights = [np.float32(RNG.normal(size=(2, 4, 2))) for _ in range(count)]
    layer = QuasiRecurrentGates(2, kernel_size, pooling, use_bias)
    layer.build(x.shape)

    def function(x, *parameters):
        outputs, _ = layer.stateless_call(list(parameters), [], x, mask=mask)
        return [keras.ops.multiply(w, output) for w, output in zip(weights, outputs, strict=True)]

    def by_loop(x, *parameters):
        x = np.where(mask[..., None], x, 0)
        added = parameters[count:] or [0.0] * count
        results = [convolve_by_loop(x, *each) for each in zip(parameters[:count], added, strict=True)]
        activations = [np.tanh] + [sigmoid] * (count - 1)
        return [w * f(result) for w, f, result in zip(weights, activations, results, strict=True)]

    arrays = [x, *kernels, *biases]
    _, found = with_gradients(function)(*arrays)
    assert_close(found, central_differences(by_loop, arrays), rtol=1e-4, atol=1e-5)


def test_gates_layer(tmp_path):
    run_layer_test(
        QuasiRecurrentGates,
        {"filters": 5, "kernel_size": 3, "use_bias": True, "kernel_regularizer": "l2"},
        np.float32(RNG.normal(size=(4, 6, 3))),
        tmp_path,
        masks=MASK,
        output_shape=[(4, 6, 5)] * 3,
        n_weights=6,
    )
    check_padding(QuasiRecurrentGates(5, 3), np.float32(RNG.normal(size=(4, 6, 3))), MASK)


@pytest.mark.parametrize(
    ("alignment", "method", "masked"),
    [
        ("index", "unrolled", True),
        ("index", "doubling", False),
        ("scaled", "unrolled", False),
        ("scaled", "doubling", True),
    ],
)
def test_crossing_equals_the_loop(alignment, method, masked):
    question, answer = gates(4, 6, 2), gates(4, 4, 2)
    masks = [MASK, PARTNER_MASK] if masked else None
    real = masks or [np.ones_like(MASK), np.ones_like(PARTNER_MASK)]
    weights = [np.float32(RNG.normal(size=side[0].shape)) for side in (question, answer)]
    layer = CrossTemporalGate(alignment=alignment, method=method)

    def function(*tensors):
        sides = layer([tensors[:3], tensors[3:]], mask=masks)
        return [keras.ops.multiply(w, side) for w, side in zip(weights, sides, strict=True)]

    def by_loop(*arrays):
        q, a = arrays[:3], arrays[3:]
        return [
            weights[0] * cross_by_loop(q, a, *real, alignment),
            weights[1] * cross_by_loop(a, q, *real[::-1], alignment),
        ]

    inputs = [*question, *answer]
    outputs, found = with_gradients(function)(*inputs)
    assert_close(outputs, by_loop(*inputs))
    assert_close(found, central_differences(by_loop, inputs), rtol=1e-4, atol=1e-5)


def test_crossing_layer(tmp_path):
    inputs, masks = [gates(4, 6, 3), gates(4, 4, 3)], [MASK, PARTNER_MASK]
    shapes = [(4, 6, 3), (4, 4, 3)]
    run_layer_test(CrossTemporalGate, {}, inputs, tmp_path, masks=masks, output_shape=shapes)


@pytest.mark.slow
@each_alignment
def test_padding_does_not_change_the_crossing(alignment):
    inputs, masks = [gates(4, 6, 3), gates(4, 4, 3)], [MASK, PARTNER_MASK]
    check_padding(CrossTemporalGate(alignment=alignment), inputs, masks)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="elsewhere every length is known")
@pytest.mark.parametrize("jit_compile", [False, True])
def test_scaled_crossing_of_unknown_length(jit_compile):
    import tensorflow as tf

    inputs, layer = [gates(4, 6, 3), gates(4, 4, 3)], CrossTemporalGate(alignment="scaled")
    signature = [[tf.TensorSpec((None, None, 3))] * 3] * 2
    function = tf.function(layer, input_signature=[signature], jit_compile=jit_compile)
    assert_close(function(inputs), layer(inputs))


@pytest.mark.slow
@each_alignment
@each_method
@pytest.mark.parametrize("known_length", [False, True])
def test_crossing_of_a_text_without_steps_is_zero(alignment, method, known_length):
    layer = CrossTemporalGate(alignment=alignment, method=method)
    if not known_length:
        if keras.backend.backend() != "tensorflow" or method == "unrolled":
            pytest.skip("the length is known")
        import tensorflow as tf

        layer = tf.function(layer, input_signature=[[[tf.TensorSpec((None, None, 3))] * 3] * 2])
    for lengths in ((0, 4), (6, 0), (0, 0)):
        crossed = layer([gates(4, length, 3) for length in lengths])
        for side, length in zip(crossed, lengths, strict=True):
            np.testing.assert_array_equal(to_numpy(side), np.zeros((4, length, 3)))


def test_unknown_options_and_wrong_shapes_are_refused():
    z, f, o = gates(2, 3, 4)
    for layer, argument in ((RecurrentPooling, "method"), (CrossTemporalGate, "alignment")):
        with pytest.raises(ValueError, match=f"Received: {argument}='other'"):
            layer(**{argument: "other"})
    for layer in (QuasiRecurrentGates, PoolingCell):
        with pytest.raises(ValueError, match="Received: pooling='io'"):
            layer(3, pooling="io")
        with pytest.raises(ValueError, match="Received: "):
            layer(0)
    for layer, inputs in (
        (RecurrentPooling(), [z]),
        (RecurrentPooling(), [z, f[..., :1]]),
        (CrossTemporalGate(), [z, f]),
        (CrossTemporalGate(), [[z, f, o], [z, f]]),
        (QuasiRecurrentGates(3), z[0]),
        (keras.layers.RNN(PoolingCell(3)), z),
    ):
        with pytest.raises(ValueError, match="Received: input_shape="):
            layer(inputs)
