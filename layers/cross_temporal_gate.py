"""The crossing of gates between question and answer."""

from typing import Any

import keras
from keras import ops

from .common import Shape, are_texts, check_option, first_mask, pair_of_masks, real_steps, refuse_ragged
from .recurrent_pooling import METHODS, recurrent_pooling

ALIGNMENTS = ("index", "scaled")

_ONE_MORE_STEP = ((0, 0), (0, 1), (0, 0))


@keras.saving.register_keras_serializable(package="answer_ranking")
class CrossTemporalGate(keras.layers.Layer):
    """Light-weight temporal crossing of a question and an answer.

    [Cross Temporal Recurrent Networks for Ranking Question Answer Pairs](https://arxiv.org/abs/1711.07656)
    pools the candidates `z` of each text twice by fo-pooling, once with its own gates and once with the gates
    of its partner (here for the question; likewise for the answer):

    ```
    c_t  = f^q_t  * c_{t-1}  + (1 - f^q_t)  * z^q_t,   h_t  = o^q_t  * c_t
    c+_t = f^a_t* * c+_{t-1} + (1 - f^a_t*) * z^q_t,   h+_t = o^a_t* * c+_t
    H_t  = h_t * h+_t
    ```

    The layer has no weights. It takes the pair `[[z, f, o] of the question, [z, f, o] of the answer]` of
    `QuasiRecurrentGates`, each tensor of shape `(batch, time, features)`, and returns the pair of `H`, of the
    shapes of the two `z`. Steps count from 1. The aligned step `t*` is `t`
    (`"index"`) or, as the paper prints it, `t * ceil(max(|q|, |a|) / min(|q|, |a|))` (`"scaled"`), both cut
    to the partner's last real step. With masks, which must be false only after the last real step, `|q|` and
    `|a|` count the real steps, the result is zero at masked steps, and padding changes nothing; opposite an
    empty partner it is zero.

    Example:
    >>> import numpy as np
    >>> question = [np.full((1, 2, 1), value, dtype="float32") for value in (1.0, 0.5, 1.0)]
    >>> answer = [np.full((1, 3, 1), value, dtype="float32") for value in (1.0, 0.0, 1.0)]
    >>> crossed_question, crossed_answer = CrossTemporalGate()([question, answer])
    >>> [float(step) for step in crossed_question[0, :, 0]]
    [0.5, 0.75]

    Args:
        alignment: str. `"index"` or `"scaled"`. Defaults to `"index"`.
        method: str. `"auto"`, `"unrolled"`, `"blocked"` or `"doubling"`; see `linear_recurrence`.
            Defaults to `"auto"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `alignment` or `method` is unknown.
    """

    def __init__(self, alignment: str = "index", method: str = "auto", **kwargs: Any):
        super().__init__(**kwargs)
        check_option("alignment", alignment, ALIGNMENTS)
        check_option("method", method, METHODS)
        self.alignment = alignment
        self.method = method

    def build(self, input_shape: list[list[Shape]]) -> None:
        self.compute_output_shape(input_shape)

    def call(self, inputs: list[list[Any]], mask: Any = None) -> list[Any]:
        question, answer = inputs
        refuse_ragged(*question, *answer)
        question_mask, answer_mask = self.compute_mask(inputs, mask)
        question_length = _lengths(question[0], question_mask)
        answer_length = _lengths(answer[0], answer_mask)
        return [
            self._cross(question, question_mask, question_length, answer, answer_length),
            self._cross(answer, answer_mask, answer_length, question, question_length),
        ]

    def _cross(self, text: list[Any], mask: Any, length: Any, partner: list[Any], partner_length: Any) -> Any:
        candidate, forget, output = text
        _, partner_forget, partner_output = partner
        align = _align_by_index if self.alignment == "index" else _align_scaled
        crossed_forget = align(partner_forget, candidate, length, partner_length)
        crossed_output = align(partner_output, candidate, length, partner_length)
        # Both passes are one recurrence over twice the features.
        both = recurrent_pooling(
            ops.concatenate([candidate, candidate], axis=-1),
            ops.concatenate([forget, crossed_forget], axis=-1),
            ops.concatenate([output, crossed_output], axis=-1),
            mask=mask,
            method=self.method,
        )
        own, crossed = ops.split(both, 2, axis=-1)
        return own * crossed

    def compute_output_shape(self, input_shape: list[list[Shape]]) -> list[Shape]:
        fits = list(map(len, input_shape)) == [3, 3] and are_texts([*input_shape[0], *input_shape[1]])
        if not fits or not all(are_texts(text, same_length=True) for text in input_shape):
            raise ValueError(
                "CrossTemporalGate takes a pair of lists [candidate, forget, output] of tensors of shape "
                "(batch, time, features), of the same time in a list and the same features in both. "
                f"Received: input_shape={input_shape}"
            )
        return [tuple(input_shape[0][0]), tuple(input_shape[1][0])]

    def compute_mask(self, inputs: list[list[Any]], mask: Any = None) -> list[Any]:
        return list(map(first_mask, pair_of_masks(mask)))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alignment": self.alignment, "method": self.method}


def _lengths(candidate: Any, mask: Any) -> Any:
    """Counts the real steps of each text, shape `(batch, 1, 1)`."""
    steps = ops.ones_like(candidate[..., :1], dtype="int32")
    if mask is not None:
        steps = steps * ops.expand_dims(ops.cast(real_steps(candidate, mask), "int32"), axis=-1)
    return ops.sum(steps, axis=1, keepdims=True)


def _steps(x: Any) -> Any:
    """Numbers the steps from 0, shape `(1, time, 1)`."""
    return ops.reshape(ops.arange(ops.shape(x)[1], dtype="int32"), (1, -1, 1))


def _align_by_index(gate: Any, candidate: Any, length: Any, gate_length: Any) -> Any:
    """Gives the partner's gate of each step of the candidate, its last real one where it has ended.

    No step of an empty partner is its last, so its gates are zero.
    """
    last = ops.sum(ops.where(_steps(gate) == gate_length - 1, gate, 0.0), axis=1, keepdims=True)
    gate = ops.concatenate([gate, ops.zeros_like(candidate)], axis=1)[:, : ops.shape(candidate)[1]]
    return ops.where(_steps(candidate) < gate_length, gate, last)


def _align_scaled(gate: Any, candidate: Any, length: Any, gate_length: Any) -> Any:
    """Gives the partner's gate at `t * ceil(longer / shorter)`, its last real one where that is past it."""
    shorter = ops.maximum(ops.minimum(length, gate_length), 1)
    factor = (ops.maximum(length, gate_length) + shorter - 1) // shorter
    # One step more on both sides, cut off again, since nothing can be taken from or for a text without steps.
    steps = _steps(ops.pad(candidate[..., :1], _ONE_MORE_STEP))
    aligned = ops.minimum((steps + 1) * factor, gate_length) - 1
    gate = ops.take_along_axis(ops.pad(gate, _ONE_MORE_STEP), ops.maximum(aligned, 0), axis=1)[:, :-1]
    return ops.where(gate_length > 0, gate, 0.0)
