"""The maximum along an axis, of empty tensors, too."""

from typing import Any

from keras import ops


def maximum(x: Any, axis: int, initial: float, keepdims: bool = False) -> Any:
    """Takes the maximum as `ops.max` does, which some backends refuse for a tensor without entries.

    Keras' own `initial` would help, but for the shape that it gives on the torch backend.

    Args:
        x: Floating point tensor.
        axis: int. The axis along which the maximum is taken.
        initial: float. The maximum of no entries.
        keepdims: bool. Whether the axis stays, with the length 1. Defaults to `False`.

    Returns:
        Tensor of the type of `x`, without the axis or with its length 1.

    Example:
    >>> import numpy as np
    >>> tuple(maximum(np.zeros((0, 3), dtype="float32"), axis=-1, initial=0.0).shape)
    (0,)
    """
    if 0 in x.shape:
        return ops.sum(x, axis=axis, keepdims=keepdims) + initial
    return ops.max(x, axis=axis, keepdims=keepdims)
