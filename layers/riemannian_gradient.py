"""HyperQA's Eq. 9, from the Euclidean gradient to the Riemannian one: the formula and its readings.

Eq. 9 of [HyperQA](https://arxiv.org/abs/1707.07847) is the inverse of the Poincaré ball's metric tensor
(Eq. 3) applied to the Euclidean gradient; Eq. 8 then steps along the result:

```
grad_R = ((1 - |theta|^2)^2 / 4) grad_E
```

`equation_9` is this formula, and every reading calls it. The paper does not say what theta is. There are four
readings, of which the last converts nothing:

- `points`: theta are the points of the ball, that is the text vectors. The gradient that arrives at a text
  vector is converted before the chain rule carries it on into W_p: `riemannian_gradient`.
- `parameters`: theta is each trainable tensor, by its own norm, as printed: `convert_parameter_gradients`.
- `released_code`: the authors' code takes the norm of the gradient itself, ((1 - |g|^2)^2 + 1e-5) / 4:
  `convert_parameter_gradients`.
- `none`: the plain Euclidean gradient, for comparison.

The switch is the option `eq9` of `training.PairwiseOptions`, `--eq9` on the command line; HyperQA's entry in
the catalogue of models sets it. For a training with `keras.Model.fit` it is a layer in the model,
`RiemannianGradient` (`points`), or an optimizer, `training.RiemannianOptimizer` (the readings of weights).

Where every text lies at one norm, as the sums of HyperQA do after the projection, `points` scales the
gradients of the encoder by one number: 2.5e-1 at norm 0, 6.5e-2 at 0.7, 1e-4 at 0.99. `parameters` cannot
move a score weight w_f that starts at -1, since its factor is 0 there, and scales the gradient of a large W_p
up by its norm to the fourth, which Adagrad takes out again.
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from .common import Shape, takes_upstream
from .poincare import one_minus_squared_norm

PARAMETER_READINGS = ("parameters", "released_code")
"""The readings under which the gradients of weights are converted."""


def equation_9(gradient: Any, one_minus_squared_norm: Any, offset: float = 0.0) -> Any:
    """Multiplies a Euclidean gradient by `((1 - |theta|^2)^2 + offset) / 4`; the paper has no offset."""
    return gradient * ((ops.square(one_minus_squared_norm) + offset) / 4.0)


def riemannian_gradient(gradient: Any, point: Any) -> Any:
    """Converts the gradient at points of the Poincaré ball `(..., dimensions)` by Eq. 9 (`points`).

    The factor is computed in float32 at least, and keeps its digits where `|x|` is almost 1.
    """
    gradient = ops.convert_to_tensor(gradient)
    rest = one_minus_squared_norm(point)[..., None]
    return ops.cast(equation_9(ops.cast(gradient, rest.dtype), rest), gradient.dtype)


def convert_parameter_gradients(
    gradients: Sequence[Any], parameters: Sequence[Any], reading: str
) -> list[Any]:
    """Converts the gradients of weights by a reading of Eq. 9.

    Theta is each tensor under `"parameters"`, and each gradient under `"released_code"`; `"points"` and
    `"none"` leave gradients of weights as they are. A ValueError says that there is no such reading.
    """
    if reading in ("points", "none"):
        return list(gradients)
    if reading not in PARAMETER_READINGS:
        raise ValueError(f"no formula for this reading of Eq. 9. Received: reading={reading!r}")
    converted = []
    for gradient, parameter in zip(gradients, parameters, strict=True):
        if reading == "parameters":
            rest = 1.0 - ops.sum(ops.square(parameter))
            converted.append(equation_9(gradient, rest))
        else:
            rest = 1.0 - ops.sum(ops.square(gradient))
            converted.append(equation_9(gradient, rest, offset=1e-5))
    return converted


@ops.custom_gradient
def _identity(x: Any) -> Any:
    @takes_upstream
    def gradient(upstream: Any) -> Any:
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
