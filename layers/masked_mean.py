"""Mean over the real words of a text."""

from typing import Any

import keras
from keras import ops

from layers.masked_pooling import MaskedPooling


@keras.saving.register_keras_serializable(package="answer_ranking")
class MaskedMean(MaskedPooling):
    """Mean over the real (unpadded) steps.

    Steps where the mask is false count nothing, whatever they hold; a text of padding alone gives the zero
    vector. The mean is accumulated in float32 under mixed precision.

    Example:
    >>> import numpy as np
    >>> words = np.array([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]], dtype="float32")
    >>> mask = np.array([[True, True, False]])
    >>> [float(feature) for feature in MaskedMean()(words, mask=mask)[0]]
    [2.0, 3.0]

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Averages the real steps.

        Args:
            inputs: Tensor of shape `(..., time, features)`.
            mask: Boolean tensor of shape `(..., time)`, true at the real steps. Defaults to the mask that
                comes with the inputs, and to none.

        Returns:
            Tensor of shape `(..., features)`.

        Raises:
            ValueError: If the mask has another number of dimensions.
        """
        real = self._real_steps(inputs, mask)
        total = self._sum(inputs, real)
        count = ops.sum(ops.cast(real, total.dtype), axis=-2)
        return ops.cast(total / ops.maximum(count, 1.0), self.compute_dtype)
