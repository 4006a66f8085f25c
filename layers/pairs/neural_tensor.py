"""The neural tensor of two vectors."""

from typing import Any

import keras
from keras import ops

from ..common import Shape


@keras.saving.register_keras_serializable(package="answer_ranking")
class NeuralTensor(keras.layers.Layer):
    """Several bilinear forms of question and answer vectors, beside a linear one.

    [Convolutional Neural Tensor Network Architecture for Community-Based Question
    Answering](https://www.ijcai.org/Proceedings/15/Papers/188.pdf), Section 3.2, after [Reasoning With Neural
    Tensor Networks](https://papers.nips.cc/paper/5028):

    ```
    f(q^T M^[1:r] a + V [q; a] + b)
    ```

    The layer takes the pair `[question, answer]` of shapes `(batch, m)` and `(batch, n)` and returns
    `(batch, r)`. Its weights are `M` `(m, r n)`, of which columns `k n` to `(k + 1) n` are slice k, `V`
    `(m + n, r)` and `b`.

    Example:
    >>> import numpy as np
    >>> pair = [np.ones((2, 3), "float32"), np.ones((2, 5), "float32")]
    >>> layer = NeuralTensor(4)
    >>> tuple(layer(pair).shape), layer.count_params() == 4 * 3 * 5 + 4 * (3 + 5) + 4
    ((2, 4), True)

    Args:
        slices: int. r, the number of bilinear forms.
        activation: Activation `f`. Defaults to `"tanh"`.
        tensor_initializer: Initializer of `M`. Defaults to `"glorot_uniform"`.
        linear_initializer: Initializer of `V`. Defaults to `"glorot_uniform"`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(
        self,
        slices: int,
        activation: Any = "tanh",
        tensor_initializer: Any = "glorot_uniform",
        linear_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if slices < 1:
            raise ValueError(f"`slices` must be at least 1. Received: slices={slices}")
        self.slices = slices
        self.activation = keras.activations.get(activation)
        self.tensor_initializer = keras.initializers.get(tensor_initializer)
        self.linear_initializer = keras.initializers.get(linear_initializer)

    def build(self, input_shape: list[Shape]) -> None:
        self.compute_output_shape(input_shape)
        sizes: list[Any] = [shape[-1] for shape in input_shape]
        (m, n), r = sizes, self.slices
        self.tensor = self.add_weight(shape=(m, r * n), initializer=self.tensor_initializer, name="tensor")
        self.linear = self.add_weight(shape=(m + n, r), initializer=self.linear_initializer, name="linear")
        self.bias = self.add_weight(shape=(self.slices,), initializer="zeros", name="bias")

    def call(self, inputs: list[Any]) -> Any:
        question, answer = inputs
        forms = ops.reshape(ops.matmul(question, self.tensor), (-1, self.slices, answer.shape[-1]))
        bilinear = ops.sum(forms * ops.expand_dims(answer, 1), axis=-1)
        linear = ops.matmul(ops.concatenate(inputs, axis=-1), self.linear)
        return self.activation(bilinear + linear + ops.cast(self.bias, self.compute_dtype))

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        shapes = [tuple(shape) for shape in input_shape] if len(input_shape) == 2 else []
        if not shapes or any(len(shape) != 2 or shape[-1] is None for shape in shapes):
            raise ValueError(
                "NeuralTensor takes a pair [question, answer] of shapes (batch, m) and (batch, n). "
                f"Received: input_shape={input_shape}"
            )
        return (shapes[0][0], self.slices)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "slices": self.slices,
            "activation": keras.activations.serialize(self.activation),
            "tensor_initializer": keras.initializers.serialize(self.tensor_initializer),
            "linear_initializer": keras.initializers.serialize(self.linear_initializer),
        }
