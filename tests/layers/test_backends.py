"""Every layer, and Eq. 9 around an optimizer, under JAX and PyTorch against TensorFlow.

The other tests of this folder compare with float64 NumPy under TensorFlow. Here one process a backend loads
what TensorFlow saved, and must compute the same.
"""

import elsewhere
import keras
import numpy as np
import pytest
from all_layers import CASES, EDGES, VARIANTS, arrays_of, buckets, half_precision, one_model, without
from layer_checks import flat

from answer_ranking import layers
from answer_ranking.training import RiemannianOptimizer

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the others are compared with TensorFlow"
)
KINDS = {
    "float32": without(CASES | VARIANTS | EDGES, "BucketByLength"),
    "bfloat16": half_precision(),
    "buckets": buckets(),
}


def scaled(inner):
    return keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**10)


def averaging():
    return keras.optimizers.SGD(0.3, use_ema=True, ema_momentum=0.5)


OPTIMIZERS = {
    "adam": lambda: RiemannianOptimizer(keras.optimizers.Adam(0.05), "released_code"),
    "averages": lambda: RiemannianOptimizer(averaging(), "parameters"),
    "scaled": lambda: scaled(RiemannianOptimizer(scaled(averaging()), "parameters")),
}


def labels(kind, model, cases):
    """Name the outputs and, where they are wanted, the gradients by weights and by inputs."""
    names = [name for name, outputs in zip(cases, model._outputs_struct, strict=True) for _ in flat(outputs)]
    if kind != "float32":
        return names
    of_inputs = [name for name, case in cases.items() for x in arrays_of(case) if x.dtype == np.float32]
    of_weights = [variable.path for variable in model.trainable_variables]
    return names + [f"gradient: {name}" for name in (*of_weights, *of_inputs)]


def small_network(optimizer):
    """Make a network and train it for a step."""
    keras.utils.set_random_seed(0)
    words = [keras.layers.Embedding(9, 3), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((4,), dtype="int32"), *words])
    model.compile(optimizer, loss="mse", auto_scale_loss=False)
    rng = np.random.default_rng(0)
    data = [rng.integers(0, 9, (20, 4)).astype("int32"), rng.normal(size=(20, 1)).astype("float32")]
    elsewhere.trained(model, *data)
    return model, data


def under_tensorflow(folder):
    """Save models and what they are called with, what TensorFlow makes of it, and names for that."""
    models = {kind: (*one_model(cases), cases) for kind, cases in KINDS.items()}
    models |= {name: (*small_network(make()), None) for name, make in OPTIMIZERS.items()}
    for kind, (model, arrays, cases) in models.items():
        model.save(folder / f"{kind}.keras")
        np.savez(folder / f"{kind}.npz", *arrays)
        found = elsewhere.computed(kind, model, arrays)
        np.savez(folder / f"{kind}.tensorflow.npz", *found)
        names = labels(kind, model, cases) if cases else [f"{kind}: {w.path}" for w in model.weights]
        (folder / f"{kind}.txt").write_text("\n".join(names))


def arrays_in(path):
    with np.load(path) as file:
        return [file[name] for name in file]


def assert_same_gradient(found, expected, name):
    """Compare each vector by its size: an element may be a small difference of large terms."""
    no_number = np.isnan(expected).any(axis=-1)
    np.testing.assert_array_equal(np.isnan(found).any(axis=-1), no_number, err_msg=name)
    found, expected = found[~no_number], expected[~no_number]
    sizes = np.abs(expected).max(axis=-1, keepdims=True, initial=0)
    # The gradients of equal vectors, or behind a saturated tanh, are nothing but rounding.
    tolerance = 1e-5 * sizes + 1e-6 * min(1, sizes.max(initial=0)) + 1e-30
    np.testing.assert_array_less(np.abs(found - expected) - tolerance, 0, err_msg=name)


def compare(kind, folder, backend):
    """Compare what a backend wrote with what TensorFlow wrote."""
    found, expected = (arrays_in(folder / f"{kind}.{each}.npz") for each in (backend, "tensorflow"))
    names = (folder / f"{kind}.txt").read_text().splitlines()
    digits = {"rtol": 0.02, "atol": 0.02} if kind == "bfloat16" else {"rtol": 1e-5, "atol": 1e-6}
    for name, *pair in zip(names, found, expected, strict=True):
        if name.startswith("gradient"):
            assert_same_gradient(*pair, name)
        else:
            np.testing.assert_allclose(*pair, err_msg=name, **digits)


def test_every_layer_is_compared():
    names = {name.partition(",")[0] for cases in KINDS.values() for name in cases}
    assert names == set(layers.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_another_backend_gives_what_tensorflow_gives(backend, under_backend, made_once):
    folder = made_once("models_of_layers", under_tensorflow)
    result = under_backend(backend, elsewhere.__file__, folder)
    assert result.returncode == 0, result.stderr[-6000:]
    for kind in [*KINDS, *OPTIMIZERS]:
        compare(kind, folder, backend)
