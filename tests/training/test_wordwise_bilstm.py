"""The BiLSTM by distinct words gives what the equations and the encoder give."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.attentive_pooling import ap_bilstm, qa_bilstm
from training.wordwise_bilstm import WordwiseBiLSTM

UNITS, INPUTS, WORDS = 4, 5, 12


def random_words(rng, texts, steps):
    words = rng.integers(1, WORDS, (texts, steps))
    words[np.arange(steps) >= rng.integers(0, steps + 1, texts)[:, None]] = 0
    return words.astype("int32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_in_float64(vectors, kernel, recurrent_kernel, bias):
    """Eq. 3 to 8 of the paper, a row a step; the gates in the order in which Keras keeps them."""
    hidden = cell = np.zeros(UNITS)
    states = []
    for vector in vectors:
        i, f, g, o = np.split(vector @ kernel + hidden @ recurrent_kernel + bias, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        states.append(hidden)
    return np.array(states).reshape(-1, UNITS)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), texts=st.integers(1, 5), steps=st.integers(1, 7))
def test_states_and_vectors_are_those_of_the_equations(seed, texts, steps):
    rng = np.random.default_rng(seed)
    # The row of padding is no zero vector: it must not matter.
    vectors = rng.normal(size=(WORDS, INPUTS)).astype("float32")
    words = random_words(rng, texts, steps)
    for build in (ap_bilstm, qa_bilstm):
        encoder = build(vectors, UNITS, seed=seed).get_layer("encoder")
        layer = encoder.get_layer("bilstm")
        layer.set_weights([rng.normal(size=weight.shape) for weight in layer.get_weights()])
        weights = [np.float64(weight) for weight in layer.get_weights()]
        bilstm = WordwiseBiLSTM(encoder)
        found = [np.asarray(x) for x in bilstm(*bilstm.project(words))]
        for number, text in enumerate(words):
            real = np.float64(vectors[text[text > 0]])
            forward = lstm_in_float64(real, *weights[:3])
            backward = lstm_in_float64(real[::-1], *weights[3:])[::-1]
            states = np.concatenate([forward, backward], axis=1)
            if build is ap_bilstm:
                np.testing.assert_allclose(found[0][number, : len(real)], states, rtol=1e-4, atol=1e-5)
                np.testing.assert_array_equal(found[1][number], text > 0)
            else:
                # Eq. 10; a text without words has the zero vector.
                vector = np.tanh(states.max(axis=0)) if len(real) else np.zeros(2 * UNITS)
                np.testing.assert_allclose(found[0][number], vector, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("build", [ap_bilstm, qa_bilstm])
def test_it_is_the_encoder_whatever_the_padding(build):
    rng = np.random.default_rng(5)
    encoder = build(rng.normal(size=(WORDS, INPUTS)).astype("float32"), UNITS).get_layer("encoder")
    words = np.array([[3, 4, 0, 0], [5, 0, 0, 0], [0, 0, 0, 0], [4, 4, 7, 9]], "int32")
    bilstm = WordwiseBiLSTM(encoder)
    places, rows = bilstm.project(words)
    # Padding and five words, in both directions.
    assert rows.shape == (2, 6, 4 * UNITS)
    expected = [np.asarray(x) for x in keras.tree.flatten(encoder(words))]
    found = [np.asarray(x) for x in bilstm(places, rows)]
    cut = [np.asarray(x) for x in bilstm(places[:2, :2], rows)]
    real = words > 0 if build is ap_bilstm else np.ones(4, bool)
    np.testing.assert_allclose(found[0][real], expected[0][real], rtol=1e-5, atol=1e-6)
    real = words[:2, :2] > 0 if build is ap_bilstm else np.ones(2, bool)
    start = expected[0][:2, :2] if build is ap_bilstm else expected[0][:2]
    np.testing.assert_allclose(cut[0][real], start[real], rtol=1e-5, atol=1e-6)


def test_half_precision_comes_out_in_half_precision():
    rng = np.random.default_rng(4)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = ap_bilstm(rng.normal(size=(WORDS, INPUTS)).astype("float32"), UNITS).get_layer("encoder")
    finally:
        keras.config.set_dtype_policy("float32")
    words = random_words(rng, 4, 6)
    bilstm = WordwiseBiLSTM(encoder)
    states, mask = bilstm(*bilstm.project(words))
    expected, _ = encoder(words)
    assert states.dtype == expected.dtype == "bfloat16"
    difference = np.float32(states) - np.float32(expected)
    assert np.abs(difference[mask.numpy()]).max() < 2e-2


def other_gates():
    cells = [keras.layers.LSTM(UNITS, return_sequences=True, recurrent_activation="hard_sigmoid")] * 2
    return keras.layers.Bidirectional(cells[0], name="bilstm")


def summed():
    return keras.layers.Bidirectional(
        keras.layers.LSTM(UNITS, return_sequences=True), merge_mode="sum", name="bilstm"
    )


@pytest.mark.parametrize("layer", [other_gates, summed])
def test_another_bilstm_is_left_alone(layer):
    encoder = ap_bilstm(np.ones((WORDS, INPUTS), "float32"), UNITS).get_layer("encoder")
    # The same steps, but for what the layer does.
    other = keras.models.clone_model(
        encoder, clone_function=lambda each: layer() if each.name == "bilstm" else each
    )
    assert WordwiseBiLSTM.fits(encoder)
    assert [type(step) for step in other.operations] == [type(step) for step in encoder.operations]
    assert not WordwiseBiLSTM.fits(other)
