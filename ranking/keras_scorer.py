"""Keras models that score for a ranker, as `NumpyHyperQA` does without Keras."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import keras
import numpy as np

from answer_ranking.data_prep import EncodedSplit, EncodedTexts
from answer_ranking.data_prep.word_vectors.contextual import TokenVectors
from answer_ranking.models.catalogue import Entry, recognise
from answer_ranking.ranking.keras_texts import GrowingModel, text_encoder, word_layer
from answer_ranking.ranking.numpy_hyperqa import NumpyHyperQA, cosine


class KerasScorer:
    """A Keras model in use; threads take turns.

    Args:
        model: reads pairs or lists, see `Ranker`.
        encodes_apart: whether it gives each text a vector of its own, which it compares by the cosine.
    """

    similarity = "cosine"
    nearest_is_best = True

    def __init__(self, model: keras.Model, encodes_apart: bool):
        self.model, self.encodes_apart = model, encodes_apart
        inputs = [each.name for each in model.inputs]
        self.needs_features, self.reads_lists = "features" in inputs, "answers" in inputs
        self.lock = threading.RLock()
        """Held by the thread that has what `grown` gives."""
        self._layer = word_layer(model)
        self._growing = GrowingModel(model)
        self._encoder_of = lru_cache(maxsize=1)(text_encoder)

    @property
    def n_words(self) -> int | None:
        """How many words have vectors; None for an encoder, or features alone."""
        return None if self._layer is None else self._layer.input_dim

    @property
    def is_frozen(self) -> bool:
        """Whether the vectors of its words are those of a file, which has more."""
        return self.n_words is not None and not self._layer.trainable

    def vectors_of(self, numbers: np.ndarray) -> np.ndarray:
        """Give the vectors of words by their numbers, float32 `(words, n)`."""
        return keras.ops.convert_to_numpy(self._layer.embeddings)[numbers]

    @contextmanager
    def grown(self, texts: EncodedTexts, added: np.ndarray) -> Iterator[keras.Model]:
        """Give the model with the vectors that come with texts, or with those `added` after its own.

        No other thread has it meanwhile. The layer of tokens may be that of a training, which has its own.
        """
        with self.lock:
            if texts.vectors is not None:
                with self._layer.reading(TokenVectors(texts.vectors)):
                    yield self.model
            else:
                yield self._growing.with_words(added) if len(added) else self.model

    def encode(self, texts: EncodedTexts, added: np.ndarray) -> np.ndarray:
        """Compute the vectors of texts, float32 `(n_texts, d)`; see `NumpyHyperQA.encode`."""
        with self.grown(texts, added) as model:
            return self._encoder_of(model)(texts)

    def score_points(self, questions: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """Score vectors `(n, d)` of questions and answers."""
        return cosine(questions, answers)

    def score(self, split: EncodedSplit, added: np.ndarray) -> np.ndarray:
        """Score every candidate of a split, float32 `(rows,)`."""
        from answer_ranking.training import score

        with self.grown(split.questions, added) as model:
            return score(model, split)


def make_scorer(model: keras.Model, entry: Entry | None) -> NumpyHyperQA | KerasScorer:
    """Make what scores with a model: NumPy, where its entry says so, or Keras.

    A HyperQA of mixed precision is left to Keras, and its points are compared by its own layers alone.
    """
    if entry is None:
        return KerasScorer(model, encodes_apart=False)
    in_numpy = _in_numpy(model) if entry.by_numpy else None
    return in_numpy or KerasScorer(model, entry.encodes_apart and not entry.by_numpy)


def kind_of(model: keras.Model) -> str:
    """Find the name in the catalogue of a model that a function of `models` built; "" for another."""
    return recognise(keras.saving.serialize_keras_object(model))


def _in_numpy(model: keras.Model) -> NumpyHyperQA | None:
    config = keras.saving.serialize_keras_object(model)
    parts = [layer for layer in model.layers if layer.name in ("encoder", "matcher")]
    weights = {layer.name: layer.get_weights() for part in parts for layer in part.layers}
    return NumpyHyperQA.from_config(config, weights)
