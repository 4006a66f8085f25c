"""Geometry of the Poincaré ball as pure functions over `keras.ops`.

All functions compute in float32, also for half precision inputs: near the edge of the ball `1 - |x|^2` has
no correct digit in float16 or bfloat16. Inputs in float64 are computed in float64 where Keras keeps that type
(on the TensorFlow backend; on JAX if its 64-bit mode is on).
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from .common import check_option, refuse_ragged

FORMS = ("asinh", "released")
_RELEASED_EPSILON = 1e-6
# Below this 1 - max_norm^2 the rounding of float32, which is 6e-8 of a norm, would show.
_ROUNDED_BELOW = 1e-2
# No point of the ball has a component beyond 1. Cutting those far outside keeps every square finite.
_LARGEST_COMPONENT = 1e3


class _Guards(NamedTuple):
    grid: float  # squares of multiples of 1/grid add up without rounding as long as the sum is below 4
    smallest_factor: float  # lower bound of 1 - |x|^2 in the distance
    tiny: float  # squared lengths up to here count as zero


_GUARDS = {
    "float32": _Guards(grid=2.0**11, smallest_factor=1e-5, tiny=1e-30),
    "float64": _Guards(grid=2.0**25, smallest_factor=1e-12, tiny=1e-200),
}


def check_projection(max_norm: float, projection: str) -> None:
    """Raises ValueError for a maximum norm outside (0, 1], or an unknown projection."""
    if not 0 < max_norm <= 1:
        raise ValueError(f"`max_norm` must lie above 0 and not above 1. Received: max_norm={max_norm!r}")
    check_option("projection", projection, ("clip", "smooth"))


def _float32_or_wider(*tensors: Any) -> list[Any]:
    """Casts tensors to one type, float32 at least."""
    refuse_ragged(*tensors)
    converted = list(map(ops.convert_to_tensor, tensors))
    dtype = "float32"
    for tensor in converted:
        dtype = keras.backend.result_type(dtype, tensor.dtype)
    return [ops.cast(tensor, dtype) for tensor in converted]


def _guards(x: Any) -> _Guards:
    return _GUARDS[keras.backend.standardize_dtype(x.dtype)]


def one_minus_squared_norm(x: Any) -> Any:
    """Computes `1 - |x|^2` over the last axis with a small relative error also where `|x|` is almost 1.

    Subtracting the rounded `|x|^2` from 1 would lose two digits and more at a norm of `1 - 1e-5`. Here each
    component is split into a multiple of a power of two, whose squares add up without rounding, and a small
    rest. Float32, or float64 for float64 input; negative outside the unit ball.
    """
    return _one_minus_squared_norm(*_float32_or_wider(x))


def _one_minus_squared_norm(x: Any) -> Any:
    grid = _guards(x).grid
    coarse = ops.stop_gradient(ops.round(x * grid) / grid)
    rest = ops.sum((x - coarse) * (x + coarse), axis=-1)
    return (1.0 - ops.sum(ops.square(coarse), axis=-1)) - rest


def poincare_distance(question: Any, answer: Any, form: str = "asinh") -> Any:
    """Computes the distance of points of the Poincaré ball (HyperQA, Eq. 4); leading dimensions broadcast.

    The default form, `d = 2 asinh(sqrt(|q - a|^2 / ((1 - |q|^2) (1 - |a|^2))))`, equals the paper's
    `arcosh(1 + 2 |q - a|^2 / ((1 - |q|^2) (1 - |a|^2)))`, but keeps its digits for small distances, is
    exactly 0 at `q = a`, and has a finite gradient everywhere (0 at `q = a`). The two factors of the
    denominator are kept at or above 1e-5 (1e-12 in float64), so that points on the edge and outside also have
    a finite distance.

    `"released"` is the form of the authors' code, `d = log(z + sqrt(z^2 - 1 + 1e-6))` with
    `z = 1 + 2 |q - a|^2 / ((1 - |q|^2) (1 - |a|^2) + 1e-6)`: it is 0.001 at `q = a`, and its factors are kept
    at or above 0.
    """
    check_option("form", form, FORMS)
    question, answer = _float32_or_wider(question, answer)
    question = ops.clip(question, -_LARGEST_COMPONENT, _LARGEST_COMPONENT)
    answer = ops.clip(answer, -_LARGEST_COMPONENT, _LARGEST_COMPONENT)
    guards = _guards(question)
    squared = ops.sum(ops.square(question - answer), axis=-1)
    lower = guards.smallest_factor if form == "asinh" else 0.0
    question_factor = ops.maximum(_one_minus_squared_norm(question), lower)
    factors = question_factor * ops.maximum(_one_minus_squared_norm(answer), lower)
    if form == "released":
        # z^2 - 1 = (z - 1) (z + 1): how much of 1e-6 survives in z^2 - 1 + 1e-6 depends on the compiler.
        excess = 2.0 * squared / (factors + _RELEASED_EPSILON)
        return ops.log(1.0 + excess + ops.sqrt(excess * (excess + 2.0) + _RELEASED_EPSILON))
    # Not `squared > tiny`: a point with NaN would be at distance 0, the best of all, instead of NaN.
    apart = ops.logical_not(squared <= guards.tiny)
    # The inner choice keeps the square root, whose derivative is infinite at 0, away from 0; without it the
    # gradient would be 0 * infinity = NaN although the outer choice discards the value.
    root = ops.sqrt(ops.where(apart, squared, 1.0) / factors)
    return ops.where(apart, 2.0 * ops.arcsinh(root), 0.0)


def project_to_ball(x: Any, max_norm: float = 1 - 1e-5, projection: str = "clip") -> Any:
    """Maps vectors into the ball of radius `max_norm` around the origin.

    - `"clip"`: `x * min(1, max_norm / |x|)`, as in HyperQA (there with the radius 1). At a radius of almost 1
      all points that are cut have the same distance from the edge, to 0.3 %: by rounding alone it would
      differ by 1 %, and with it the order of answers.
    - `"smooth"`: `max_norm * tanh(|x|) * x / |x|`, the exponential map at the origin of the Poincaré ball
      (https://arxiv.org/abs/1805.09112), scaled to the radius. It is differentiable everywhere.
    """
    check_projection(max_norm, projection)
    (x,) = _float32_or_wider(x)
    if 0 in x.shape:  # Some backends refuse the maximum of no entries.
        return x
    # Dividing by the largest component keeps the squares of long vectors finite. The result does not depend
    # on this factor, so it needs no gradient.
    largest = ops.stop_gradient(ops.maximum(ops.max(ops.abs(x), axis=-1, keepdims=True), 1.0))
    scaled = x / largest
    length = ops.sqrt(ops.maximum(ops.sum(ops.square(scaled), axis=-1, keepdims=True), _guards(x).tiny))
    if projection == "clip":
        cut = scaled * ops.minimum(largest, max_norm / length)
        if 1 - max_norm**2 >= _ROUNDED_BELOW:
            return cut
        return cut + ops.where(largest * length > max_norm, _rounding(cut, max_norm), 0.0)
    return scaled * (max_norm * ops.tanh(largest * length) / length)


def _rounding(x: Any, max_norm: float) -> Any:
    """Returns what to add to the largest component of points for a norm of `max_norm`; has no gradient."""
    x = ops.stop_gradient(x)
    too_far_in = ops.expand_dims(_one_minus_squared_norm(x), -1) - (1 - max_norm**2)
    sizes = ops.abs(x)
    largest = ops.max(sizes, axis=-1, keepdims=True)
    signs = ops.where(sizes == largest, ops.sign(x), 0.0)
    return signs * too_far_in / (2 * largest * ops.sum(ops.abs(signs), axis=-1, keepdims=True))
