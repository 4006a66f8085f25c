"""Eq. 9 around any Keras optimizer; tests/layers/test_backends.py compares a step on the other backends."""

from functools import cache

import keras
import numpy as np
import pytest

from answer_ranking.training import RiemannianOptimizer

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


@cache
def plain_gradients():
    """The gradients of the first step, from how plain gradient descent moves the weights."""
    return [move / RATE for move in moves(keras.optimizers.SGD(RATE))[0]]


@cache
def weights_after(steps):
    """The weights after some steps of Eq. 9 without moving averages, in float64."""
    moved, before = moves(RiemannianOptimizer(keras.optimizers.SGD(RATE), "parameters"), steps)
    return [weight.astype("float64") - move for weight, move in zip(before, moved, strict=True)]


def scaled(inner):
    return keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**10)


NESTINGS = {
    "plain": RiemannianOptimizer,
    "scale inside": lambda inner, reading: RiemannianOptimizer(scaled(inner), reading),
    "scale outside": lambda inner, reading: scaled(RiemannianOptimizer(inner, reading)),
    "scale inside and outside": lambda inner, reading: scaled(RiemannianOptimizer(scaled(inner), reading)),
    "constant scale": lambda inner, reading: RiemannianOptimizer(inner, reading),
}


@pytest.mark.parametrize(
    ("nesting", "reading"),
    [
        ("plain", "parameters"),
        ("plain", "released_code"),
        ("scale inside", "parameters"),
        ("constant scale", "parameters"),
        # Keras takes the scale inside away: what is left is the scale outside.
        ("scale inside and outside", "parameters"),
        ("scale inside and outside", "released_code"),
    ],
)
def test_a_step_of_fit_is_eq_9_in_float64(reading, nesting):
    inner = keras.optimizers.SGD(RATE, loss_scale_factor=64.0 if nesting == "constant scale" else None)
    found, before = moves(NESTINGS[nesting](inner, reading))
    for ours, theirs in zip(found, converted(plain_gradients(), before, reading), strict=True):
        np.testing.assert_allclose(ours, RATE * theirs, atol=1e-6)
        assert np.abs(theirs).max() > 1e-4


def test_clipping_comes_after_the_conversion():
    found, before = moves(RiemannianOptimizer(keras.optimizers.SGD(RATE, global_clipnorm=0.01), "parameters"))
    expected = converted(plain_gradients(), before, "parameters")
    norm = np.sqrt(sum((g**2).sum() for g in expected))
    assert norm > 0.02
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, RATE * theirs * 0.01 / norm, atol=1e-6)


def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(tmp_path):
    x, y = data()

    def fit(model, epochs):
        model.fit(x, y, batch_size=5, epochs=epochs, shuffle=False, verbose=0)
        return model

    def compiled():
        model = network()
        optimizer = NESTINGS["scale outside"](keras.optimizers.Adam(0.05), "released_code")
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


class Seen(keras.callbacks.Callback):
    """Keeps the weights of each evaluation and epoch's end, as a checkpoint would."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_test_batch_end(self, batch, logs=None):
        self.weights.append(self.model.get_weights())

    def on_epoch_end(self, epoch, logs=None):
        self.weights.append(self.model.get_weights())


@pytest.mark.parametrize(
    ("nesting", "on_epoch"), [("plain", False), ("scale inside", True), ("scale outside", False)]
)
def test_moving_averages_are_swapped_in_as_in_float64(nesting, on_epoch):
    seen, model = Seen(), network()
    inner = keras.optimizers.SGD(RATE, use_ema=True, ema_momentum=0.5)
    model.compile(NESTINGS[nesting](inner, "parameters"), loss="mse", auto_scale_loss=False)
    swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=on_epoch)
    x, y = data()
    options = {"batch_size": 20, "shuffle": False, "verbose": 0}
    start = [each.astype("float64") for each in model.get_weights()]
    model.fit(
        x, y, epochs=2, validation_data=(x, y), validation_batch_size=20, callbacks=[swap, seen], **options
    )
    steps = [weights_after(1), weights_after(2)]
    assert np.abs(start[0] - steps[0][0]).max() > 1e-3
    # The average is that of the steps, from the first one on: m_1 = w_1, m_2 = (w_1 + w_2) / 2.
    averages = [steps[0], [(a + b) / 2 for a, b in zip(*steps, strict=True)]]
    for evaluated, expected in zip(seen.weights[::2], averages, strict=True):
        for ours, theirs in zip(evaluated, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    for ended, expected in zip(seen.weights[1::2], averages if on_epoch else steps, strict=True):
        for ours, theirs in zip(ended, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_keras_callbacks_read_and_set_the_rate(tmp_path):
    model = network()
    model.compile(RiemannianOptimizer(keras.optimizers.SGD(0.5), "parameters"), loss="mse")
    callbacks = [
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2),
        keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.1, patience=1, min_delta=1e9),
        keras.callbacks.TensorBoard(tmp_path),
        keras.callbacks.BackupAndRestore(tmp_path / "backup"),
    ]
    model.fit(*data(), epochs=3, callbacks=callbacks, verbose=0)
    # Halved three times; the plateau divides by ten after the second and the third epoch.
    assert float(model.optimizer.inner.learning_rate) == pytest.approx(0.5 / 8 / 100)


def test_weights_can_be_left_out_of_the_decay():
    model = network()
    optimizer = RiemannianOptimizer(keras.optimizers.SGD(RATE, weight_decay=0.5), "parameters")
    optimizer.exclude_from_weight_decay(var_names=["embeddings"])
    optimizer.build(model.trainable_variables)
    before = model.get_weights()
    optimizer.apply([keras.ops.zeros(v.shape) for v in model.trainable_variables], model.trainable_variables)
    embeddings, kernel, _ = model.get_weights()
    np.testing.assert_array_equal(embeddings, before[0])
    np.testing.assert_allclose(kernel, before[1].astype("float64") * (1 - RATE * 0.5), atol=1e-6)
