"""Encoders that are not quite those of `models.attentive_pooling` are left alone."""

import doctest

import keras
import numpy as np
import pytest

import training.distinct_words
import training.encoder_steps
import training.wordwise_encoder
import training.wordwise_maximum
import training.wordwise_recurrence
from models.attentive_pooling import ap_bilstm, ap_cnn, qa_bilstm, qa_cnn
from training.wordwise_bilstm import WordwiseBiLSTM
from training.wordwise_convolution import WordwiseConvolution
from training.wordwise_encoder import wordwise_encoder

WORDS, INPUTS, SIZE = 9, 5, 4


def encoder_of(build):
    vectors = np.random.default_rng(0).normal(size=(WORDS, INPUTS)).astype("float32")
    return build(vectors, SIZE).get_layer("encoder")


def with_layer(encoder, name, layer):
    """Build the same encoder with another layer in the place of one."""
    return keras.models.clone_model(encoder, clone_function=lambda each: layer if each.name == name else each)


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (ap_cnn, WordwiseConvolution),
        (qa_cnn, WordwiseConvolution),
        (ap_bilstm, WordwiseBiLSTM),
        (qa_bilstm, WordwiseBiLSTM),
    ],
)
def test_each_of_the_four_has_its_way(build, kind):
    assert type(wordwise_encoder(encoder_of(build))) is kind


@pytest.mark.parametrize("build", [ap_cnn, qa_bilstm])
def test_a_vocabulary_of_padding_alone_is_no_obstacle(build):
    encoder = build(np.zeros((1, INPUTS), "float32"), SIZE).get_layer("encoder")
    assert wordwise_encoder(encoder) is not None


@pytest.mark.parametrize(
    "options",
    [
        {"dilation_rate": 2},
        {"groups": 2, "filters": 5},
        {"use_bias": False},
        {"activation": "relu"},
        {"padding": "causal"},
        {"name": "other"},
    ],
    ids=str,
)
def test_another_convolution_is_left_alone(options):
    vectors = np.random.default_rng(0).normal(size=(WORDS, 10)).astype("float32")
    encoder = ap_cnn(vectors, 5).get_layer("encoder")
    usual = {"filters": 5, "kernel_size": 4, "padding": "same", "name": "convolution"}
    if options.get("groups"):
        options = options | {"filters": 10}
    other = with_layer(encoder, "convolution", keras.layers.Conv1D(**usual | options))
    assert wordwise_encoder(with_layer(encoder, "convolution", keras.layers.Conv1D(**usual))) is not None
    assert wordwise_encoder(other) is None


def text_and_vectors(encoder):
    text = keras.Input((None,), dtype="int32", name="text")
    mask = keras.ops.not_equal(text, 0)
    vectors = encoder.get_layer("word_vectors")(text)
    x = keras.ops.where(keras.ops.expand_dims(mask, -1), vectors, 0.0)
    return text, mask, encoder.get_layer("embedding_dropout")(x)


def test_a_bilstm_that_is_not_told_of_the_mask_is_left_alone():
    encoder = encoder_of(ap_bilstm)
    text, mask, vectors = text_and_vectors(encoder)
    blind = keras.Model(text, [encoder.get_layer("bilstm")(vectors), mask])
    assert WordwiseBiLSTM.fits(blind)
    assert wordwise_encoder(blind) is None
    assert wordwise_encoder(encoder) is not None


def test_the_comparison_leaves_the_weights_as_they_were():
    encoder = encoder_of(ap_bilstm)
    before = encoder.get_weights()
    assert wordwise_encoder(encoder) is not None
    for old, new in zip(before, encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("options", [{"dropout": 0.5}, {"recurrent_dropout": 0.5}], ids=str)
def test_a_bilstm_with_dropout_is_left_alone(options):
    encoder = encoder_of(ap_bilstm)
    lstm = keras.layers.LSTM(SIZE, return_sequences=True, **options)
    other = with_layer(encoder, "bilstm", keras.layers.Bidirectional(lstm, name="bilstm"))
    assert wordwise_encoder(other) is None


@pytest.mark.parametrize("outputs", ["states", "states, vectors", "vector, mask", "states, mask, mask"])
def test_other_outputs_are_left_alone(outputs):
    encoder = encoder_of(qa_cnn if "vector," in outputs else ap_cnn)
    text, mask, vectors = text_and_vectors(encoder)
    found = {"vectors": vectors, "mask": mask, "states": encoder.get_layer("convolution")(vectors)}
    if "vector," in outputs:
        pooled = encoder.get_layer("maximum")(found["states"], mask=mask)
        found["vector"] = encoder.get_layer("tanh")(pooled)
    assert wordwise_encoder(keras.Model(text, [found[name] for name in outputs.split(", ")])) is None


@pytest.mark.parametrize("build", [ap_cnn, qa_bilstm])
def test_a_word_vector_that_is_no_number_is_no_obstacle(build):
    vectors = np.random.default_rng(0).normal(size=(2, INPUTS)).astype("float32")
    vectors[1, 2] = np.nan
    assert wordwise_encoder(build(vectors, SIZE).get_layer("encoder")) is not None


def test_adapted_word_vectors_are_left_alone():
    encoder = ap_cnn(np.ones((WORDS, INPUTS), "float32"), SIZE, train_word_vectors=True).get_layer("encoder")
    assert wordwise_encoder(encoder) is not None
    encoder.get_layer("word_vectors").enable_lora(2)
    assert wordwise_encoder(encoder) is None


def test_an_adapted_convolution_is_left_alone():
    encoder = encoder_of(ap_cnn)
    encoder.get_layer("convolution").enable_lora(2)
    assert wordwise_encoder(encoder) is None


@pytest.mark.parametrize("build", [ap_cnn, ap_bilstm])
def test_an_encoder_that_does_more_is_left_alone(build):
    encoder = encoder_of(build)
    states = keras.layers.ReLU()(encoder.output[0])
    assert wordwise_encoder(keras.Model(encoder.input, [states, encoder.output[1]])) is None


def test_other_models_are_left_alone():
    inputs = keras.Input((3,), dtype="int32")
    named = keras.Model(inputs, keras.layers.Embedding(WORDS, 2, name="word_vectors")(inputs))
    assert wordwise_encoder(named) is None
    assert wordwise_encoder(keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])) is None


@pytest.mark.parametrize(
    "module",
    [
        training.distinct_words,
        training.encoder_steps,
        training.wordwise_encoder,
        training.wordwise_maximum,
        training.wordwise_recurrence,
    ],
)
def test_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
