"""The learning rate of Howard & Ruder (2018), Eq. 3, and its way through `fit`."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.training.callbacks import SlantedTriangular, SlantedTriangularRate


def printed_formula(t, peak, steps, cut_fraction, ratio):
    """The paper's own lines, in float64."""
    cut = np.floor(steps * cut_fraction)
    p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / cut_fraction - 1))
    return peak * (1 + p * (ratio - 1)) / ratio


@pytest.mark.parametrize(("steps", "cut_fraction", "ratio"), [(200, 0.1, 32), (40, 0.25, 8), (10, 0.5, 2)])
def test_it_is_the_printed_formula_where_the_cut_is_a_whole_number_of_steps(steps, cut_fraction, ratio):
    rate = SlantedTriangular(2e-3, steps, cut_fraction, ratio)
    expected = [printed_formula(t, 2e-3, steps, cut_fraction, ratio) for t in range(steps + 1)]
    np.testing.assert_allclose([float(rate(t)) for t in range(steps + 1)], expected, rtol=1e-5)


def test_the_printed_formula_falls_below_zero_in_a_short_training_and_ours_does_not():
    assert printed_formula(18, 1.0, 19, 0.1, 32) < 0
    assert float(SlantedTriangular(1.0, 19)(18)) > 1 / 32


@settings(max_examples=30)
@given(
    steps=st.integers(1, 300),
    cut_fraction=st.floats(0, 0.99),
    ratio=st.floats(1, 100),
    peak=st.floats(1e-6, 1),
)
def test_it_rises_to_its_peak_once_falls_and_never_leaves_its_limits(steps, cut_fraction, ratio, peak):
    schedule = SlantedTriangular(peak, steps, cut_fraction, ratio)
    rates = np.array(schedule(np.arange(steps + 2)))
    cut = int(np.floor(steps * cut_fraction))
    assert rates.min() >= peak / ratio * (1 - 1e-5)
    assert rates[cut] == pytest.approx(peak, rel=1e-5)
    assert rates.argmax() == cut or ratio < 1.001
    slack = 1e-5 * peak
    assert (np.diff(rates[: cut + 1]) >= -slack).all()
    assert (np.diff(rates[cut:]) <= slack).all()
    assert rates[-1] == pytest.approx(peak / ratio, rel=1e-4)


def test_it_survives_saving():
    schedule = SlantedTriangular(0.1, 50, 0.2, 16)
    again = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(schedule))
    assert [float(again(t)) for t in range(51)] == [float(schedule(t)) for t in range(51)]


@pytest.mark.parametrize(
    "options", [{"peak": 0}, {"peak": -1}, {"cut_fraction": 1.0}, {"cut_fraction": -0.1}, {"ratio": 0.5}]
)
def test_options_out_of_range_are_refused_before_a_training_begins(options):
    with pytest.raises(ValueError, match="Received"):
        SlantedTriangularRate(**{"peak": 1e-3} | options)


def test_every_step_of_fit_moves_by_its_rate():
    # With a constant gradient of 1, plain gradient descent moves the weight by the sum of the rates.
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(optimizer=keras.optimizers.SGD(7.0), loss=lambda y, p: p, steps_per_execution=4)
    before = model.get_weights()[0].item()
    x = np.ones((30, 1), "float32")
    rate = SlantedTriangularRate(0.5, cut_fraction=0.2, ratio=10)
    model.fit(x, x, batch_size=3, epochs=3, verbose=0, callbacks=[rate])
    expected = sum(printed_formula(t, 0.5, 30, 0.2, 10) for t in range(30))
    assert before - model.get_weights()[0].item() == pytest.approx(expected, rel=1e-4)
