"""Eq. 9 of HyperQA: from the Euclidean gradient to the Riemannian one.

Eq. 9 of the paper reads grad_R = ((1 - |theta|^2)^2 / 4) grad_E, the inverse of the Poincare ball's metric
tensor (Eq. 3) applied to the Euclidean gradient; Eq. 8 then steps along grad_R. The paper does not say what
theta is. Three readings are possible, and the fourth converts nothing:

- `points`: theta are the points of the ball, that is the text vectors. The gradient that arrives at a text
  vector is converted before it flows on into W_p by the chain rule.
- `parameters`: theta is each trainable tensor, by its own norm, as printed.
- `released_code`: the authors' code takes the norm of the gradient itself, ((1 - |g|^2)^2 + 1e-5) / 4.
- `none`: the plain Euclidean gradient, for comparison.

Where every text lies at one norm, as the sums of HyperQA do after the projection, `points` scales all
gradients by one number: 2.5e-1 at norm 0, 6.5e-2 at 0.7, 1e-4 at 0.99. `parameters` cannot move a score
weight w_f that starts at -1, since its factor is 0 there, and scales the gradient of a large W_p up by its
norm to the fourth, which Adagrad takes out again.

Eq. 8, the step along grad_R with the retraction R, is not in this file. The step is the optimizer's:
`training.ranker_trainer.RankerTrainer.update` applies the converted and clipped gradients. R is the identity
there, since the parameters live in Euclidean space; the text vectors are brought back onto the ball by the
layer `layers.UnitBall` in the next forward pass.
"""

from collections.abc import Sequence

import tensorflow as tf


def _at_points(gradient: tf.Tensor, point: tf.Tensor) -> tf.Tensor:
    squared_norm = tf.reduce_sum(tf.square(point), axis=-1, keepdims=True)
    return gradient * tf.square(1.0 - squared_norm) / 4.0


def _by_parameter_norm(gradient: tf.Tensor, parameter: tf.Tensor) -> tf.Tensor:
    return gradient * tf.square(1.0 - tf.reduce_sum(tf.square(parameter))) / 4.0


def _by_gradient_norm(gradient: tf.Tensor, parameter: tf.Tensor) -> tf.Tensor:
    return gradient * (tf.square(1.0 - tf.reduce_sum(tf.square(gradient))) + 1e-5) / 4.0


# A reading converts in one of two places: where the gradient arrives at the points, or at the weights.
_POINT_READINGS = {"points": _at_points}
_PARAMETER_READINGS = {"parameters": _by_parameter_norm, "released_code": _by_gradient_norm}

READINGS = (*_POINT_READINGS, *_PARAMETER_READINGS, "none")


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
        points: float `(..., d)`, text vectors on the ball, after their projection onto it.
        reading: one of `READINGS`; every other reading than `points` leaves them as they are.

    Returns:
        A tensor like `gradients`.

    Example:
        >>> convert_point_gradients(tf.ones((1, 2)), tf.zeros((1, 2)), "points").numpy()
        array([[0.25, 0.25]], dtype=float32)
    """
    convert = _POINT_READINGS.get(check_reading(reading))
    return convert(gradients, points) if convert else gradients


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
    convert = _PARAMETER_READINGS.get(check_reading(reading))
    if convert is None:
        return list(gradients)
    return [convert(g, p) for g, p in zip(gradients, parameters, strict=True)]
