"""Maximum over the real words of a text."""

from typing import Any

import keras
from keras import ops

from layers.masked_pooling import MaskedPooling


@keras.saving.register_keras_serializable(package="answer_ranking")
class MaskedMax(MaskedPooling):
    """Maximum over the real (unpadded) steps, feature by feature.

    Steps where the mask is false never win, whatever they hold; a text of padding alone gives the zero
    vector.

    Example:
    >>> import numpy as np
    >>> words = np.array([[[-1.0, 2.0], [-3.0, 4.0], [9.0, 9.0]]], dtype="float32")
    >>> mask = np.array([[True, True, False]])
    >>> [float(feature) for feature in MaskedMax()(words, mask=mask)[0]]
    [-1.0, 4.0]

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Takes the maximum of the real steps.

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
        largest = ops.max(ops.where(real, inputs, float("-inf")), axis=-2)
        return ops.where(ops.any(real, axis=-2), largest, 0.0)
