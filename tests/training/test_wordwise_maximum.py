"""The maximum of a convolution taken text by text: values, gradients, padding."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from training.wordwise_maximum import maximum_over_windows

FILTERS, DISTINCT = 3, 6


def drawn(seed, window, texts, steps):
    rng = np.random.default_rng(seed)
    places = rng.integers(1, DISTINCT, (texts, steps))
    places[np.arange(steps) >= rng.integers(0, steps + 1, texts)[:, None]] = 0
    rows = rng.normal(size=(DISTINCT, window, FILTERS))
    rows[0] = 0
    return places.astype("int32"), rows


def winners(places, rows):
    """Look every filter's largest sum up: its value and the words of its window, those beyond the text 0."""
    window = rows.shape[1]
    for text, words in enumerate(places):
        words = words[words > 0]
        reach = np.pad(words, ((window - 1) // 2, window // 2))
        of_step = [reach[step : step + window] for step in range(len(words))]
        sums = [sum(rows[word, j] for j, word in enumerate(each)) for each in of_step]
        for filter_number in range(FILTERS if len(words) else 0):
            step = int(np.argmax([each[filter_number] for each in sums]))
            yield text, filter_number, sums[step][filter_number], of_step[step]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), window=st.integers(1, 5), texts=st.integers(1, 5), steps=st.integers(1, 9))
def test_values_and_gradients_are_those_of_the_winning_windows(seed, window, texts, steps):
    places, rows = drawn(seed, window, texts, steps)
    upstream = np.random.default_rng(seed + 1).normal(size=(texts, FILTERS))
    values, gradient = np.zeros((texts, FILTERS)), np.zeros(rows.shape)
    for text, filter_number, value, words in winners(places, rows):
        values[text, filter_number] = value
        for j, word in enumerate(words):
            gradient[word, j, filter_number] += upstream[text, filter_number]
    given_rows = tf.constant(rows.reshape(-1, FILTERS))
    with tf.GradientTape() as tape:
        tape.watch(given_rows)
        found = maximum_over_windows(tf.constant(places), given_rows, window)
        total = tf.reduce_sum(found * upstream)
    np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        tape.gradient(total, given_rows), gradient.reshape(-1, FILTERS), rtol=1e-12, atol=1e-14
    )


def test_of_equal_windows_one_alone_gets_the_gradient():
    rows = tf.constant([[0.0], [2.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        largest = maximum_over_windows(tf.constant([[2, 1, 2]]), rows, 1)
    assert tape.gradient(largest, rows).numpy().tolist() == [[0], [0], [1]]


@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
def test_texts_without_words_have_the_zero_vector(shape):
    # Their gradient is dropped, though it be no number.
    rows = tf.ones((4, FILTERS))
    with tf.GradientTape() as tape:
        tape.watch(rows)
        largest = maximum_over_windows(tf.zeros(shape, tf.int32), rows, 2)
        total = tf.reduce_sum(largest * float("nan"))
    assert largest.shape == (shape[0], FILTERS)
    assert not np.any(largest)
    assert not np.any(tape.gradient(total, rows))
