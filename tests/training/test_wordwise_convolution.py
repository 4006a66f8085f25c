"""The convolution by distinct words gives what the equations and the encoder give."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.attentive_pooling import ap_bilstm, ap_cnn, qa_cnn
from training.wordwise_convolution import WordwiseConvolution

FILTERS, INPUTS, WORDS = 6, 5, 12


def random_words(rng, texts, steps):
    words = rng.integers(1, WORDS, (texts, steps))
    words[np.arange(steps) >= rng.integers(0, steps + 1, texts)[:, None]] = 0
    return words.astype("int32")


def convolution_in_float64(words, vectors, kernel, bias):
    window = len(kernel)
    states = np.zeros((*words.shape, kernel.shape[2]))
    for text, of_text in enumerate(words):
        for step in range(len(of_text)):
            states[text, step] = bias
            for j in range(window):
                at = step + j - (window - 1) // 2
                if 0 <= at < len(of_text) and of_text[at] > 0:
                    states[text, step] += vectors[of_text[at]] @ kernel[j]
    return states


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), window=st.integers(1, 5), texts=st.integers(1, 5), steps=st.integers(1, 7))
def test_states_and_vectors_are_those_of_the_equations(seed, window, texts, steps):
    rng = np.random.default_rng(seed)
    # The row of padding is no zero vector: it must not matter.
    vectors = rng.normal(size=(WORDS, INPUTS)).astype("float32")
    words = random_words(rng, texts, steps)
    for build in (ap_cnn, qa_cnn):
        encoder = build(vectors, FILTERS, window, seed=seed).get_layer("encoder")
        layer = encoder.get_layer("convolution")
        layer.bias.assign(rng.normal(size=FILTERS))
        kernel, bias = (np.float64(w) for w in layer.get_weights())
        exact = convolution_in_float64(words, np.float64(vectors), kernel, bias)
        convolution = WordwiseConvolution(encoder)
        found = convolution(*convolution.project(words))
        real = words > 0
        if build is ap_cnn:
            np.testing.assert_allclose(found[0].numpy()[real], exact[real], rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(found[1], real)
        else:
            # Eq. 10 over the real steps; a text without any has the zero vector.
            masked = np.where(real[..., None], exact, -np.inf).max(axis=1)
            expected = np.where(real.any(axis=1)[:, None], np.tanh(masked), 0)
            np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(found[0], encoder(words), rtol=1e-5, atol=1e-5)


def test_texts_may_be_cut_out_of_what_was_projected():
    rng = np.random.default_rng(3)
    encoder = ap_cnn(rng.normal(size=(WORDS, INPUTS)).astype("float32"), FILTERS, 4).get_layer("encoder")
    words = np.array([[3, 4, 0, 0], [5, 0, 0, 0], [4, 4, 7, 9]], "int32")
    convolution = WordwiseConvolution(encoder)
    places, rows = convolution.project(words)
    # Padding and five words, with four places in the window.
    assert rows.shape == (6 * 4, FILTERS)
    states, mask = convolution(places[:2, :2], rows)
    expected, _ = encoder(words[:2, :2])
    np.testing.assert_allclose(states.numpy()[mask], expected.numpy()[mask.numpy()], rtol=1e-5, atol=1e-5)


def test_half_precision_comes_out_in_half_precision():
    rng = np.random.default_rng(4)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = ap_cnn(rng.normal(size=(WORDS, INPUTS)).astype("float32"), FILTERS, 3).get_layer("encoder")
    finally:
        keras.config.set_dtype_policy("float32")
    words = random_words(rng, 4, 6)
    convolution = WordwiseConvolution(encoder)
    states, mask = convolution(*convolution.project(words))
    expected, _ = encoder(words)
    assert states.dtype == expected.dtype == "bfloat16"
    difference = np.float32(states) - np.float32(expected)
    assert np.abs(difference[mask.numpy()]).max() < 2e-2 * np.abs(np.float32(expected)).max()


def test_an_encoder_that_does_more_is_left_alone():
    encoder = ap_cnn(np.zeros((WORDS, INPUTS), "float32"), FILTERS).get_layer("encoder")
    states = keras.layers.ReLU()(encoder.output[0])
    assert not WordwiseConvolution.fits(keras.Model(encoder.input, [states, encoder.output[1]]))


@pytest.mark.parametrize(("build", "fits"), [(ap_cnn, True), (qa_cnn, True), (ap_bilstm, False)])
def test_it_is_for_convolutions_alone(build, fits):
    encoder = build(np.zeros((WORDS, INPUTS), "float32"), 3).get_layer("encoder")
    assert WordwiseConvolution.fits(encoder) is fits
