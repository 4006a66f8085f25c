"""Keras models behind a ranker: texts encoded apart, and word vectors that a model did not have."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep.encoded_split import EncodedTexts, chunks_of_padded
from answer_ranking.models.encodings import encoding_of

_WORDS_AT_ONCE = 8192
_ROOM = 16_384  # words that a copy has room for


def word_layer(model: keras.Model) -> Any:
    """Find the layer of word vectors in a model; None where it has none."""
    for layer in model.layers:
        if layer.name == "word_vectors":
            return layer
        if isinstance(layer, keras.Model) and (found := word_layer(layer)) is not None:
            return found
    return None


def with_word_vectors(model: keras.Model, vectors: np.ndarray) -> keras.Model:
    """Copy a model with other word vectors, float32 (words, n), and all other weights as they are."""
    config = keras.saving.serialize_keras_object(model)
    _set_words(config, len(vectors))
    copy = keras.saving.deserialize_keras_object(config)
    layer = word_layer(model)
    for old, new in zip(model.weights, copy.weights, strict=True):
        new.assign(vectors if old is layer.embeddings else old)
    return copy


class GrowingModel:
    """A model whose frozen word vectors become more, without a new model and a new trace for each.

    The copy of the model has room for words to come, which are written into its table in place; a larger one
    follows where the room is used up, with twice the words.
    """

    def __init__(self, model: keras.Model):
        self._model = self._copy = model
        self._filled = 0

    def with_words(self, added: np.ndarray) -> keras.Model:
        """Give the model with the vectors `added`, float32 (k, n), after its own: the last ones and more."""
        layer, table = word_layer(self._model), word_layer(self._copy)
        own = layer.input_dim
        if own + len(added) > table.input_dim:
            vectors = np.zeros((own + max(_ROOM, 2 * len(added)), added.shape[1]), np.float32)
            vectors[:own] = keras.ops.convert_to_numpy(layer.embeddings)
            self._copy, self._filled = with_word_vectors(self._model, vectors), 0
            table = word_layer(self._copy)
        if len(added) > self._filled:
            first = own + self._filled
            table.embeddings.value[first : own + len(added)].assign(added[self._filled :])
            self._filled = len(added)
        return self._copy


def _set_words(config: Any, n_words: int) -> None:
    """Say in the config of a model, or of a part of it, how many words have vectors."""
    if isinstance(config, dict):
        if config.get("name") == "word_vectors" and "input_dim" in config:
            config["input_dim"] = n_words
        config = list(config.values())
    if isinstance(config, list):
        for part in config:
            _set_words(part, n_words)


def text_encoder(model: keras.Model) -> Callable[[EncodedTexts], np.ndarray]:
    """Make the function from texts to their vectors, float32 (n_texts, d).

    The model encodes texts apart. It is traced once; texts of like length are encoded together.
    """
    encoder, encoding = model.get_layer("encoder"), encoding_of(model, "wordwise")

    def encode(words: tf.Tensor) -> tf.Tensor:
        return encoding(*encoding.project(words))[0] if encoding else encoder(words)

    traced = tf.function(encode, autograph=False).get_concrete_function(tf.TensorSpec((None, None), tf.int32))

    def encode_texts(texts: EncodedTexts) -> np.ndarray:
        lengths = np.maximum(texts.lengths, 1)
        order = np.argsort(lengths, kind="stable")
        vectors = np.empty((len(texts), encoder.outputs[0].shape[-1]), np.float32)
        for chunk in chunks_of_padded(lengths[order], _WORDS_AT_ONCE):
            vectors[order[chunk]] = traced(tf.constant(texts.padded(order[chunk]))).numpy()
        return vectors

    return encode_texts
