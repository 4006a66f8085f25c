"""Two-way attentive pooling of a question and an answer."""

from typing import Any

import keras
from keras import ops

from .common import (
    Shape,
    broadcast_leading,
    check_same_rank,
    is_pair_of_shapes,
    masked_softmax,
    max_or_initial,
    real_steps_of_pair,
    zero_padding,
)


@keras.saving.register_keras_serializable(package="answer_ranking")
class AttentivePooling(keras.layers.Layer):
    """Pooling of two texts, each by attention weights that depend on the other.

    [Attentive Pooling Networks](https://arxiv.org/abs/1602.03609), Eq. 13 to 18, for the states Q of a
    question and A of an answer (columns are steps):

    ```
    G = tanh(Q^T U A)                                 soft alignment of every pair of steps
    g^q_j = max_m G_jm,     g^a_l = max_m G_ml        importance of each step
    sigma^q = softmax(g^q), sigma^a = softmax(g^a)    attention
    r^q = Q sigma^q,        r^a = A sigma^a           pooled texts
    ```

    The layer takes the pair `[question, answer]` of shapes `(..., steps, features)`; steps and features of
    the two may differ. It returns the list `[r^q, r^a]` of shapes `(..., features)`; with `return_attention`
    also `sigma^q` `(..., question steps)`, `sigma^a` `(..., answer steps)` and `G`
    `(..., question steps, answer steps)`. `U`, of shape `(question features, answer features)`, is its one
    weight. Leading dimensions broadcast: a question of shape `(batch, 1, steps, features)` meets answers of
    shape `(batch, candidates, steps, features)`.

    Masks are a pair of shapes `(..., steps)`, true at the real steps, each perhaps `None`. Masked steps,
    whatever they hold, never win a maximum and get no attention. A text without real steps gives the zero
    vector and no attention, and its partner the mean of its steps. The importance, the attention and the
    weighted sums are computed in float32 under half precision. The call argument `projected_question` takes
    what `project` returned for the question, so that `Q^T U` is computed once for many answers.

    Example:
    >>> import numpy as np
    >>> question = np.ones((2, 1, 5, 4), dtype="float32")
    >>> answers = np.ones((2, 7, 9, 4), dtype="float32")
    >>> pooled_question, pooled_answer = AttentivePooling()([question, answers])
    >>> tuple(pooled_question.shape), tuple(pooled_answer.shape)
    ((2, 7, 4), (2, 7, 4))

    Args:
        return_attention: bool. Whether to return also the question's and the answer's attention and `G`.
            Defaults to `False`.
        kernel_initializer: Initializer of `U`. Defaults to `"glorot_uniform"`.
        kernel_regularizer: Regularizer of `U`. Defaults to `None`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(
        self,
        return_attention: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.return_attention = return_attention
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def build(self, input_shape: list[Shape]) -> None:
        self.compute_output_shape(input_shape)
        features = input_shape[0][-1], input_shape[1][-1]
        if None in features:
            raise ValueError(f"The number of features must be known. Received: input_shape={input_shape}")
        self.kernel = self.add_weight(
            name="kernel",
            shape=features,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
        )

    def project(self, question: Any) -> Any:
        """Returns `Q^T U` `(..., steps, answer features)`, for the call argument `projected_question`."""
        return ops.matmul(question, self.kernel)

    def call(self, inputs: list[Any], mask: Any = None, projected_question: Any = None) -> list[Any]:
        real_question, real_answer = real_steps_of_pair(inputs, mask)
        question, answer = zero_padding(inputs[0], real_question), zero_padding(inputs[1], real_answer)
        if projected_question is None:
            projected_question = self.project(question)
        else:
            projected_question = zero_padding(projected_question, real_question)
        alignment = ops.tanh(ops.matmul(projected_question, ops.swapaxes(answer, -1, -2)))
        dtype = keras.backend.result_type(alignment.dtype, "float32")
        # A tanh is never below -1, so that -2 wins over no real step.
        real_pairs = ops.logical_and(real_question[..., :, None], real_answer[..., None, :])
        importance = ops.where(real_pairs, ops.cast(alignment, dtype), -2.0)
        question_attention = masked_softmax(max_or_initial(importance, -1, -2.0), real_question)
        answer_attention = masked_softmax(max_or_initial(importance, -2, -2.0), real_answer)
        results = [
            _weighted_sum(question, question_attention),
            _weighted_sum(answer, answer_attention),
        ]
        if self.return_attention:
            results += [question_attention, answer_attention, alignment]
        return [ops.cast(result, self.compute_dtype) for result in results]

    def compute_output_shape(self, input_shape: list[Shape]) -> list[Shape]:
        if not is_pair_of_shapes(input_shape, least_rank=2):
            raise ValueError(
                "AttentivePooling takes a pair [question, answer] of shapes (..., steps, features). "
                f"Received: input_shape={input_shape}"
            )
        check_same_rank(self, input_shape)
        question, answer = input_shape
        leading = broadcast_leading(input_shape, trailing=2)
        shapes = [(*leading, question[-1]), (*leading, answer[-1])]
        if self.return_attention:
            steps = question[-2], answer[-2]
            shapes += [(*leading, steps[0]), (*leading, steps[1]), (*leading, *steps)]
        return shapes

    def compute_mask(self, inputs: list[Any], mask: Any = None) -> list[None]:
        return [None] * (5 if self.return_attention else 2)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "return_attention": self.return_attention,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }


def _weighted_sum(text: Any, attention: Any) -> Any:
    """Gives the sum over the steps of `(..., steps, features)` weighted by `(..., steps)`."""
    return ops.matmul(attention[..., None, :], ops.cast(text, attention.dtype))[..., 0, :]
