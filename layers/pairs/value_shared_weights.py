"""The cosines of words, weighted by their values."""

from typing import Any

import keras
from keras import ops

from ..common import Shape, TextPairLayer, unit_vectors


@keras.saving.register_keras_serializable(package="answer_ranking")
class ValueSharedWeights(TextPairLayer):
    """Weighted sums of each question word's cosines, where the value of a cosine chooses its weight.

    The value-shared weighting of [aNMM](https://arxiv.org/abs/1801.01641), Section 3.2. The cosines from -1
    to 1 fall into `bins` ranges of equal width, and that of equal words, 1, into one of its own. With `x_jk`
    the sum of the cosines of question word j that lie in range k, the layer returns for each node t

    ```
    sum_k w_kt x_jk
    ```

    Each cosine looks its weight up, so that no histogram is made. The layer takes the pair
    `[question, answer]` and returns `(..., question length, units)`; masked words count nothing, and have
    zeros. No gradient passes through the cosines, as the paper's words are frozen. They are computed in
    float32 under mixed precision.

    Example:
    >>> import numpy as np
    >>> question = np.array([[[1.0, 0.0], [0.0, 2.0]]], dtype="float32")
    >>> answer = np.array([[[3.0, 4.0], [5.0, 0.0]]], dtype="float32")
    >>> sums = ValueSharedWeights(1, bins=4, kernel_initializer="ones")([question, answer])
    >>> [round(float(word), 3) for word in sums[0, :, 0]]
    [1.6, 0.8]

    Args:
        units: int. The number of nodes t, each with weights of its own.
        bins: int. The number of ranges below 1. Defaults to 600.
        kernel_initializer: Initializer of the weights `(bins + 1, units)`. Defaults to `"glorot_uniform"`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(
        self, units: int, bins: int = 600, kernel_initializer: Any = "glorot_uniform", **kwargs: Any
    ):
        super().__init__(**kwargs)
        for name, value in (("units", units), ("bins", bins)):
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1. Received: {name}={value}")
        self.units = units
        self.bins = bins
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, input_shape: list[Shape]) -> None:
        super().build(input_shape)
        shape = (self.bins + 1, self.units)
        self.kernel = self.add_weight(shape=shape, initializer=self.kernel_initializer, name="kernel")

    def call(self, inputs: list[Any], mask: Any = None) -> Any:
        question, answer, real_question, real_answer = self._real_words(inputs, mask)
        answer_units = ops.swapaxes(unit_vectors(answer), -1, -2)
        cosines = ops.stop_gradient(ops.matmul(unit_vectors(question), answer_units))
        rows, columns = ops.expand_dims(real_question, -1), ops.expand_dims(real_answer, -2)
        cosines = ops.where(ops.logical_and(rows, columns), cosines, 0.0)
        # Rounding may leave the cosine of equal words a little below 1.
        place = ops.floor((cosines + 1) / 2 * self.bins + 1e-3)
        place = ops.cast(ops.clip(place, 0, self.bins), "int32")
        weights = ops.take(ops.cast(self.kernel, cosines.dtype), place, axis=0)
        sums = ops.sum(weights * ops.expand_dims(cosines, -1), axis=-2)
        return ops.cast(sums, self.compute_dtype)

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        question, _ = self._pair_shapes(input_shape)
        return (*question[:-1], self.units)

    def compute_mask(self, inputs: list[Any], mask: Any = None) -> Any:
        return super().compute_mask(inputs, mask)[0]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "bins": self.bins,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
