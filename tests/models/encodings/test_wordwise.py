"""Encodings that multiply each distinct word once give what the encoder gives, and its gradients."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.models import ap_bilstm, ap_cnn, qa_bilstm, qa_cnn
from answer_ranking.models.encodings import ContextualWords
from answer_ranking.models.encodings.wordwise_bilstm import bilstm_states
from answer_ranking.models.encodings.wordwise_convolution import maximum_over_windows

SIZE, INPUTS, WORDS = 4, 5, 12
BUILDERS = (ap_cnn, qa_cnn, ap_bilstm, qa_bilstm)


def random_words(rng, texts, steps):
    words = rng.integers(1, WORDS, (texts, steps))
    words[np.arange(steps) >= rng.integers(0, steps + 1, texts)[:, None]] = 0
    return words.astype("int32")


def made(build, rng, *window):
    # The row of padding is no zero vector: it must not matter. Nor are the biases zero.
    vectors = rng.normal(size=(WORDS, INPUTS)).astype("float32")
    model = build(vectors, SIZE, *window, train_word_vectors=True)
    for variable in model.get_layer("encoder").trainable_variables[1:]:
        variable.assign(rng.normal(size=variable.shape))
    return model


def real_entries(encoded, words):
    """The states at the real words, or the text vectors."""
    return tf.boolean_mask(encoded[0], words > 0) if len(encoded) > 1 else encoded[0]


@pytest.mark.parametrize("build", BUILDERS)
@settings(max_examples=4)
@given(st.integers(1, 5), st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 7))
def test_values_and_gradients_are_the_encoder_s(build, window, seed, texts, steps):
    rng = np.random.default_rng(seed)
    windows = [window] if build in (ap_cnn, qa_cnn) else []
    model, words = made(build, rng, *windows), random_words(rng, texts, steps)
    encoder, encoding = model.get_layer("encoder"), model.encoding
    weights = [variable.value for variable in encoder.trainable_variables]
    results = []
    for encode in (lambda: keras.tree.flatten(encoder(words)), lambda: encoding(*encoding.project(words))):
        with tf.GradientTape() as tape:
            encoded = encode()
            entries = real_entries(encoded, words)
            loss = tf.reduce_sum(tf.sin(3 * entries))
        gradients = tape.gradient(loss, weights, unconnected_gradients="zero")
        results.append([entries, *encoded[1:], *map(tf.convert_to_tensor, gradients)])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


class Ones:
    """Vectors of tokens: all ones."""

    shape = (1000, INPUTS)

    def take(self, numbers):
        return np.ones((len(numbers), INPUTS), np.float16)


def test_dropout_falls_on_the_tokens_of_contextual_words_and_on_no_shared_word():
    shared = ap_cnn(np.ones((WORDS, INPUTS), "float32"), SIZE, embedding_dropout=0.25)
    assert not shared.encoding.trains
    words = ContextualWords(INPUTS)
    words.table = Ones()
    model = ap_cnn(words, INPUTS, 1, embedding_dropout=0.25)
    model.get_layer("encoder").get_layer("convolution").set_weights([np.eye(INPUTS)[None], np.zeros(INPUTS)])
    assert model.encoding.trains
    texts = np.arange(2, 902, dtype="int32").reshape(30, 30)
    texts[:, 20:] = 0
    states, mask = model.encoding(*model.encoding.project(texts, training=True))
    real = states.numpy()[mask.numpy()]
    np.testing.assert_allclose(np.unique(real), [0, 1 / 0.75], rtol=1e-6)
    assert abs((real == 0).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / real.size)
    assert np.all(model.encoding(*model.encoding.project(texts))[0].numpy()[mask.numpy()] == 1)


@pytest.mark.parametrize("build", [ap_cnn, ap_bilstm])
def test_half_precision_comes_out_in_half_precision(build, set_policy):
    rng = np.random.default_rng(4)
    set_policy("mixed_bfloat16")
    model = made(build, rng)
    words = random_words(rng, 4, 6)
    (states, _), (expected, _) = (
        model.encoding(*model.encoding.project(words)),
        model.get_layer("encoder")(words),
    )
    assert states.dtype == expected.dtype == "bfloat16"
    found, expected = (np.float32(x)[words > 0] for x in (states, expected))
    assert np.abs(found - expected).max() < 0.03 * np.abs(expected).max()


def test_of_equal_windows_one_alone_gets_the_gradient():
    rows = tf.constant([[0.0], [2.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        largest = maximum_over_windows(tf.constant([[2, 1, 2]]), rows, 1)
    assert tape.gradient(largest, rows).numpy().tolist() == [[0], [0], [1]]


@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
def test_texts_without_words_have_the_zero_vector(shape):
    # Their gradient is dropped, even if it is NaN.
    rows = tf.ones((4, 3))
    with tf.GradientTape() as tape:
        tape.watch(rows)
        largest = maximum_over_windows(tf.zeros(shape, tf.int32), rows, 2)
        total = tf.reduce_sum(largest * float("nan"))
    assert largest.shape == (shape[0], 3)
    assert not np.any(largest)
    assert not np.any(tape.gradient(total, rows))


def recurrence(lengths, steps=4, units=1):
    """Three words, of which one stands twice in a text of four."""
    rng = np.random.default_rng(7)
    rows, recurrent = rng.normal(size=(2, 4, 4 * units)), rng.normal(size=(2, units, 4 * units))
    places = np.where(np.arange(steps) < np.array(lengths)[:, None], 1 + np.arange(steps) % 3, 0)
    return tf.constant(places, tf.int32), tf.constant(rows), tf.constant(recurrent)


def test_gradients_of_the_recurrence_are_the_slopes_in_float64():
    lengths = [4, 2, 0, 3]
    places, rows, recurrent = recurrence(lengths)
    upstream = np.random.default_rng(1).normal(size=(len(lengths), 4, 2))

    @tf.function
    def weighted(rows, recurrent):
        return tf.reduce_sum(bilstm_states(places, rows, recurrent) * upstream)

    found, slopes = tf.test.compute_gradient(weighted, [rows, recurrent], delta=1e-5)
    for gradient, slope in zip(found, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    assert np.abs(slopes[0]).max() > 0.01
    assert not np.any(bilstm_states(*recurrence([0, 0])))
