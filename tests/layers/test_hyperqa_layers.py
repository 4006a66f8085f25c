"""The layers of HyperQA as Keras layers, and Eq. 9; test_poincare.py checks the distance and the ball."""

import keras
import numpy as np
import pytest
from gradients import gradients
from layer_checks import check_configuration, run_layer_test, to_numpy

from answer_ranking.layers import HyperbolicDistance, RiemannianGradient, UnitBall
from answer_ranking.layers.riemannian_gradient import riemannian_gradient

RNG = np.random.default_rng(1)


def points(*shape):
    x = RNG.normal(size=shape)
    return np.float32(0.7 * x / np.linalg.norm(x, axis=-1, keepdims=True))


def test_hyperbolic_distance(tmp_path):
    check_configuration(HyperbolicDistance, {"form": "released"})
    run_layer_test(
        HyperbolicDistance,
        {"form": "asinh"},
        [points(3, 1, 5), points(3, 4, 5)],
        tmp_path,
        output_shape=(3, 4),
        half_precision_output="float32",
        half_precision_tolerance=1e-6,
    )


def test_unit_ball(tmp_path):
    check_configuration(UnitBall, {"max_norm": 0.9, "projection": "smooth"})
    run_layer_test(
        UnitBall,
        {"max_norm": 0.9, "projection": "clip"},
        np.float32(RNG.normal(size=(3, 4, 5))),
        tmp_path,
        output_shape=(3, 4, 5),
        half_precision_output="float32",
        half_precision_tolerance=1e-6,
    )


def test_shapes_broadcast():
    layer = HyperbolicDistance()
    for question, answer in (
        ((7, 5), (7, 5)),
        ((5,), (7, 5)),
        ((2, 1, 3, 5), (2, 4, 1, 5)),
        ((1, 5), (1, 5)),
    ):
        expected = np.broadcast_shapes(question[:-1], answer[:-1])
        assert layer.compute_output_shape([question, answer]) == expected
    assert layer.compute_output_shape([(None, 1, 5), (None, None, 5)]) == (None, None)
    assert tuple(layer([points(2, 1, 3, 5), points(2, 4, 1, 5)]).shape) == (2, 4, 3)
    # Else the number of a candidate would be taken for that of its question.
    with pytest.raises(ValueError, match=r"question\[:, None\]"):
        HyperbolicDistance()([points(4, 5), points(4, 4, 5)])


def test_wrong_shapes_are_refused():
    for inputs in ([points(2, 3), points(2, 4)], [points(2, 3), points(4, 3)], points(2, 3)):
        with pytest.raises(ValueError, match="Received: input_shape="):
            HyperbolicDistance()(inputs)
    for layer, option in ((HyperbolicDistance, "form"), (UnitBall, "max_norm"), (UnitBall, "projection")):
        with pytest.raises(ValueError, match=f"Received: {option}="):
            layer(**{option: 2})


def test_masks_of_both_sides_are_combined():
    left, right = np.array([[True], [False]]), np.array([[True, False], [True, True]])
    layer = HyperbolicDistance()
    np.testing.assert_array_equal(to_numpy(layer.compute_mask([None, None], [left, right])), left & right)
    assert layer.compute_mask([None, None], [None, right]) is right
    assert layer.compute_mask([None, None], [None, None]) is None
    assert layer.compute_mask([None, None]) is None
    assert UnitBall().compute_mask(None, right) is right


def test_riemannian_gradient_layer(tmp_path):
    run_layer_test(
        RiemannianGradient,
        {},
        points(3, 4, 5),
        tmp_path,
        output_shape=(3, 4, 5),
        half_precision_output="float32",
        half_precision_tolerance=0,
    )


def exact_riemannian_gradient(gradient, x):
    """Eq. 9 in float64."""
    x = np.float64(x)
    return (1 - np.sum(x * x, axis=-1, keepdims=True)) ** 2 / 4 * gradient


def test_riemannian_gradient_is_equation_9():
    norms = np.array([0.0, 0.3, 0.9, 0.999, 1 - 1e-5])[:, None]
    x, gradient = np.float32(norms * points(5, 7) / 0.7), np.float32(RNG.normal(size=(5, 7)))
    expected = exact_riemannian_gradient(gradient, x)
    np.testing.assert_allclose(to_numpy(riemannian_gradient(gradient, x)), expected, rtol=1e-4, atol=0)
    # The layer is the identity and converts what comes back.
    layer = RiemannianGradient()
    np.testing.assert_array_equal(to_numpy(layer(x)), x)
    (found,) = gradients(lambda x: keras.ops.multiply(gradient, layer(x)), (x,))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=0)
