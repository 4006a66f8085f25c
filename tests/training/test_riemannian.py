from typing import get_args

import numpy as np
import pytest
import tensorflow as tf

from training.pairwise_settings import Eq9
from training.riemannian import READINGS, convert_parameter_gradients, convert_point_gradients


def random(shape, scale, seed):
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype("float32")


def test_points_are_scaled_by_the_inverse_metric_of_eq_3():
    points, gradients = random((7, 4), 0.3, 0), random((7, 4), 1.0, 1)
    converted = convert_point_gradients(tf.constant(gradients), tf.constant(points), "points").numpy()
    for point, gradient, result in zip(points.astype("float64"), gradients, converted, strict=True):
        metric = (2 / (1 - point @ point)) ** 2
        np.testing.assert_allclose(result, gradient / metric, rtol=1e-5)


def test_parameters_are_scaled_by_their_own_norm():
    weights, gradients = (
        [random((3, 4), 0.2, 0), random((4,), 0.2, 1)],
        [random((3, 4), 1, 2), random((4,), 1, 3)],
    )
    for weight, gradient, result in zip(
        weights, gradients, convert_parameter_gradients(gradients, weights, "parameters"), strict=True
    ):
        expected = gradient * (1 - (weight.astype("float64") ** 2).sum()) ** 2 / 4
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_released_code_takes_the_gradient_s_norm():
    (result,) = convert_parameter_gradients([tf.constant([0.6, 0.8])], [tf.zeros(2)], "released_code")
    # The norm is 1, so that only the released code's small constant is left.
    np.testing.assert_allclose(result, [0.6 * 1e-5 / 4, 0.8 * 1e-5 / 4], rtol=1e-3)


def test_the_options_are_the_readings():
    assert sorted(get_args(Eq9)) == sorted(READINGS)


@pytest.mark.parametrize("reading", READINGS)
def test_each_reading_converts_in_one_place_only(reading):
    gradient, theta = tf.constant([[0.3, 0.1]]), tf.constant([[0.5, 0.2]])
    at_points = convert_point_gradients(gradient, theta, reading)
    (at_parameters,) = convert_parameter_gradients([gradient], [theta], reading)
    changed = [not np.array_equal(x, gradient) for x in (at_points, at_parameters)]
    assert sum(changed) == (reading != "none")


def test_at_w_f_of_minus_one_the_literal_reading_freezes():
    """Why `parameters` cannot train the score's weight from its first value."""
    (result,) = convert_parameter_gradients([tf.constant([[5.0]])], [tf.constant([[-1.0]])], "parameters")
    assert result.numpy().item() == 0


def test_unknown_reading():
    with pytest.raises(ValueError, match="Received: 'both'"):
        convert_point_gradients(tf.zeros(1), tf.zeros(1), "both")
