"""Keras models behind a ranker: texts encoded apart, and word vectors that a model did not have."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep.encoded_split import EncodedTexts, runs
from answer_ranking.layers import CosineSimilarity

_WORDS_AT_ONCE = 8192


def word_layer(model: keras.Model) -> keras.layers.Embedding | None:
    """Find the layer of word vectors in a model; None where it has none."""
    for layer in model.layers:
        if layer.name == "word_vectors":
            return layer
        if hasattr(layer, "layers") and (found := word_layer(layer)) is not None:
            return found
    return None


def with_more_words(model: keras.Model, added: np.ndarray) -> keras.Model:
    """Copy a model whose frozen word vectors `added`, float32 (k, n), follow; their numbers go on."""
    config = keras.saving.serialize_keras_object(model)
    layer = word_layer(model)
    assert layer is not None
    embeddings = layer.embeddings
    _set_words(config, len(added) + embeddings.shape[0])
    grown = keras.saving.deserialize_keras_object(config)
    for old, new in zip(model.weights, grown.weights, strict=True):
        value = keras.ops.convert_to_numpy(old)
        new.assign(np.concatenate([value, added]) if old is embeddings else value)
    return grown


def _set_words(config: Any, n_words: int) -> None:
    values = config.values() if isinstance(config, dict) else config if isinstance(config, list) else ()
    if isinstance(config, dict) and config.get("name") == "word_vectors" and "input_dim" in config:
        config["input_dim"] = n_words
    for value in values:
        _set_words(value, n_words)


def encodes_apart(model: keras.Model) -> bool:
    """Say whether each text has a vector of its own, compared by the cosine (QA-CNN, QA-BiLSTM)."""
    parts = {layer.name: layer for layer in model.layers}
    if not {"encoder", "matcher"} <= parts.keys() or len(parts["encoder"].outputs) != 1:
        return False
    steps = [step for step in parts["matcher"].operations if not isinstance(step, keras.layers.InputLayer)]
    return [type(step) for step in steps] == [CosineSimilarity]


def text_encoder(model: keras.Model) -> Callable[[EncodedTexts], np.ndarray]:
    """Make the function from texts to their vectors, float32 (n_texts, d), of a model that `encodes_apart`.

    It is traced once; texts of like length are encoded together.
    """
    encoder, encoding = model.get_layer("encoder"), getattr(model, "encoding", None)

    def encode(words: tf.Tensor) -> tf.Tensor:
        return encoding(*encoding.project(words))[0] if encoding else encoder(words)

    traced = tf.function(encode).get_concrete_function(tf.TensorSpec((None, None), tf.int32))

    def encode_texts(texts: EncodedTexts) -> np.ndarray:
        lengths = np.maximum(texts.lengths, 1)
        order = np.argsort(lengths, kind="stable")
        lengths = lengths[order]
        vectors = np.empty((len(texts), encoder.outputs[0].shape[-1]), np.float32)
        for run in runs(
            len(order), _WORDS_AT_ONCE, lambda run: lengths[run] * np.arange(1, len(lengths[run]) + 1)
        ):
            vectors[order[run]] = traced(tf.constant(texts.padded(order[run]))).numpy()
        return vectors

    return encode_texts
