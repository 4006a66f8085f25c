from typing import get_args

import numpy as np
import pytest
import tensorflow as tf

from answer_ranking.layers.riemannian_gradient import convert_parameter_gradients
from answer_ranking.training import Eq9


def converted(gradient, theta, reading):
    (result,) = convert_parameter_gradients([tf.constant(gradient)], [tf.constant(theta)], reading)
    return result.numpy()


def test_released_code_takes_the_gradient_s_norm():
    # The norm is 1, so that only the released code's small constant is left.
    result = converted([0.6, 0.8], [0.0, 0.0], "released_code")
    np.testing.assert_allclose(result, [0.6 * 1e-5 / 4, 0.8 * 1e-5 / 4], rtol=1e-3)


@pytest.mark.parametrize("reading", get_args(Eq9))
def test_two_readings_convert_the_gradients_of_parameters(reading):
    changed = not np.array_equal(converted([0.3, 0.1], [0.5, 0.2], reading), np.float32([0.3, 0.1]))
    assert changed == (reading in ("parameters", "released_code"))


def test_at_w_f_of_minus_one_the_literal_reading_freezes():
    """Why `parameters` cannot train the score's weight from its first value."""
    assert converted([[5.0]], [[-1.0]], "parameters").item() == 0


def test_unknown_reading():
    with pytest.raises(ValueError, match="Received: reading='both'"):
        converted([1.0], [1.0], "both")
