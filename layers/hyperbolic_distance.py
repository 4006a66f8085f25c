"""The distance layer of HyperQA."""

from typing import Any

import keras
from keras import ops

from .common import (
    Shape,
    VectorPairLayer,
    broadcast_leading,
    check_option,
    check_same_rank,
    first_mask,
    is_pair_of_shapes,
    pair_of_masks,
)
from .poincare import FORMS, poincare_distance


@keras.saving.register_keras_serializable(package="answer_ranking")
class HyperbolicDistance(VectorPairLayer):
    """Distance of question and answer points in the Poincaré ball.

    Eq. 4 of [Hyperbolic Representation Learning for Fast and Efficient Neural Question
    Answering](https://arxiv.org/abs/1707.07847):

    ```
    d(q, a) = arcosh(1 + 2 |q - a|^2 / ((1 - |q|^2) (1 - |a|^2)))
    ```

    computed as `poincare_distance` describes. The points lie in the open unit ball, norms below 1, into which
    `UnitBall` brings them. The layer does not check that: each factor `1 - |x|^2` is kept at or above 1e-5
    (1e-12 in float64), so that a point on the edge or outside gets a finite distance, which has no meaning
    outside.

    The layer has no weights and takes a pair `[question, answer]` of shapes `(..., dimensions)`, whose
    leading dimensions broadcast: questions of shape `(batch, 1, dimensions)` and answers of shape `(batch,
    candidates, dimensions)` give distances of shape `(batch, candidates)`. Both have the same number of axes,
    unless one is a single point `(dimensions,)`. The distance is computed and returned in float32 under every
    dtype policy but float64's, and the inputs are not cast down. A distance is masked where one of its points
    is.

    Example:
    >>> import numpy as np
    >>> questions = np.zeros((1, 1, 2), dtype="float32")
    >>> answers = np.array([[[0.5, 0.0], [0.0, 0.0]]], dtype="float32")
    >>> distances = HyperbolicDistance()([questions, answers])
    >>> [round(float(distance), 5) for distance in distances[0]]
    [1.09861, 0.0]

    Args:
        form: str. `"asinh"`, the accurate form, or `"released"`, that of the authors' code.
            Defaults to `"asinh"`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `form` is unknown.
    """

    def __init__(self, form: str = "asinh", **kwargs: Any):
        super().__init__(**kwargs)
        check_option("form", form, FORMS)
        self.form = form

    def call(self, inputs: list[Any]) -> Any:
        question, answer = inputs
        return poincare_distance(question, answer, form=self.form)

    def compute_output_shape(self, input_shape: list[Shape]) -> Shape:
        if not is_pair_of_shapes(input_shape, least_rank=0):
            raise ValueError(
                "HyperbolicDistance takes a pair [question, answer] of tensors. "
                f"Received: input_shape={input_shape}"
            )
        question, answer = map(tuple, input_shape)
        # A number is a point of no dimension.
        dimensions = {*(question[-1:] or (0,)), *(answer[-1:] or (0,))} - {None}
        if len(dimensions) > 1 or 0 in dimensions:
            raise ValueError(
                "Question and answer must be points of the same number of dimensions (last axis). "
                f"Received: input_shape={input_shape}"
            )
        if min(len(question), len(answer)) > 1:  # One point alone is compared with all.
            check_same_rank(self, input_shape)
        return broadcast_leading(input_shape, trailing=1)

    def compute_mask(self, inputs: list[Any], mask: Any = None) -> Any:
        question_mask, answer_mask = pair_of_masks(mask)
        if question_mask is None or answer_mask is None:
            return first_mask([question_mask, answer_mask])
        return ops.logical_and(question_mask, answer_mask)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "form": self.form}
