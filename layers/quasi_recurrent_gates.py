"""The convolutions of quasi-recurrent networks."""

from typing import Any

import keras
from keras import ops

from .common import Shape, check_option, real_steps, refuse_ragged, zero_padding
from .pooling_cell import POOLINGS

_NAMES = ("candidate", "forget", "output", "input")


@keras.saving.register_keras_serializable(package="answer_ranking")
class QuasiRecurrentGates(keras.layers.Layer):
    """Candidates and gates by causal convolutions over a text.

    Eq. 1 of [Cross Temporal Recurrent Networks for Ranking Question Answer
    Pairs](https://arxiv.org/abs/1711.07656), after [Quasi-Recurrent Neural
    Networks](https://arxiv.org/abs/1611.01576):

    ```
    Z = tanh(W_z * X),  F = sigmoid(W_f * X),  O = sigmoid(W_o * X)
    ```

    where `*` is a convolution over time whose window of `kernel_size` steps ends at the current step; before
    the first step it sees zeros. Takes a tensor of shape `(batch, time, features)` and returns a list of
    tensors of shape `(batch, time, filters)`: `[Z, F, O]` for fo-pooling, `[Z, F]` for f-pooling and
    `[Z, F, O, I]` for ifo-pooling. Masked steps enter the windows of later ones as zeros, and each result
    carries the mask. Without biases there are `3 * kernel_size * features * filters` parameters for
    fo-pooling.

    Example:
    >>> import numpy as np
    >>> words = np.ones((8, 20, 50), dtype="float32")
    >>> candidate, forget, output = QuasiRecurrentGates(16)(words)
    >>> tuple(candidate.shape)
    (8, 20, 16)

    Args:
        filters: int. Number of features of the results.
        kernel_size: int. Steps in the window. Defaults to 2.
        pooling: str. `"f"`, `"fo"` or `"ifo"`: the pooling that the gates are for. Defaults to `"fo"`.
        use_bias: bool. Whether each convolution has a bias. Defaults to `False`.
        kernel_initializer: Initializer of the kernels. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of the biases. Defaults to `"zeros"`.
        kernel_regularizer: Regularizer of the kernels. Defaults to `None`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `pooling` is unknown, or `filters` or `kernel_size` is not positive.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int = 2,
        pooling: str = "fo",
        use_bias: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_option("pooling", pooling, tuple(POOLINGS))
        if filters < 1 or kernel_size < 1:
            raise ValueError(
                "`filters` and `kernel_size` must be positive. "
                f"Received: filters={filters}, kernel_size={kernel_size}"
            )
        self.filters = filters
        self.kernel_size = kernel_size
        self.pooling = pooling
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def build(self, input_shape: Shape) -> None:
        self.compute_output_shape(input_shape)
        if input_shape[-1] is None:
            raise ValueError(f"The number of features must be known. Received: input_shape={input_shape}")
        names = _NAMES[: POOLINGS[self.pooling]]
        self.kernels, self.biases = [], []
        for number, name in enumerate(names):
            kernel = self.add_weight(
                name=f"{name}_kernel",
                shape=(self.kernel_size, input_shape[-1], self.filters),
                initializer=_numbered(self.kernel_initializer, number),
                regularizer=self.kernel_regularizer,
            )
            self.kernels.append(kernel)
        for name in names if self.use_bias else ():
            bias = self.add_weight(
                name=f"{name}_bias", shape=(self.filters,), initializer=self.bias_initializer
            )
            self.biases.append(bias)

    def call(self, inputs: Any, mask: Any = None) -> list[Any]:
        refuse_ragged(inputs)
        if mask is not None:
            inputs = zero_padding(inputs, real_steps(inputs, mask))
        # The windows side by side make each convolution one matrix product.
        padded = ops.pad(inputs, ((0, 0), (self.kernel_size - 1, 0), (0, 0)))
        length = ops.shape(inputs)[1]
        windows = [padded[:, start : start + length] for start in range(self.kernel_size)]
        return self.gates_of_windows(ops.concatenate(windows, axis=-1))

    def gates_of_windows(self, windows: Any) -> list[Any]:
        """Computes candidates and gates from the concatenated words of each window.

        Takes shape `(..., kernel_size * features)` and returns two to four tensors `(..., filters)`.
        """
        # As a matrix: the gradient of a product of three dimensions would hold one kernel per text.
        rows = ops.reshape(windows, (-1, windows.shape[-1]))
        shape = (*ops.shape(windows)[:-1], self.filters)
        results = []
        for number, kernel in enumerate(self.kernels):
            result = ops.matmul(rows, ops.reshape(kernel, (-1, self.filters)))
            if self.use_bias:
                result = result + self.biases[number]
            activation = ops.sigmoid if number else ops.tanh
            results.append(activation(ops.reshape(result, shape)))
        return results

    def compute_output_shape(self, input_shape: Shape) -> list[Shape]:
        if len(input_shape) != 3:
            raise ValueError(
                "QuasiRecurrentGates takes inputs of shape (batch, time, features). "
                f"Received: input_shape={input_shape}"
            )
        return [(*input_shape[:2], self.filters)] * POOLINGS[self.pooling]

    def compute_mask(self, inputs: Any, mask: Any = None) -> list[Any]:
        return [mask] * POOLINGS[self.pooling]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "pooling": self.pooling,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }


def _numbered(initializer: Any, number: int) -> Any:
    """Copies an initializer; the same object, or the same seed, would give every kernel the same values.

    One with a `SeedGenerator` draws other values each time, and a copy would begin where it began.
    """
    if not isinstance(initializer, keras.initializers.Initializer):
        return initializer
    config = initializer.get_config()
    if isinstance(config.get("seed"), dict):
        return initializer
    if isinstance(config.get("seed"), int):
        config["seed"] += number
    return type(initializer).from_config(config)
