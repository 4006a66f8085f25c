"""What the saved models of a folder compute, under the backend of this process; see test_backends.py."""

import sys
from pathlib import Path

import keras
import numpy as np
from gradients import compiled, with_gradients
from layer_checks import dtype_of, flat, to_numpy

import answer_ranking.layers
from answer_ranking.training import RiemannianOptimizer

NEEDED = answer_ranking.layers, RiemannianOptimizer  # registered for `load_model`


def weighted(outputs):
    """Multiply each entry by a weight of its own, or the sum of a softmax would have no gradient."""
    found = []
    for output in outputs:
        weights = 1.5 + np.cos(np.arange(np.prod(output.shape), dtype="float32"))
        found.append(keras.ops.multiply(weights.reshape(output.shape), output))
    return found


def values_and_gradients(model, arrays):
    """Compute weighted outputs, and gradients by the model's weights and then by its float inputs."""
    n = len(model.trainable_variables)
    is_float = [array.dtype == np.float32 for array in arrays]

    def function(*tensors):
        floats = iter(tensors[n:])
        inputs = [next(floats) if own else array for own, array in zip(is_float, arrays, strict=True)]
        return weighted(flat(model.stateless_call(list(tensors[:n]), [], inputs)[0]))

    weights = [to_numpy(variable.value) for variable in model.trainable_variables]
    floats = [array for own, array in zip(is_float, arrays, strict=True) if own]
    return with_gradients(function)(*weights, *floats)


def computed(kind, model, arrays):
    """Give what a model makes of arrays: the weights after a step, outputs, or outputs and gradients."""
    if model.compiled:
        return trained(model, *arrays)
    if kind == "float32":
        outputs, gradients = values_and_gradients(model, arrays)
        return [*to_numpy(outputs), *gradients]
    outputs = flat((model if kind == "buckets" else compiled(model))(arrays))
    assert [dtype_of(output) for output in outputs] == [dtype_of(tensor) for tensor in model.outputs]
    return to_numpy(outputs)


def trained(model, x, y):
    """Give the weights after a step."""
    model.fit(x, y, batch_size=len(x), shuffle=False, verbose=0)
    return model.get_weights()


def main(folder):
    for path in folder.glob("*.keras"):
        model = keras.saving.load_model(path)
        with np.load(path.with_suffix(".npz")) as file:
            arrays = [file[name] for name in file]
        found = computed(path.stem, model, arrays)
        np.savez(folder / f"{path.stem}.{keras.backend.backend()}.npz", *found)
    # Models, those with the optimizer included, load and train without TensorFlow.
    assert "tensorflow" not in sys.modules


if __name__ == "__main__":
    main(Path(sys.argv[1]))
