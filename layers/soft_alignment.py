"""Each word's counterpart in the other text, by dot-product attention."""

from typing import Any

import keras
from keras import ops

from .common import Shape, TextPairLayer, masked_softmax


@keras.saving.register_keras_serializable(package="answer_ranking")
class SoftAlignment(TextPairLayer):
    """Weighted mean of the other text's words for each word, by dot-product attention both ways.

    The attention of [A Compare-Aggregate Model for Matching Text
    Sequences](https://arxiv.org/abs/1611.01747) without its bilinear weights, for both texts: with
    `e_ij = q_i . a_j`,

    ```
    aligned q_i = sum_j softmax_j(e_ij) a_j,   aligned a_j = sum_i softmax_i(e_ij) q_i
    ```

    The layer has no weights. It takes the pair `[question, answer]` and returns the pair of what stands
    opposite their words, of the same shapes. One question may stand against many answers: leading dimensions
    broadcast, and a question `(batch, question length, n)` goes with answers
    `(batch, candidates, answer length, n)`; both results then have the leading dimensions
    `(batch, candidates)`.

    With a `threshold`, weights that are not above it count nothing, and the others are divided by their sum:
    the k-threshold of [A Compare-Aggregate Model with Dynamic-Clip
    Attention](https://doi.org/10.1145/3132847.3133089). Where no weight is above it, the result is zero.

    With masks, only real words are attended to; the result is zero at masked words, and where the other text
    has no real word. The attention is computed in float32 under mixed precision.

    Example:
    >>> import numpy as np
    >>> question = np.array([[[2.0, 0.0]]], dtype="float32")
    >>> answer = np.array([[[0.0, 1.0], [0.0, 3.0]]], dtype="float32")
    >>> aligned_question, aligned_answer = SoftAlignment()([question, answer])
    >>> [float(x) for x in aligned_question[0, 0]], [float(x) for x in aligned_answer[0, 1]]
    ([0.0, 2.0], [2.0, 0.0])

    Args:
        threshold: float in [0, 1). The largest weight that counts nothing. Defaults to 0, which keeps all.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `threshold` is out of range.
    """

    def __init__(self, threshold: float = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        if not 0 <= threshold < 1:
            raise ValueError(f"`threshold` must be in [0, 1). Received: threshold={threshold}")
        self.threshold = threshold

    def call(self, inputs: list[Any], mask: Any = None) -> list[Any]:
        question, answer, real_question, real_answer = self._real_words(inputs, mask)
        dtype = keras.backend.result_type(question.dtype, "float32")
        question, answer = ops.cast(question, dtype), ops.cast(answer, dtype)
        rows, columns = ops.expand_dims(real_question, axis=-1), ops.expand_dims(real_answer, axis=-2)
        real = ops.logical_and(rows, columns)
        energies = ops.matmul(question, ops.swapaxes(answer, -1, -2))
        of_answer, of_question = self._attention(energies, real, -1), self._attention(energies, real, -2)
        return [
            ops.cast(ops.matmul(of_answer, answer), self.compute_dtype),
            ops.cast(ops.matmul(ops.swapaxes(of_question, -1, -2), question), self.compute_dtype),
        ]

    def _attention(self, energies: Any, real: Any, axis: int) -> Any:
        """Normalises along an axis, in the end over the weights above the threshold alone."""
        weights = masked_softmax(energies, real, axis)
        if self.threshold == 0:
            return weights
        # Not `>`: what is NaN is to stay so.
        above = ops.logical_not(ops.less_equal(weights, self.threshold))
        return masked_softmax(energies, ops.logical_and(real, above), axis)

    def compute_output_shape(self, input_shape: list[Shape]) -> list[Shape]:
        return list(self._pair_shapes(input_shape))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "threshold": self.threshold}
