"""Circular correlation, neural tensor and value-shared weights against their equations in float64."""

import numpy as np
import pytest
from gradients import central_differences, gradients
from layer_checks import assert_close, check_padding, run_layer_test, to_numpy

from answer_ranking.layers import CircularCorrelation, NeuralTensor, ValueSharedWeights

RNG = np.random.default_rng(7)
PAIR = [np.float32(RNG.normal(size=(4, 5))), np.float32(RNG.normal(size=(4, 5)))]
TEXTS = [np.float32(RNG.normal(size=(4, 3, 5))), np.float32(RNG.normal(size=(4, 6, 5)))]
TEXTS[1][0, 1] = 2 * TEXTS[0][0, 2]
MASKS = [
    np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0]], bool),
    np.array([[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6, [1, 1, 1, 0, 0, 0]], bool),
]


def correlation(question, answer):
    d = question.shape[-1]
    steps = (np.arange(d)[:, None] + np.arange(d)) % d
    return np.einsum("bi,bki->bk", np.float64(question), np.float64(answer)[:, steps])


def test_circular_correlation_layer(tmp_path):
    run_layer_test(
        CircularCorrelation, {}, PAIR, tmp_path, output_shape=(4, 5), half_precision_output="float32"
    )


def test_circular_correlation_equals_numpy_with_its_gradients():
    for pair in (PAIR, [x[:, :4] for x in PAIR]):
        assert_close(CircularCorrelation()(pair), correlation(*pair), atol=1e-5)
        found = gradients(lambda *x: CircularCorrelation()(list(x)), pair)
        assert_close(found, central_differences(correlation, pair), rtol=1e-3, atol=1e-4)


def test_neural_tensor_layer(tmp_path):
    run_layer_test(NeuralTensor, {"slices": 3}, PAIR, tmp_path, output_shape=(4, 3), n_weights=3)


def test_neural_tensor_equals_numpy():
    question, answer = PAIR[0], PAIR[1][:, :2]
    layer = NeuralTensor(3)
    found = to_numpy(layer([question, answer]))
    tensor, linear, _ = (np.float64(weight.numpy()) for weight in layer.weights)
    forms = np.einsum("bi,irj,bj->br", np.float64(question), tensor.reshape(5, 3, 2), np.float64(answer))
    expected = np.tanh(forms + np.hstack([question, answer]) @ linear)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_value_shared_weights_layer(tmp_path):
    arguments = {"units": 2, "bins": 6}
    run_layer_test(
        ValueSharedWeights,
        arguments,
        TEXTS,
        tmp_path,
        masks=MASKS,
        output_shape=(4, 3, 2),
        n_weights=1,
        trainable_input=False,
    )


def test_value_shared_weights_equal_a_histogram_of_cosines():
    layer = ValueSharedWeights(2, bins=6)
    found = to_numpy(layer(TEXTS, mask=MASKS))
    kernel = np.float64(layer.kernel.numpy())
    question, answer = (np.float64(x) / np.linalg.norm(x, axis=-1, keepdims=True) for x in TEXTS)
    for batch, row in np.argwhere(MASKS[0]):
        cosines = answer[batch, MASKS[1][batch]] @ question[batch, row]
        # The last range holds 1 alone.
        edges = np.append(np.linspace(-1, 1, 7) - 1e-6, 1.1)
        sums, _ = np.histogram(cosines, edges, weights=cosines)
        np.testing.assert_allclose(found[batch, row], sums @ kernel, rtol=1e-4, atol=1e-6)
    assert not found[~MASKS[0]].any()
    cosine = answer[0, 1] @ question[0, 2]
    assert cosine == pytest.approx(1)


def test_padding_changes_no_sum():
    check_padding(ValueSharedWeights(2, bins=6), TEXTS, MASKS)


@pytest.mark.parametrize(
    ("layer", "shapes"),
    [
        (CircularCorrelation(), [(4, 5), (4, 6)]),
        (NeuralTensor(2), [(4, 5), (4, 3, 5)]),
        (ValueSharedWeights(2), [(4, 3, 5), (4, 3, 6)]),
    ],
)
def test_wrong_shapes_are_refused(layer, shapes):
    with pytest.raises(ValueError, match="Received: input_shape="):
        layer([np.zeros(shape) for shape in shapes])
    with pytest.raises(ValueError, match="must be at least 1"):
        NeuralTensor(0)
