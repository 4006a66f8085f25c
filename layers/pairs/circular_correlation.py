"""Holographic composition of two vectors."""

from typing import Any

import keras
from keras import ops

from ..common import Shape, VectorPairLayer, broadcast_leading, is_pair_of_shapes, refuse_ragged


@keras.saving.register_keras_serializable(package="answer_ranking")
class CircularCorrelation(VectorPairLayer):
    """Circular correlation of question and answer vectors.

    The holographic composition of [Learning to Rank Question Answer Pairs with Holographic Dual LSTM
    Architecture](https://arxiv.org/abs/1707.06372):

    ```
    [q * a]_k = sum_i q_i a_((k + i) mod d)
    ```

    computed by the fast Fourier transform, in d log d steps. The layer has no weights. It takes the pair
    `[question, answer]` of shapes `(..., d)`, whose leading dimensions broadcast, and returns the shape
    `(..., d)`, in float32 under every dtype policy but float64's.

    Example:
    >>> import numpy as np
    >>> question, answer = np.array([[0.0, 1.0, 0.0]]), np.array([[1.0, 2.0, 3.0]])
    >>> [round(float(x), 5) for x in CircularCorrelation()([question, answer])[0]]
    [2.0, 3.0, 1.0]

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def call(self, inputs: list[Any]) -> Any:
        refuse_ragged(*inputs)
        dtype = keras.backend.result_type(inputs[0].dtype, inputs[1].dtype, "float32")
        question, answer = (ops.rfft(ops.cast(x, dtype)) for x in inputs)
        # The conjugate of the question's transform times the answer's.
        real = question[0] * answer[0] + question[1] * answer[1]
        imaginary = question[0] * answer[1] - question[1] * answer[0]
        return ops.irfft((real, imaginary), fft_length=inputs[0].shape[-1])

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        fit = is_pair_of_shapes(input_shape, least_rank=1) and len(input_shape[0]) == len(input_shape[1])
        sizes = {shape[-1] for shape in input_shape} if fit else set()
        if len(sizes) != 1 or None in sizes:
            raise ValueError(
                "CircularCorrelation takes a pair [question, answer] of vectors of the same known size. "
                f"Received: input_shape={input_shape}"
            )
        return (*broadcast_leading(input_shape, trailing=1), input_shape[0][-1])
