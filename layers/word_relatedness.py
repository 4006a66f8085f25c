"""How near each word is to the nearest word of the other text."""

from typing import Any

import keras
from keras import ops

from .common import Shape, TextPairLayer, masked_max, unit_vectors


@keras.saving.register_keras_serializable(package="answer_ranking")
class WordRelatedness(TextPairLayer):
    """Highest cosine of each word with a word of the other text, as one more channel.

    [A Study on Efficiency, Accuracy and Document Structure for Answer Sentence
    Selection](https://aclanthology.org/2020.coling-main.457), Eq. 1: with `r_ij` the cosine of the question's
    word `i` and the answer's word `j`,

    ```
    r_i = max_j r_ij,   r_j = max_i r_ij
    ```

    and the words become `[w_i; r_i]` and `[w_j; r_j]`. The layer has no weights. It takes the pair
    `[question, answer]` and returns the pair of both with the channel, `(..., length, n + 1)`, or of the
    channels alone, `(..., length, 1)`. One question may stand against many answers: leading dimensions
    broadcast, and a question `(batch, question length, n)` goes with answers
    `(batch, candidates, answer length, n)`. Since the channel of the question depends on the candidate, both
    results then have the shape `(batch, candidates, length, ...)`; the channels alone spare repeating the
    question's words.

    With masks, only real words count, and the channel is zero at masked ones; it is zero, too, where the
    other text has no real word. The cosine with a zero vector (a word without a vector) is 0. Such a word
    is a real word all the same: the maximum over the cosines -0.3 and 0 is 0. Cosines are computed in
    float32 under mixed precision.

    The paper's embeddings are frozen, and the layer passes no gradient through the cosines
    (`stop_gradient=True`), which spares their backward pass; the words in the result carry theirs anyway.
    With `stop_gradient=False` the cosines are differentiable, with gradient 0 at zero vectors.

    Example:
    >>> import numpy as np
    >>> question = np.array([[[1.0, 0.0], [0.0, 2.0]]], dtype="float32")
    >>> answer = np.array([[[0.0, 1.0], [3.0, 4.0], [0.0, 0.0]]], dtype="float32")
    >>> channels = WordRelatedness(concatenate=False)([question, answer])
    >>> [[round(float(word), 3) for word in text[0, :, 0]] for text in channels]
    [[0.6, 1.0], [1.0, 0.8, 0.0]]

    Args:
        concatenate: bool. Whether to return the words with the channel, or the channels alone. Defaults to
            `True`.
        stop_gradient: bool. Whether gradients stop at the cosines. Defaults to `True`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, concatenate: bool = True, stop_gradient: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        self.concatenate = concatenate
        self.stop_gradient = stop_gradient

    def call(self, inputs: list[Any], mask: Any = None) -> list[Any]:
        question, answer, real_question, real_answer = self._real_words(inputs, mask)
        question_units, answer_units = unit_vectors(question), unit_vectors(answer)
        if self.stop_gradient:
            question_units, answer_units = map(ops.stop_gradient, (question_units, answer_units))
        cosines = ops.matmul(question_units, ops.swapaxes(answer_units, -1, -2))
        rows, columns = ops.expand_dims(real_question, axis=-1), ops.expand_dims(real_answer, axis=-2)
        of_question = ops.where(rows, masked_max(cosines, columns, -1, keepdims=True), 0.0)
        of_answer = ops.where(columns, masked_max(cosines, rows, -2, keepdims=True), 0.0)
        of_question = ops.cast(of_question, self.compute_dtype)
        of_answer = ops.cast(ops.swapaxes(of_answer, -1, -2), self.compute_dtype)
        if not self.concatenate:
            return [of_question, of_answer]
        return [_with_channel(question, of_question), _with_channel(answer, of_answer)]

    def compute_output_shape(self, input_shape: list[Shape]) -> list[Shape]:
        shapes = []
        for shape in self._pair_shapes(input_shape):
            features = shape[-1] if self.concatenate else 0
            shapes.append((*shape[:-1], None if features is None else features + 1))
        return shapes

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "concatenate": self.concatenate,
            "stop_gradient": self.stop_gradient,
        }


def _with_channel(text: Any, channel: Any) -> Any:
    """Appends a channel to the words of a text, which is repeated over the channel's leading dimensions."""
    shape = [*ops.shape(channel)[:-1], ops.shape(text)[-1]]
    return ops.concatenate([ops.broadcast_to(text, shape), channel], axis=-1)
