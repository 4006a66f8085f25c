"""Checks, shapes and small operations that several layers share, and the table of word vectors."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

Shape = tuple[int | None, ...]


def check_option(name: str, value: str, options: tuple[str, ...]) -> None:
    """Raises ValueError if the argument `name` has a value that is not among the options."""
    if value not in options:
        raise ValueError(f"`{name}` must be one of {options}. Received: {name}={value!r}")


def broadcast_leading(input_shape: Sequence[Shape], trailing: int) -> Shape:
    """Broadcasts a pair of shapes without their last `trailing` dimensions.

    The result is `None` where a size depends on unknown ones. Raises ValueError if they do not broadcast.
    """
    leading = [tuple(shape[:-trailing]) for shape in input_shape]
    rank = max(map(len, leading))
    output_shape = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in leading), strict=True):
        known = set(sizes) - {1, None}
        if len(known) > 1:
            raise ValueError(
                "The leading dimensions of question and answer do not broadcast. "
                f"Received: input_shape={input_shape}"
            )
        output_shape.append(known.pop() if known else None if None in sizes else 1)
    return tuple(output_shape)


def first_mask(mask: Any) -> Any:
    """Returns the first mask of a list that is not `None`, or `None`."""
    return next((part for part in keras.tree.flatten(mask) if part is not None), None)


def real_steps(text: Any, mask: Any) -> Any:
    """Returns the mask of a text `(..., time, features)` as booleans `(..., time)`, all true for `None`.

    Raises ValueError if the mask has another number of dimensions or another length, or the text is ragged.
    Its other dimensions may be 1.
    """
    refuse_ragged(text)
    everything = ops.ones_like(text[..., 0], dtype="bool")
    if mask is None:
        return everything
    sizes, of_mask = tuple(text.shape[:-1]), tuple(mask.shape)
    fits = len(sizes) == len(of_mask) and all(
        None in pair or pair[0] == pair[1] or (pair[1] == 1 and axis < len(sizes) - 1)
        for axis, pair in enumerate(zip(sizes, of_mask, strict=True))
    )
    if not fits:
        raise ValueError(
            "A mask must have the shape of its text without the last axis. "
            f"Received: text.shape={tuple(text.shape)}, mask.shape={of_mask}"
        )
    mask = ops.cast(mask, "bool")
    # A mask that is repeated would else be counted once.
    return mask if sizes == of_mask and None not in sizes else ops.logical_and(mask, everything)


def refuse_ragged(*tensors: Any) -> None:
    """Raises ValueError for a ragged tensor of TensorFlow, whose texts have no common length."""
    for tensor in tensors:
        if type(tensor).__name__ == "RaggedTensor":
            raise ValueError(
                "Ragged tensors are not supported: pad them with `to_tensor()`, and give the mask of the "
                f"real steps. Received: a RaggedTensor of shape {tuple(tensor.shape)}"
            )


def max_or_initial(x: Any, axis: int, initial: float, keepdims: bool = False) -> Any:
    """Takes the maximum along an axis; that of no entries is `initial`.

    Some backends refuse the maximum of an empty tensor, and on torch Keras' own `initial` changes the shape.
    """
    if 0 in x.shape:
        return ops.sum(x, axis=axis, keepdims=keepdims) + initial
    return ops.max(x, axis=axis, keepdims=keepdims)


def masked_max(x: Any, real: Any, axis: int, keepdims: bool = False) -> Any:
    """Takes the maximum over the real entries along an axis; that of none is 0."""
    largest = max_or_initial(ops.where(real, x, float("-inf")), axis, float("-inf"), keepdims)
    return ops.where(ops.any(real, axis=axis, keepdims=keepdims), largest, 0.0)


def masked_softmax(x: Any, real: Any, axis: int = -1) -> Any:
    """Normalises over the real entries along an axis; zero at the others, and where there are none."""
    # A number that no entry has, and finite: the difference of two infinities is no number.
    x = ops.where(real, x, -1e30)
    largest = ops.stop_gradient(max_or_initial(x, axis, -1e30, keepdims=True))
    weights = ops.where(real, ops.exp(x - largest), 0.0)
    total = ops.sum(weights, axis=axis, keepdims=True)
    # Not `> 0`: what is NaN is to stay so.
    return weights / ops.where(ops.not_equal(total, 0), total, 1.0)


def unit_vectors(vectors: Any) -> Any:
    """Divides vectors by their norms, at least in float32; the zero vector stays zero, with gradient zero."""
    vectors = ops.cast(vectors, keras.backend.result_type(vectors.dtype, "float32"))
    # By the largest entry first: the squares of small or large ones would leave the range of float32.
    largest = ops.stop_gradient(max_or_initial(ops.abs(vectors), -1, 0.0, keepdims=True))
    # Not `> 0`: NaN must stay NaN, so that a diverged training is noticed.
    nonzero = ops.not_equal(largest, 0)
    vectors = vectors / ops.where(nonzero, largest, 1.0)
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    # The root has no gradient at 0: choose before it and after it.
    return ops.where(nonzero, vectors * ops.rsqrt(ops.where(nonzero, squares, 1.0)), 0.0)


def word_embedding(word_vectors: Any, trainable: bool = False) -> keras.layers.Embedding:
    """Makes the layer that looks words up, named `word_vectors`, or takes one over from another ranker.

    Rankers that share a frozen layer share its memory, the most of what a ranker has: 100 MB for 60,000 words
    of 450 dimensions.

    Args:
        word_vectors: float32 `(words, n)`, of which row 0 belongs to padding; or a layer named `word_vectors`
            to share, such as that of another ranker.
        trainable: whether training changes the vectors.

    Returns:
        A built layer from int32 words to float32 vectors, which masks padding.

    Raises:
        ValueError: `word_vectors` is not a matrix, or a shared layer is to be trained.

    Example:
        >>> import numpy as np
        >>> layer = word_embedding(np.ones((10, 4), "float32"))
        >>> layer(np.array([[1, 2, 0]])).shape == (1, 3, 4)
        True
        >>> word_embedding(layer) is layer
        True
    """
    if isinstance(word_vectors, keras.layers.Layer):
        if trainable or word_vectors.trainable:
            raise ValueError(
                "word vectors that are trained cannot be shared. Received: a layer, trainable=True"
            )
        return word_vectors
    shape = tuple(word_vectors.shape)
    if len(shape) != 2:
        raise ValueError(f"`word_vectors` must have the shape (words, dimensions). Received: shape={shape}")
    words, n = shape
    layer = keras.layers.Embedding(
        words, n, mask_zero=True, trainable=trainable, weights=[word_vectors], name="word_vectors"
    )
    layer.build()
    return layer


class TextPairLayer(keras.layers.Layer):
    """Base class of the layers that compare each word of a question with each word of an answer.

    Inputs are a pair `[question, answer]` of the shapes `(..., question length, n)` and
    `(..., answer length, n)`, masks a pair of the shapes without the last axis. The leading dimensions
    broadcast, and a question with one dimension fewer than the answer gets an axis of size 1 before its
    length: one question `(batch, question length, n)`, or `(batch, 1, question length, n)`, stands against
    `candidates` answers `(batch, candidates, answer length, n)` without being repeated in memory.
    """

    def build(self, input_shape: list[Shape]) -> None:
        self._pair_shapes(input_shape)

    def compute_mask(self, inputs: list[Any], mask: Any = None) -> list[Any]:
        question_mask, answer_mask = mask or (None, None)
        if question_mask is not None and len(inputs[0].shape) < len(inputs[1].shape):
            question_mask = ops.expand_dims(question_mask, axis=-2)
        return [question_mask, answer_mask]

    def _pair_shapes(self, input_shape: list[Shape]) -> tuple[Shape, Shape]:
        """Returns both shapes with the leading dimensions of the result."""
        question, answer = (tuple(shape) for shape in input_shape) if len(input_shape) == 2 else ((), ())
        if len(question) == len(answer) - 1:
            question = (*question[:-2], 1, *question[-2:])
        pairs = list(zip(question[:-2], answer[:-2], strict=False))
        if (
            len(question) < 3
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
        """Returns question, answer and their masks, of equal ranks; words are zero where they are masked."""
        masks = [real_steps(*side) for side in zip(inputs, mask or (None, None), strict=True)]
        # A choice and not a product with the mask: 0 * NaN would be NaN.
        texts = [ops.where(real[..., None], text, 0.0) for text, real in zip(inputs, masks, strict=True)]
        if len(texts[0].shape) < len(texts[1].shape):
            texts[0], masks[0] = ops.expand_dims(texts[0], axis=-3), ops.expand_dims(masks[0], axis=-2)
        return texts[0], texts[1], masks[0], masks[1]
