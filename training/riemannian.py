"""Eq. 8 and 9 of HyperQA: from the Euclidean gradient to the Riemannian one.

Eq. 9 of the paper reads grad_R = ((1 - |theta|^2)^2 / 4) grad_E, the inverse of the Poincare ball's metric
tensor (Eq. 3) applied to the Euclidean gradient; Eq. 8 then steps along grad_R. The paper does not say what
theta is, and three readings are possible:

- `points`: theta are the points of the ball, that is the text vectors. The gradient that arrives at a text
  vector is converted before it flows on into W_p by the chain rule.
- `parameters`: theta is each trainable tensor, by its own norm, as printed.
- `released_code`: the authors' code takes the norm of the gradient itself, ((1 - |g|^2)^2 + 1e-5) / 4.
- `none`: the plain Euclidean gradient, for comparison.

The retraction R of Eq. 8 is the identity here: the parameters live in Euclidean space, and the text vectors
are brought back onto the ball by the `UnitBall` layer in the next forward pass. The step itself is the
optimizer's.
"""

from collections.abc import Sequence

import tensorflow as tf

READINGS = ("points", "parameters", "released_code", "none")


def check_reading(reading: str) -> str:
    """Return `reading` if it is one of `READINGS`.

    Raises:
        ValueError: it is not.
    """
    if reading not in READINGS:
        raise ValueError(f"The reading of Eq. 9 must be one of {READINGS}. Received: {reading!r}")
    return reading


def convert_point_gradients(gradients: tf.Tensor, points: tf.Tensor, reading: str) -> tf.Tensor:
    """Convert the gradients that arrive at the points of the ball (reading `points`).

    Args:
        gradients: float `(..., d)`, the loss's Euclidean gradients with respect to `points`.
        points: float `(..., d)`, text vectors on the unit ball.
        reading: one of `READINGS`; every other reading than `points` leaves them as they are.

    Returns:
        A tensor like `gradients`.

    Example:
        >>> convert_point_gradients(tf.ones((1, 2)), tf.zeros((1, 2)), "points").numpy()
        array([[0.25, 0.25]], dtype=float32)
    """
    if check_reading(reading) != "points":
        return gradients
    squared_norms = tf.reduce_sum(tf.square(points), axis=-1, keepdims=True)
    return gradients * tf.square(1.0 - squared_norms) / 4.0


def convert_parameter_gradients(
    gradients: Sequence[tf.Tensor], parameters: Sequence[tf.Tensor], reading: str
) -> list[tf.Tensor]:
    """Convert the gradients of the trainable tensors (readings `parameters` and `released_code`).

    Args:
        gradients: the loss's gradients, one for each parameter.
        parameters: the trainable tensors, each taken as one point theta.
        reading: one of `READINGS`; `points` and `none` leave the gradients as they are.

    Returns:
        A list like `gradients`.

    Example:
        >>> convert_parameter_gradients([tf.ones(2)], [tf.zeros(2)], "parameters")[0].numpy()
        array([0.25, 0.25], dtype=float32)
    """
    if check_reading(reading) == "parameters":
        return [
            gradient * tf.square(1.0 - tf.reduce_sum(tf.square(parameter))) / 4.0
            for gradient, parameter in zip(gradients, parameters, strict=True)
        ]
    if reading == "released_code":
        return [
            gradient * (tf.square(1.0 - tf.reduce_sum(tf.square(gradient))) + 1e-5) / 4.0
            for gradient in gradients
        ]
    return list(gradients)
