"""The cosine of two vectors as a layer."""

from typing import Any

import keras
from keras import ops

from layers.maximum import maximum
from layers.pair_shapes import broadcast_leading

Shape = tuple[int | None, ...]


@keras.saving.register_keras_serializable(package="answer_ranking")
class CosineSimilarity(keras.layers.Layer):
    """Cosine of the angle between question and answer vectors.

    Eq. 11 of [Attentive Pooling Networks](https://arxiv.org/abs/1602.03609):

    ```
    s(q, a) = r^q . r^a / (|r^q| |r^a|)
    ```

    The layer has no weights and takes a pair `[question, answer]` of shapes `(..., features)`, whose leading
    dimensions broadcast. The zero vector has cosine 0 with every other and gets the gradient zero:
    `keras.layers.Dot(axes=-1, normalize=True)` gives it one of about 1e7, with which one text without words
    would destroy a training. The cosine is computed and returned in float32 under every dtype policy but
    float64's, and the inputs are not cast down.

    Example:
    >>> import numpy as np
    >>> questions = np.array([[[3.0, 4.0]]], dtype="float32")
    >>> answers = np.array([[[30.0, 40.0], [4.0, -3.0], [0.0, 0.0]]], dtype="float32")
    >>> [round(float(cosine), 5) for cosine in CosineSimilarity()([questions, answers])[0]]
    [1.0, 0.0, 0.0]

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**{"autocast": False, **kwargs})

    def build(self, input_shape: list[Shape]) -> None:
        """Checks the pair of shapes; there are no weights.

        Args:
            input_shape: Pair of shapes.

        Raises:
            ValueError: If these are not two shapes that broadcast, with the same last dimension.
        """
        self.compute_output_shape(input_shape)
        self.built = True

    def call(self, inputs: list[Any]) -> Any:
        """Computes the cosines.

        Args:
            inputs: Pair of tensors `[question, answer]`, each of shape `(..., features)`.

        Returns:
            Tensor of the broadcast leading shape.
        """
        return ops.sum(_unit_vectors(inputs[0]) * _unit_vectors(inputs[1]), axis=-1)

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        """Gives the broadcast leading shape of the pair.

        Args:
            input_shape: Pair of shapes, with `None` for unknown dimensions.

        Returns:
            Tuple, the shape of the cosines.

        Raises:
            ValueError: If these are not two shapes of the same rank that broadcast, with the same last
                dimension.
        """
        if (
            len(input_shape) != 2
            or not all(isinstance(shape, list | tuple) and shape for shape in input_shape)
            or len({shape[-1] for shape in input_shape} - {None}) > 1
        ):
            raise ValueError(
                "CosineSimilarity takes a pair [question, answer] of vectors of the same size (last axis). "
                f"Received: input_shape={input_shape}"
            )
        if len(input_shape[0]) != len(input_shape[1]):
            raise ValueError(
                "The vectors of CosineSimilarity must have the same number of dimensions: for several "
                "answers give the question an axis of size 1, question[:, None]. "
                f"Received: input_shape={input_shape}"
            )
        return broadcast_leading(input_shape, trailing=1)

    def compute_output_spec(self, inputs: list[Any]) -> keras.KerasTensor:
        """Gives shape and dtype of the cosines for symbolic inputs.

        Args:
            inputs: Pair of symbolic tensors.

        Returns:
            `keras.KerasTensor`, float32 or float64.
        """
        shape = self.compute_output_shape([tuple(side.shape) for side in inputs])
        dtype = keras.backend.result_type(*(side.dtype for side in inputs), "float32")
        return keras.KerasTensor(shape, dtype=dtype)


def _unit_vectors(vectors: Any) -> Any:
    """Divides vectors by their norms, in float32 at least; the zero vector stays as it is."""
    vectors = ops.cast(vectors, keras.backend.result_type(vectors.dtype, "float32"))
    # By the largest entry first: the squares of small or large ones would leave the range of float32.
    largest = ops.stop_gradient(maximum(ops.abs(vectors), -1, 0.0, keepdims=True))
    # Not `> 0`: the cosine of what is NaN is to be NaN, so that a training that went wrong is noticed.
    present = ops.not_equal(largest, 0)
    vectors = vectors / ops.where(present, largest, 1.0)
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    # The root of 0 has no gradient: choose before it and after it.
    return ops.where(present, vectors * ops.rsqrt(ops.where(present, squares, 1.0)), 0.0)
