"""What the layers over the word sequences of a question and its answers have in common."""

from typing import Any

import keras
from keras import ops

Shape = tuple[int | None, ...]


class TextPairLayer(keras.layers.Layer):
    """Base class of the layers that compare each word of a question with each word of an answer.

    Inputs are a pair `[question, answer]` of the shapes `(..., question length, n)` and
    `(..., answer length, n)`, masks a pair of the shapes without the last axis. The leading dimensions
    broadcast, and a question with one dimension fewer than the answer gets an axis of size 1 before its
    length: one question `(batch, question length, n)`, or `(batch, 1, question length, n)`, stands against
    `candidates` answers `(batch, candidates, answer length, n)` without being repeated in memory. See
    `WordRelatedness` and `SoftAlignment`.

    Example:
    >>> TextPairLayer().compute_mask([None, None]) == [None, None]
    True

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: list[Shape]) -> None:
        """Checks the shapes; there are no weights.

        Args:
            input_shape: Pair of shapes.

        Raises:
            ValueError: If the two do not fit together.
        """
        self._pair_shapes(input_shape)
        self.built = True

    def compute_mask(self, inputs: list[Any], mask: Any = None) -> list[Any]:
        """Hands the masks on, the question's with an axis of size 1 where the question broadcasts.

        Args:
            inputs: Pair of tensors.
            mask: Pair of boolean tensors, each perhaps `None`, or `None`.

        Returns:
            List of the question's and the answer's mask, each perhaps `None`.
        """
        question_mask, answer_mask = mask or (None, None)
        if question_mask is not None and len(inputs[0].shape) < len(inputs[1].shape):
            question_mask = ops.expand_dims(question_mask, axis=-2)
        return [question_mask, answer_mask]

    def _pair_shapes(self, input_shape: list[Shape]) -> tuple[Shape, Shape]:
        """Gives both shapes with the leading dimensions that the result has."""
        question, answer = (tuple(shape) for shape in input_shape) if len(input_shape) == 2 else ((), ())
        if len(question) == len(answer) - 1:
            question = (*question[:-2], 1, *question[-2:])
        pairs = list(zip(question[:-2], answer[:-2], strict=False))
        if (
            min(len(question), 3) < 3
            or len(question) != len(answer)
            or any(None not in pair and 1 not in pair and len(set(pair)) > 1 for pair in pairs)
            or len({question[-1], answer[-1]} - {None}) > 1
        ):
            raise ValueError(
                f"{type(self).__name__} takes a question of shape (..., question length, n) and an answer of "
                "shape (..., answer length, n) whose leading dimensions broadcast. "
                f"Received: input_shape={input_shape}"
            )
        # A known size other than 1 is that of the result; None goes before 1, which it may turn out to be.
        leading = tuple(max(pair, key=lambda size: 1.5 if size is None else size) for pair in pairs)
        return (*leading, *question[-2:]), (*leading, *answer[-2:])

    def _real_words(self, inputs: list[Any], mask: Any) -> tuple[Any, Any, Any, Any]:
        """Gives question, answer and their masks `(..., length)`, of equal ranks and zero at masked words."""
        masks = list(mask) if mask is not None else [None, None]
        texts = list(inputs)
        for i, name in enumerate(("question", "answer")):
            if masks[i] is None:
                masks[i] = ops.ones_like(texts[i][..., 0], dtype="bool")
            elif len(masks[i].shape) != len(texts[i].shape) - 1:
                raise ValueError(
                    f"The {name}'s mask must have the shape of the {name} without the last axis. "
                    f"Received: inputs.shape={tuple(texts[i].shape)}, mask.shape={tuple(masks[i].shape)}"
                )
            masks[i] = ops.cast(masks[i], "bool")
            # A choice and not a product with the mask: 0 * NaN would be NaN.
            texts[i] = ops.where(ops.expand_dims(masks[i], axis=-1), texts[i], 0.0)
        if len(texts[0].shape) < len(texts[1].shape):
            texts[0], masks[0] = ops.expand_dims(texts[0], axis=-3), ops.expand_dims(masks[0], axis=-2)
        return texts[0], texts[1], masks[0], masks[1]
