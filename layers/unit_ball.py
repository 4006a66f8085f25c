"""The projection layer of HyperQA."""

from typing import Any

import keras

from .common import Shape
from .poincare import check_projection, project_to_ball


@keras.saving.register_keras_serializable(package="answer_ranking")
class UnitBall(keras.layers.Layer):
    """Projection of vectors into a ball inside the unit ball.

    [HyperQA](https://arxiv.org/abs/1707.07847) constrains its question and answer embeddings to the unit ball
    by `y / |y|` where `|y| > 1`. On the edge itself the hyperbolic distance is infinite, so the radius
    `max_norm` should be below 1. The layer has no weights, takes any shape `(..., dimensions)` and returns
    the same; masks are passed on.

    Neither float16 nor bfloat16 holds a norm of `1 - 1e-5`: the points leave in float32 under every dtype
    policy but float64's, and the inputs are not cast down.

    Example:
    >>> import numpy as np
    >>> x = np.array([[3.0, 4.0], [0.3, 0.4]], dtype="float32")
    >>> points = UnitBall(max_norm=0.5)(x)
    >>> [[round(float(component), 4) for component in point] for point in points]
    [[0.3, 0.4], [0.3, 0.4]]

    Args:
        max_norm: float in (0, 1]. Radius of the ball. Defaults to `1 - 1e-5`.
        projection: str. `"clip"` cuts longer vectors to `max_norm`; `"smooth"` maps the whole space into the
            ball by `max_norm * tanh(|x|) * x / |x|`. Defaults to `"clip"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `projection` is unknown or `max_norm` is not in (0, 1].
    """

    def __init__(self, max_norm: float = 1 - 1e-5, projection: str = "clip", **kwargs: Any):
        super().__init__(**{"autocast": False, **kwargs})
        check_projection(max_norm, projection)
        self.max_norm = max_norm
        self.projection = projection
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return project_to_ball(inputs, max_norm=self.max_norm, projection=self.projection)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return tuple(input_shape)

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        dtype = keras.backend.result_type(inputs.dtype, "float32")
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "max_norm": self.max_norm, "projection": self.projection}
