"""Sum, mean and maximum over the real words of a text."""

from typing import Any

import keras
from keras import ops

from .common import Shape, masked_max, real_steps, zero_padding


class _MaskedPooling(keras.layers.Layer):
    """Base class: checks shapes, and ends the mask, since the time axis ends here."""

    def build(self, input_shape: Shape) -> None:
        self.compute_output_shape(input_shape)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        if len(input_shape) < 2:
            raise ValueError(
                f"{type(self).__name__} takes inputs of shape (..., time, features). "
                f"Received: input_shape={input_shape}"
            )
        return (*input_shape[:-2], input_shape[-1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return


@keras.saving.register_keras_serializable(package="answer_ranking")
class MaskedSum(_MaskedPooling):
    """Sum over the real (unpadded) steps.

    This is the bag of words of [HyperQA](https://arxiv.org/abs/1707.07847), Eq. 2. It takes a tensor of shape
    `(..., time, features)`, with a mask of shape `(..., time)` that is true at the real steps, and returns
    shape `(..., features)`. Masked steps count nothing, whatever they hold; a text of padding alone gives
    zeros. Half precision is accumulated in float32.

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
        return ops.cast(_masked_sum(inputs, real_steps(inputs, mask)), self.compute_dtype)


@keras.saving.register_keras_serializable(package="answer_ranking")
class MaskedMean(_MaskedPooling):
    """Mean over the real (unpadded) steps.

    Inputs, outputs and masks are those of `MaskedSum`, and so is the precision.

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
        real = real_steps(inputs, mask)
        total = _masked_sum(inputs, real)
        count = ops.sum(ops.cast(real, total.dtype), axis=-1)[..., None]
        return ops.cast(total / ops.maximum(count, 1.0), self.compute_dtype)


@keras.saving.register_keras_serializable(package="answer_ranking")
class MaskedMax(_MaskedPooling):
    """Maximum over the real (unpadded) steps, feature by feature.

    Inputs, outputs and masks are those of `MaskedSum`: masked steps never win, and a text of padding alone
    gives zeros.

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
        return masked_max(inputs, ops.expand_dims(real_steps(inputs, mask), axis=-1), axis=-2)


def _masked_sum(inputs: Any, real: Any) -> Any:
    dtype = keras.backend.result_type(inputs.dtype, "float32")
    return ops.sum(zero_padding(ops.cast(inputs, dtype), real), axis=-2)
