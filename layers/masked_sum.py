"""Sum over the real words of a text."""

from typing import Any

import keras
from keras import ops

from layers.masked_pooling import MaskedPooling


@keras.saving.register_keras_serializable(package="answer_ranking")
class MaskedSum(MaskedPooling):
    """Sum over the real (unpadded) steps.

    This is the bag of words of [HyperQA](https://arxiv.org/abs/1707.07847), Eq. 2. Steps where the mask is
    false count nothing, whatever they hold; a text of padding alone gives the zero vector. The sum is
    accumulated in float32 under mixed precision.

    Example:
    >>> import numpy as np
    >>> words = np.array([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]], dtype="float32")
    >>> mask = np.array([[True, True, False]])
    >>> [float(feature) for feature in MaskedSum()(words, mask=mask)[0]]
    [4.0, 6.0]

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Adds up the real steps.

        Args:
            inputs: Tensor of shape `(..., time, features)`.
            mask: Boolean tensor of shape `(..., time)`, true at the real steps. Defaults to the mask that
                comes with the inputs, and to none.

        Returns:
            Tensor of shape `(..., features)`.

        Raises:
            ValueError: If the mask has another number of dimensions.
        """
        return ops.cast(self._sum(inputs, self._real_steps(inputs, mask)), self.compute_dtype)
