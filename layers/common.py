"""Checks, shapes and small operations that several layers share, and the table of word vectors."""

from collections.abc import Callable, Sequence
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
    question, answer = (tuple(input_shape[0][:-trailing]), tuple(input_shape[1][:-trailing]))
    rank = max(len(question), len(answer))
    question = (1,) * (rank - len(question)) + question
    answer = (1,) * (rank - len(answer)) + answer
    output_shape = []
    for sizes in zip(question, answer, strict=True):
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
    for part in keras.tree.flatten(mask):
        if part is not None:
            return part
    return None


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
    if not _mask_fits(of_mask, sizes):
        raise ValueError(
            "A mask must have the shape of its text without the last axis. "
            f"Received: text.shape={tuple(text.shape)}, mask.shape={of_mask}"
        )
    mask = ops.cast(mask, "bool")
    # A mask that is repeated would else be counted once.
    return mask if sizes == of_mask and None not in sizes else ops.logical_and(mask, everything)


def _mask_fits(of_mask: Shape, sizes: Shape) -> bool:
    if len(of_mask) != len(sizes):
        return False
    last = len(sizes) - 1
    for axis, (own, size) in enumerate(zip(of_mask, sizes, strict=True)):
        known = own is not None and size is not None
        if known and own != size and not (own == 1 and axis < last):
            return False
    return True


def pair_of_masks(mask: Any) -> Sequence[Any]:
    """Returns the masks of a question and an answer, each of which may be `None`, of a pair or `None`."""
    if mask is None:
        return (None, None)
    if not isinstance(mask, (list, tuple)) or len(mask) != 2:
        raise ValueError(
            "A mask of a question and an answer is a pair, each of which may be None. "
            f"Received: mask={type(mask).__name__}"
        )
    return mask


def real_steps_of_pair(inputs: Sequence[Any], mask: Any) -> list[Any]:
    """Returns `real_steps` of a question and an answer; `mask` is a pair, of which each may be `None`."""
    question_mask, answer_mask = pair_of_masks(mask)
    return [real_steps(inputs[0], question_mask), real_steps(inputs[1], answer_mask)]


def zero_padding(text: Any, real: Any) -> Any:
    """Sets the steps of a text `(..., time, features)` that are not real to zero."""
    # A choice and not a product with the mask: 0 * NaN would be NaN. TFLite has no `real[..., None]`.
    return ops.where(ops.expand_dims(real, axis=-1), text, 0.0)


def refuse_ragged(*tensors: Any) -> None:
    """Raises ValueError for a ragged tensor of TensorFlow, whose texts have no common length."""
    for tensor in tensors:
        if type(tensor).__name__ == "RaggedTensor":
            raise ValueError(
                "Ragged tensors are not supported: pad them with `to_tensor()`, and give the mask of the "
                f"real steps. Received: a RaggedTensor of shape {tuple(tensor.shape)}"
            )


def takes_upstream(gradient: Callable[[Any], Any]) -> Callable[..., Any]:
    """Makes a function of the upstream gradient one that `ops.custom_gradient` takes under every backend."""

    def called(*arguments: Any, upstream: Any = None) -> Any:
        # PyTorch gives it by name, after the inputs; TensorFlow and JAX give it alone.
        return gradient(arguments[0] if upstream is None else upstream)

    return called


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
    refuse_ragged(vectors)
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
        question_mask, answer_mask = pair_of_masks(mask)
        if question_mask is not None and len(inputs[0].shape) < len(inputs[1].shape):
            question_mask = ops.expand_dims(question_mask, axis=-2)
        return [question_mask, answer_mask]

    def _pair_shapes(self, input_shape: list[Shape]) -> tuple[Shape, Shape]:
        """Returns both shapes with the leading dimensions of the result."""
        question, answer = map(tuple, input_shape) if len(input_shape) == 2 else ((), ())
        if len(question) == len(answer) - 1:
            question = (*question[:-2], 1, *question[-2:])
        same_rank = 3 <= len(question) == len(answer)
        if not same_rank or len({question[-1], answer[-1]} - {None}) > 1:
            raise ValueError(
                f"{type(self).__name__} takes a question of shape (..., question length, n) and an answer of "
                "shape (..., answer length, n) whose leading dimensions broadcast. "
                f"Received: input_shape={input_shape}"
            )
        leading = broadcast_leading((question, answer), trailing=2)
        return (*leading, *question[-2:]), (*leading, *answer[-2:])

    def _real_words(self, inputs: list[Any], mask: Any) -> tuple[Any, Any, Any, Any]:
        """Returns question, answer and their masks, of equal ranks; words are zero where they are masked."""
        real_question, real_answer = real_steps_of_pair(inputs, mask)
        question = zero_padding(inputs[0], real_question)
        answer = zero_padding(inputs[1], real_answer)
        if len(question.shape) < len(answer.shape):
            question = ops.expand_dims(question, axis=-3)
            real_question = ops.expand_dims(real_question, axis=-2)
        return question, answer, real_question, real_answer


class VectorPairLayer(keras.layers.Layer):
    """Base class of the layers that compare vectors `(..., n)` of a question and an answer by a number.

    The numbers are float32 at least under every dtype policy, and the inputs are not cast down.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**{"autocast": False, **kwargs})

    def build(self, input_shape: list[Shape]) -> None:
        self.compute_output_shape(input_shape)

    def compute_output_spec(self, inputs: list[Any]) -> keras.KerasTensor:
        question, answer = inputs
        shape = self.compute_output_shape([tuple(question.shape), tuple(answer.shape)])
        dtype = keras.backend.result_type(question.dtype, answer.dtype, "float32")
        return keras.KerasTensor(shape, dtype=dtype)


def is_pair_of_shapes(input_shape: Any, least_rank: int) -> bool:
    """Tells whether there are two shapes, of so many dimensions at least."""
    if len(input_shape) != 2:
        return False
    question, answer = input_shape
    are_shapes = isinstance(question, list | tuple) and isinstance(answer, list | tuple)
    return are_shapes and min(len(question), len(answer)) >= least_rank


def are_texts(shapes: Sequence[Any], same_length: bool = False) -> bool:
    """Tells whether all shapes are `(batch, time, features)` with the same features, where they are known.

    With `same_length` the times must be the same, too.
    """
    lengths, features = set(), set()
    for shape in shapes:
        if not isinstance(shape, list | tuple) or len(shape) != 3:
            return False
        lengths.add(shape[1])
        features.add(shape[2])
    return len(features - {None}) <= 1 and not (same_length and len(lengths - {None}) > 1)


def check_same_rank(layer: keras.layers.Layer, input_shape: Sequence[Shape]) -> None:
    """Raises ValueError if question and answer have different numbers of dimensions."""
    if len(input_shape[0]) != len(input_shape[1]):
        raise ValueError(
            f"Question and answer of {type(layer).__name__} must have the same number of dimensions: for "
            "several answers give the question an axis of size 1, question[:, None]. "
            f"Received: input_shape={input_shape}"
        )
