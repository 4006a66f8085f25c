"""Values and gradients of functions over `keras.ops` on whichever backend runs.

On JAX the functions are compiled as a whole, which is much faster than compiling operation by operation.
"""

import keras
import numpy as np


def compiled(function):
    """Compiles the function on JAX, and leaves it as it is elsewhere."""
    if keras.backend.backend() != "jax":
        return function
    import jax

    return jax.jit(function)


def with_gradients(function):
    """Makes a function that gives `function(*arrays)` and the gradient of its sum with respect to each array.

    Both come of one pass in float32 and, on JAX, of one compilation for all calls of equal shapes.
    """

    def total(*tensors):
        outputs = function(*tensors)
        return sum(keras.ops.sum(output) for output in keras.tree.flatten(outputs)), outputs

    backend = keras.backend.backend()

    def on_tensorflow(*tensors):
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            result, outputs = total(*tensors)
        return tape.gradient(result, tensors, unconnected_gradients="zero"), outputs

    def on_jax(*tensors):
        import jax

        return jax.grad(total, argnums=tuple(range(len(tensors))), has_aux=True)(*tensors)

    def on_torch(*tensors):
        import torch

        leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        result, outputs = total(*leaves)
        found = torch.autograd.grad(result, leaves, allow_unused=True, materialize_grads=True)
        return found, keras.tree.map_structure(lambda output: output.detach(), outputs)

    differentiate = compiled({"tensorflow": on_tensorflow, "jax": on_jax, "torch": on_torch}[backend])

    def both(*arrays):
        tensors = [keras.ops.convert_to_tensor(array, dtype="float32") for array in arrays]
        found, outputs = differentiate(*tensors)
        return outputs, [keras.ops.convert_to_numpy(gradient) for gradient in found]

    return both


def gradients(function, arrays):
    """Gives the gradient of `sum(function(*arrays))` with respect to each of the arrays, in float32."""
    return with_gradients(function)(*arrays)[1]


def central_differences(function, arrays, step=1e-6):
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
