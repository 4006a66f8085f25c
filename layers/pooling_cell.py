"""The step of recurrent pooling, as a cell for `keras.layers.RNN`."""

from typing import Any

import keras
from keras import ops

from .common import Shape, check_option

POOLINGS = {"f": 2, "fo": 3, "ifo": 4}


@keras.saving.register_keras_serializable(package="answer_ranking")
class PoolingCell(keras.layers.Layer):
    """One step of f-, fo- or ifo-pooling.

    In `keras.layers.RNN(PoolingCell(units), return_sequences=True, zero_output_for_mask=True)` it is the
    plain and slow reference for `RecurrentPooling`. Its input is the candidate and its gates, joined along
    the last axis in the order candidate, forget, output, input.

    Example:
    >>> import numpy as np
    >>> joined = np.array([[[1.0, 0.5, 0.5], [1.0, 0.5, 0.5]]], dtype="float32")
    >>> layer = keras.layers.RNN(PoolingCell(1), return_sequences=True)
    >>> [float(step) for step in layer(joined)[0, :, 0]]
    [0.25, 0.375]

    Args:
        units: int. Number of features.
        pooling: str. `"f"`, `"fo"` or `"ifo"`. Defaults to `"fo"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `pooling` is unknown or `units` is not positive.
    """

    def __init__(self, units: int, pooling: str = "fo", **kwargs: Any):
        super().__init__(**kwargs)
        check_option("pooling", pooling, tuple(POOLINGS))
        if units < 1:
            raise ValueError(f"`units` must be positive. Received: units={units}")
        self.units = units
        self.pooling = pooling
        self.state_size = units
        self.output_size = units

    def build(self, input_shape: Shape) -> None:
        if input_shape[-1] != POOLINGS[self.pooling] * self.units:
            raise ValueError(
                f"{self.pooling}-pooling of {self.units} units takes {POOLINGS[self.pooling] * self.units} "
                f"features. Received: input_shape={input_shape}"
            )

    def call(self, inputs: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        candidate, forget, *gates = ops.split(inputs, POOLINGS[self.pooling], axis=-1)
        entering = gates[1] if self.pooling == "ifo" else 1.0 - forget
        state = forget * states[0] + entering * candidate
        return (gates[0] * state if gates else state), [state]

    def compute_output_shape(self, input_shape: Shape, states_shape: Any = None) -> tuple[Shape, list[Shape]]:
        shape = (*input_shape[:-1], self.units)
        return shape, [shape]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "pooling": self.pooling}
