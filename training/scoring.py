"""Scoring every candidate of a split with a ranker, each text encoded once."""

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.pairwise_batches import TextEncoding


class SplitScorer:
    """Scores the candidates of one split as often as wanted; the split is packed once.

    Args:
        ranker: a model with the layers `encoder` and `matcher`.
        encoding: how texts become vectors; shares the ranker's weights.
        split: the questions and candidates.
        texts_per_chunk: how many texts are encoded at a time, which bounds the memory.

    Example:
        >>> scores = SplitScorer(model, encoding, dataset.dev)()  # doctest: +SKIP
    """

    def __init__(
        self, ranker: keras.Model, encoding: TextEncoding, split: EncodedSplit, texts_per_chunk: int = 8192
    ):
        self.n_rows = split.n_rows
        self._chunks = []
        start = 0
        while start < split.n_questions:
            limit = split.candidate_offsets[start] + texts_per_chunk
            stop = int(np.searchsorted(split.candidate_offsets, limit, side="right")) - 1
            stop = max(stop, start + 1)
            first, last = split.candidate_offsets[[start, stop]]
            texts = encoding.pack(
                split.questions.take(np.arange(start, stop)), split.candidates.take(np.arange(first, last))
            )
            owner = (split.question_of_row[first:last] - start).astype(np.int32)
            self._chunks.append((texts, owner, np.int32(stop - start)))
            start = stop
        matcher = ranker.get_layer("matcher")

        def score(texts, owner, n_questions):
            points = tf.nest.flatten(encoding(texts))
            questions = [tf.gather(x[:n_questions], owner) for x in points]
            return matcher([*questions, *(x[n_questions:] for x in points)])

        # Traced once and for all: chunks differ in shape, and every new shape would be a new trace.
        self._score = tf.function(score).get_concrete_function(
            encoding.signature, tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int32)
        )

    def __call__(self) -> np.ndarray:
        """Return the float32 scores `(rows,)` under the ranker's current weights."""
        tensors = (tf.nest.map_structure(tf.convert_to_tensor, chunk) for chunk in self._chunks)
        return np.concatenate([self._score(*chunk).numpy() for chunk in tensors])
