"""The cosine of two vectors as a layer."""

from typing import Any

import keras
from keras import ops

from .common import (
    Shape,
    VectorPairLayer,
    broadcast_leading,
    check_same_rank,
    is_pair_of_shapes,
    unit_vectors,
)


@keras.saving.register_keras_serializable(package="answer_ranking")
class CosineSimilarity(VectorPairLayer):
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

    def call(self, inputs: list[Any]) -> Any:
        return ops.sum(unit_vectors(inputs[0]) * unit_vectors(inputs[1]), axis=-1)

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        is_pair = is_pair_of_shapes(input_shape, least_rank=1)
        if not is_pair or len({input_shape[0][-1], input_shape[1][-1]} - {None}) > 1:
            raise ValueError(
                "CosineSimilarity takes a pair [question, answer] of vectors of the same size (last axis). "
                f"Received: input_shape={input_shape}"
            )
        check_same_rank(self, input_shape)
        return broadcast_leading(input_shape, trailing=1)
