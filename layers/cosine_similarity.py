"""The cosine of two vectors as a layer."""

from typing import Any

import keras
from keras import ops

from .common import Shape, broadcast_leading, unit_vectors


@keras.saving.register_keras_serializable(package="answer_ranking")
class CosineSimilarity(keras.layers.Layer):
    """Cosine of the angle between question and answer vectors.

    Eq. 11 of [Attentive Pooling Networks](https://arxiv.org/abs/1602.03609):

    ```
    s(q, a) = r^q . r^a / (|r^q| |r^a|)
    ```

    The layer has no weights. It takes a pair `[question, answer]` of shapes `(..., features)`, whose leading
    dimensions broadcast, and returns their broadcast leading shape. The zero vector has the cosine 0 with
    every other and the gradient zero; `keras.layers.Dot(axes=-1, normalize=True)` gives it a gradient of
    about 1e7, and one text without words would destroy a training. The cosine is computed and returned in
    float32 under every dtype policy but float64's, and the inputs are not cast down.

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
        self.compute_output_shape(input_shape)

    def call(self, inputs: list[Any]) -> Any:
        return ops.sum(unit_vectors(inputs[0]) * unit_vectors(inputs[1]), axis=-1)

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
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
        shape = self.compute_output_shape([tuple(side.shape) for side in inputs])
        dtype = keras.backend.result_type(*(side.dtype for side in inputs), "float32")
        return keras.KerasTensor(shape, dtype=dtype)
