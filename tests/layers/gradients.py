"""Gradients by the automatic differentiation of whichever backend runs."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np


def gradients(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], dtype: str = "float32"
) -> list[np.ndarray]:
    """Gives the gradient of `sum(function(*arrays))` with respect to each of the arrays."""

    def total(*tensors):
        return sum(keras.ops.sum(output) for output in keras.tree.flatten(function(*tensors)))

    tensors = [keras.ops.convert_to_tensor(array, dtype=dtype) for array in arrays]
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            result = total(*tensors)
        found = tape.gradient(result, tensors, unconnected_gradients="zero")
    elif backend == "jax":
        import jax

        found = jax.grad(total, argnums=tuple(range(len(tensors))))(*tensors)
    else:
        import torch

        leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        found = torch.autograd.grad(total(*leaves), leaves, allow_unused=True, materialize_grads=True)
    return [keras.ops.convert_to_numpy(gradient) for gradient in found]
