"""Eq. 9 around any Keras optimizer, on every backend."""

import keras
import numpy as np
import pytest

from answer_ranking.training import RiemannianOptimizer

EACH_READING = pytest.mark.parametrize("reading", ["parameters", "released_code"])
RATE = 0.3


def network(seed=0):
    layers = [
        keras.layers.Embedding(9, 3, embeddings_initializer=keras.initializers.RandomNormal(0, 0.3, seed)),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, kernel_initializer=keras.initializers.GlorotUniform(seed)),
    ]
    return keras.Sequential([keras.Input((4,), dtype="int32"), *layers])


def data():
    rng = np.random.default_rng(0)
    return rng.integers(0, 9, (20, 4)).astype("int32"), rng.normal(size=(20, 1)).astype("float32")


def converted(gradients, weights, reading):
    """Eq. 9 in float64."""
    if reading == "parameters":
        return [
            g * (1 - (w.astype("float64") ** 2).sum()) ** 2 / 4
            for g, w in zip(gradients, weights, strict=True)
        ]
    return [g * ((1 - (g**2).sum()) ** 2 + 1e-5) / 4 for g in gradients]


def moves(optimizer, steps=1):
    """How far `fit` on one batch moves the weights, and where they were."""
    model = network()
    before = model.get_weights()
    model.compile(optimizer=optimizer, loss="mse", auto_scale_loss=False)
    x, y = data()
    model.fit(x, y, batch_size=20, epochs=steps, shuffle=False, verbose=0)
    return [a.astype("float64") - b for a, b in zip(before, model.get_weights(), strict=True)], before


def scaled(inner):
    return keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**10)


NESTINGS = {
    "plain": RiemannianOptimizer,
    "scale inside": lambda inner, reading: RiemannianOptimizer(scaled(inner), reading),
    "scale outside": lambda inner, reading: scaled(RiemannianOptimizer(inner, reading)),
    "scale inside and outside": lambda inner, reading: scaled(RiemannianOptimizer(scaled(inner), reading)),
    "constant scale": lambda inner, reading: RiemannianOptimizer(inner, reading),
}


@EACH_READING
@pytest.mark.parametrize("nesting", NESTINGS)
def test_a_step_of_fit_is_eq_9_in_float64(reading, nesting):
    gradients = [move / RATE for move in moves(keras.optimizers.SGD(RATE))[0]]
    inner = keras.optimizers.SGD(RATE, loss_scale_factor=64.0 if nesting == "constant scale" else None)
    found, before = moves(NESTINGS[nesting](inner, reading))
    for ours, theirs in zip(found, converted(gradients, before, reading), strict=True):
        np.testing.assert_allclose(ours, RATE * theirs, atol=1e-6)
        assert np.abs(theirs).max() > 1e-4


def test_clipping_comes_after_the_conversion():
    gradients = [move / RATE for move in moves(keras.optimizers.SGD(RATE))[0]]
    found, before = moves(RiemannianOptimizer(keras.optimizers.SGD(RATE, global_clipnorm=0.01), "parameters"))
    expected = converted(gradients, before, "parameters")
    norm = np.sqrt(sum((g**2).sum() for g in expected))
    assert norm > 0.02
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, RATE * theirs * 0.01 / norm, atol=1e-6)


@pytest.mark.parametrize("nesting", ["plain", "scale inside", "scale outside"])
def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(nesting, tmp_path):
    x, y = data()

    def fit(model, epochs):
        model.fit(x, y, batch_size=5, epochs=epochs, shuffle=False, verbose=0)
        return model

    def compiled():
        model = network()
        optimizer = NESTINGS[nesting](keras.optimizers.Adam(0.05), "released_code")
        model.compile(optimizer=optimizer, loss="mse", auto_scale_loss=False)
        return model

    unbroken = fit(compiled(), 4)
    fit(compiled(), 2).save(tmp_path / "model.keras")
    resumed = fit(keras.saving.load_model(tmp_path / "model.keras"), 2)
    for ours, theirs in zip(resumed.get_weights(), unbroken.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert int(resumed.optimizer.iterations) == 16


def test_variables_rate_and_count_are_the_inner_optimizer_s():
    inner = keras.optimizers.Adam(0.05)
    optimizer = RiemannianOptimizer(inner, "parameters")
    optimizer.build(network().trainable_variables)
    optimizer.learning_rate = 0.01
    assert float(inner.learning_rate) == pytest.approx(0.01)
    assert optimizer.iterations is inner.iterations
    assert all(a is b for a, b in zip(optimizer.variables, inner.variables, strict=True))
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.reading == "parameters"
    assert isinstance(again.inner, keras.optimizers.Adam)


@pytest.mark.parametrize("reading", ["points", "none", "both"])
def test_other_readings_are_refused(reading):
    with pytest.raises(ValueError, match=f"Received: reading='{reading}'"):
        RiemannianOptimizer(keras.optimizers.SGD(), reading)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_the_other_backends(backend, under_backend):
    run = under_backend(backend, "-m", "pytest", "-q", "-x", "-k", "not other_backends", __file__)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
