"""A convolution over the words of a text and the maximum over its steps."""

from typing import Any

import keras
from keras import ops

from .common import Shape, check_option, first_mask, masked_max, real_steps

ACTIVATIONS = ("linear", "relu", "sigmoid", "tanh")


@keras.saving.register_keras_serializable(package="answer_ranking")
class PooledConvolution(keras.layers.Layer):
    """One-dimensional convolution with global max pooling over the real words.

    ```
    c_t = sum_k W_k x_{t + k - floor((width - 1) / 2)} + b,   result = max_t activation(c_t)
    ```

    This is `keras.layers.Conv1D(filters, width, padding="same")` with weights of the same shapes, followed by
    the maximum over the real steps. Words where the mask is false count as the zeros past the text's end and
    never win the maximum, so that padding changes nothing; a text of padding alone gives zeros. The
    activation does not fall anywhere and so is applied after the maximum, where it is cheaper.

    Inputs are words `(..., time, n)`, or a list `[words, channels]` of two tensors that the kernel reads as
    one with `n + m` features, or a list `[words, channels, rows]`: several channels `(pairs, time, m)` then
    share the words `(batch, time, n)`, and the integers `rows` `(pairs,)` say whose words each has. A
    convolution is linear in its features, so the words are convolved once and only the channels for each
    pair; the result, `(pairs, filters)`, is that of repeating the words.

    Example:
    >>> import numpy as np
    >>> words = np.array([[[1.0], [2.0], [3.0], [9.0]]], dtype="float32")
    >>> mask = np.array([[True, True, True, False]])
    >>> sums = PooledConvolution(1, 3, kernel_initializer="ones")(words, mask=mask)
    >>> float(sums[0, 0])
    6.0

    Args:
        filters: int. Number of features of the result.
        width: int. Number of words that the kernel sees at once.
        activation: str. `"linear"`, `"relu"`, `"sigmoid"` or `"tanh"`. Defaults to `"relu"`.
        kernel_initializer: Initializer of the kernel `(width, n + m, filters)`. Defaults to
            `"glorot_uniform"`.
        bias_initializer: Initializer of the bias `(filters,)`. Defaults to `"zeros"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `filters` or `width` is not positive, or `activation` is unknown.
    """

    def __init__(
        self,
        filters: int,
        width: int,
        activation: str = "relu",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        for name, value in (("filters", filters), ("width", width)):
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1. Received: {name}={value}")
        check_option("activation", activation, ACTIVATIONS)
        self.filters = filters
        self.width = width
        self.activation = activation
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.supports_masking = True

    def build(self, input_shape: Shape | list[Shape]) -> None:
        self.compute_output_shape(input_shape)
        words, channels, _ = _three_shapes(input_shape)
        features = words[-1] + (0 if channels is None else channels[-1])
        self.kernel = self.add_weight(
            shape=(self.width, features, self.filters), initializer=self.kernel_initializer, name="kernel"
        )
        self.bias = self.add_weight(shape=(self.filters,), initializer=self.bias_initializer, name="bias")

    def call(self, inputs: Any, mask: Any = None) -> Any:
        words, *others = inputs if isinstance(inputs, list | tuple) else [inputs]
        real = ops.expand_dims(real_steps(words, first_mask(mask)), axis=-1)
        kernel = ops.cast(self.kernel, self.compute_dtype)
        if len(others) == 2:
            channels, rows = others
            n = words.shape[-1]
            steps = ops.take(_convolve(ops.where(real, words, 0.0), kernel[:, :n]), rows, axis=0)
            real = ops.take(real, rows, axis=0)
            steps = steps + _convolve(ops.where(real, channels, 0.0), kernel[:, n:])
        else:
            steps = _convolve(ops.where(real, ops.concatenate([words, *others], axis=-1), 0.0), kernel)
        activation = keras.activations.get(self.activation)
        pooled = activation(masked_max(steps, real, axis=-2) + ops.cast(self.bias, self.compute_dtype))
        return ops.where(ops.any(real, axis=-2), pooled, 0.0)

    def compute_output_shape(self, input_shape: Shape | list[Shape]) -> Shape:
        words, channels, rows = _three_shapes(input_shape)
        last = words if channels is None else channels
        if not _fit(words, last, rows):
            raise ValueError(
                f"{type(self).__name__} takes words of shape (..., time, n), or a list of these and channels "
                "of shape (..., time, m), or of words (batch, time, n), channels (pairs, time, m) and rows "
                f"(pairs,). Received: input_shape={input_shape}"
            )
        return (*last[:-2], self.filters)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "width": self.width,
            "activation": self.activation,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
        }


def _three_shapes(input_shape: Any) -> Any:
    """Gives the shapes of words, channels and rows, None for what there is not; words of () are no shape."""
    nested = bool(input_shape) and isinstance(input_shape[0], list | tuple)
    words, *others = map(tuple, input_shape if nested else [input_shape])
    if len(others) > 2:
        return (), None, None
    return words, *others, *[None] * (2 - len(others))


def _fit(words: Shape, channels: Shape, rows: Shape | None) -> bool:
    """Tells whether words, channels and rows have dimensions that belong together."""
    if len(words) < 3 or len(channels) != len(words) or None in (words[-1], channels[-1]):
        return False
    # With rows the channels' first axis is that of the rows and not of the words.
    if rows is not None:
        same = len(words) == 3 and len(rows) == 1
        return same and _agree(words[1], channels[1]) and _agree(rows[0], channels[0])
    return all(map(_agree, words[:-1], channels[:-1]))


def _agree(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def _convolve(x: Any, kernel: Any) -> Any:
    """Convolves along the last but one axis, whatever stands before it."""
    if len(x.shape) == 3:
        return ops.conv(x, kernel, padding="same")
    shape = ops.shape(x)
    rows = ops.reshape(x, (-1, *shape[-2:]))
    return ops.reshape(ops.conv(rows, kernel, padding="same"), (*shape[:-1], kernel.shape[-1]))
