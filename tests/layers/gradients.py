"""Values and gradients of functions over `keras.ops` on whichever backend runs.

On JAX the functions are compiled as a whole, which is much faster than compiling operation by operation.
"""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles the function on JAX, and leaves it as it is elsewhere."""
    if keras.backend.backend() != "jax":
        return function
    import jax

    return jax.jit(function)


def gradients(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Gives the gradient of `sum(function(*arrays))` with respect to each of the arrays, in float32."""

    def total(*tensors):
        return sum(keras.ops.sum(output) for output in keras.tree.flatten(function(*tensors)))

    tensors = [keras.ops.convert_to_tensor(array, dtype="float32") for array in arrays]
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            result = total(*tensors)
        found = tape.gradient(result, tensors, unconnected_gradients="zero")
    elif backend == "jax":
        import jax

        found = compiled(jax.grad(total, argnums=tuple(range(len(tensors)))))(*tensors)
    else:
        import torch

        leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        found = torch.autograd.grad(total(*leaves), leaves, allow_unused=True, materialize_grads=True)
    return [keras.ops.convert_to_numpy(gradient) for gradient in found]


def central_differences(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], step: float = 1e-6
) -> list[np.ndarray]:
    """Gives the gradient of the sum of a NumPy function's results by central differences in float64."""
    arrays = [np.array(array, dtype="float64") for array in arrays]

    def total():
        return sum(np.sum(output) for output in keras.tree.flatten(function(*arrays)))

    found = []
    for array in arrays:
        gradient = np.empty_like(array)
        for index in np.ndindex(array.shape):
            value = array[index]
            array[index] = value + step
            upper = total()
            array[index] = value - step
            gradient[index] = (upper - total()) / (2 * step)
            array[index] = value
        found.append(gradient)
    return found
