"""What the poolings over the real steps of padded texts have in common."""

from typing import Any

import keras
from keras import ops

Shape = tuple[int | None, ...]


class MaskedPooling(keras.layers.Layer):
    """Base class of the poolings over the time axis: shapes and masks.

    Inputs have the shape `(..., time, features)`, masks the shape `(..., time)`, and the result has the shape
    `(..., features)`. See `MaskedSum`, `MaskedMean` and `MaskedMax`.

    Example:
    >>> MaskedPooling().compute_output_shape((32, None, 300))
    (32, 300)

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        """Checks the shape; there are no weights.

        Args:
            input_shape: Shape of the inputs.

        Raises:
            ValueError: If it has fewer than two dimensions.
        """
        self.compute_output_shape(input_shape)
        self.built = True

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Gives the shape without the time axis.

        Args:
            input_shape: Shape of the inputs, `(..., time, features)`.

        Returns:
            Tuple, `(..., features)`.

        Raises:
            ValueError: If `input_shape` has fewer than two dimensions.
        """
        if len(input_shape) < 2:
            raise ValueError(
                f"{type(self).__name__} takes inputs of shape (..., time, features). "
                f"Received: input_shape={input_shape}"
            )
        return (*input_shape[:-2], input_shape[-1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Ends the mask, since the time axis ends here.

        Args:
            inputs: Tensor.
            mask: Boolean tensor or `None`.
        """
        return

    def _real_steps(self, inputs: Any, mask: Any) -> Any:
        """Gives the mask as a boolean tensor of shape `(..., time, 1)`, all true without a mask."""
        if mask is None:
            return ops.ones_like(inputs[..., :1], dtype="bool")
        if len(mask.shape) != len(inputs.shape) - 1:
            raise ValueError(
                f"The mask of {type(self).__name__} must have the shape of the inputs without the last axis. "
                f"Received: inputs.shape={tuple(inputs.shape)}, mask.shape={tuple(mask.shape)}"
            )
        return ops.expand_dims(ops.cast(mask, "bool"), axis=-1)

    def _sum(self, inputs: Any, real: Any) -> Any:
        """Adds up the real steps in float32, or in float64 for float64 inputs."""
        dtype = keras.backend.result_type(inputs.dtype, "float32")
        # A choice and not a product with the mask: 0 * NaN would be NaN.
        return ops.sum(ops.where(real, ops.cast(inputs, dtype), 0.0), axis=-2)
