"""The Riemannian gradient of the Poincaré ball, as a function and as a layer."""

from typing import Any

import keras
from keras import ops

from .common import Shape
from .poincare import one_minus_squared_norm


def riemannian_gradient(gradient: Any, point: Any) -> Any:
    """Converts a Euclidean gradient at points of the Poincaré ball into the Riemannian one, of the same
    shape.

    Eq. 9 of [HyperQA](https://arxiv.org/abs/1707.07847), the inverse of the ball's metric tensor (Eq. 3):
    `grad_R = ((1 - |x|^2)^2 / 4) grad_E`. The factor is computed in float32 at least, and keeps its digits
    where `|x|` is almost 1.
    """
    gradient = ops.convert_to_tensor(gradient)
    factor = ops.square(one_minus_squared_norm(point))[..., None] / 4.0
    return ops.cast(ops.cast(gradient, factor.dtype) * factor, gradient.dtype)


@ops.custom_gradient
def _identity(x: Any) -> Any:
    def gradient(*arguments: Any, upstream: Any = None) -> Any:
        if upstream is None:
            (upstream,) = arguments
        return riemannian_gradient(upstream, x)

    return x, gradient


@keras.saving.register_keras_serializable(package="answer_ranking")
class RiemannianGradient(keras.layers.Layer):
    """Identity whose gradient is the Riemannian one of the Poincaré ball.

    Put after the layer that brings vectors onto the ball, such as `UnitBall`, it makes any Keras model train
    by Eq. 9 of [HyperQA](https://arxiv.org/abs/1707.07847), read as a rule for the points `x` of the ball:
    the gradient that arrives at a point is multiplied by `(1 - |x|^2)^2 / 4` before it flows on into the
    weights (`riemannian_gradient`). It takes points of shape `(..., dimensions)` and returns them unchanged,
    in their own dtype under every dtype policy; masks are passed on. The layer has no weights.

    Example:
    >>> import numpy as np
    >>> points = np.array([[0.6, 0.0]], dtype="float32")
    >>> [round(float(component), 4) for component in RiemannianGradient()(points)[0]]
    [0.6, 0.0]

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**{"autocast": False, **kwargs})
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return _identity(ops.convert_to_tensor(inputs))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return tuple(input_shape)

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        return keras.KerasTensor(inputs.shape, dtype=inputs.dtype)
