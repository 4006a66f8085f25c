"""The BiLSTM's steps over texts of unlike length: values, gradients, padding."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from training.wordwise_recurrence import bilstm_states

UNITS, DISTINCT = 3, 6


def drawn(seed, texts, steps):
    rng = np.random.default_rng(seed)
    places = rng.integers(1, DISTINCT, (texts, steps))
    places[np.arange(steps) >= rng.integers(0, steps + 1, texts)[:, None]] = 0
    rows, recurrent = rng.normal(size=(2, DISTINCT, 4 * UNITS)), rng.normal(size=(2, UNITS, 4 * UNITS))
    return places.astype("int32"), rows, recurrent


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_after_the_other(places, rows, recurrent):
    """Eq. 3 to 8 of dos Santos et al. (2016), a text and a word at a time."""
    states = np.zeros((*places.shape, 2 * UNITS))
    for text, words in enumerate(places):
        for direction in range(2):
            hidden = cell = np.zeros(UNITS)
            steps = np.flatnonzero(words)
            for step in steps[::-1] if direction else steps:
                gates = rows[direction, words[step]] + hidden @ recurrent[direction]
                i, f, g, o = np.split(gates, 4)
                cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
                hidden = sigmoid(o) * np.tanh(cell)
                states[text, step, direction * UNITS : (direction + 1) * UNITS] = hidden
    return states


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), texts=st.integers(1, 6), steps=st.integers(1, 7))
def test_states_are_those_of_the_equations(seed, texts, steps):
    places, rows, recurrent = drawn(seed, texts, steps)
    found = bilstm_states(tf.constant(places), tf.constant(rows), tf.constant(recurrent))
    np.testing.assert_allclose(found, one_after_the_other(places, rows, recurrent), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lengths", [[5, 2, 0, 4], [1], [3, 3, 3], [0, 0], [1, 6]])
def test_gradients_are_the_slopes(lengths):
    places, rows, recurrent = drawn(7, len(lengths), 6)
    places = tf.constant(
        np.where(np.arange(6) < np.array(lengths)[:, None], 1 + np.arange(6) % 4, 0), tf.int32
    )
    upstream = np.random.default_rng(1).normal(size=(len(lengths), 6, 2 * UNITS))

    @tf.function
    def weighted(rows, recurrent):
        return tf.reduce_sum(bilstm_states(places, rows, recurrent) * upstream)

    found, slopes = tf.test.compute_gradient(weighted, [rows, recurrent], delta=1e-5)
    for gradient, slope in zip(found, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    if any(lengths):
        assert np.abs(slopes[0]).max() > 0.01


def test_padding_may_hold_anything():
    places, rows, recurrent = drawn(3, 4, 5)
    rows[:, 0] = np.nan
    states = bilstm_states(tf.constant(places), tf.constant(rows), tf.constant(recurrent)).numpy()
    assert not states[places == 0].any()
    assert np.isfinite(states).all()


@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
def test_texts_without_words_have_zero_states(shape):
    _, rows, recurrent = drawn(3, 1, 1)
    rows, recurrent = tf.constant(rows), tf.constant(recurrent)
    with tf.GradientTape() as tape:
        tape.watch([rows, recurrent])
        states = bilstm_states(tf.zeros(shape, tf.int32), rows, recurrent)
        total = tf.reduce_sum(states)
    assert states.shape == (*shape, 2 * UNITS)
    assert not np.any(states)
    assert not any(np.any(gradient) for gradient in tape.gradient(total, [rows, recurrent]))
