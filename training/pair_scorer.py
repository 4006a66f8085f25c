"""Scoring every candidate of a split with a ranker of padded pairs."""

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit


class PairScorer:
    """Scores the rows of one split as often as wanted, pairs of like length together.

    Args:
        ranker: a model with the inputs `question`, `answer` and, if it has any, `features`.
        split: the questions and candidates.
        words_per_chunk: how many words of questions and answers, padding included, are scored at a time,
            which bounds the memory.

    Raises:
        ValueError: the ranker wants features that the split does not have.

    Example:
        >>> scores = PairScorer(model, dataset.dev)()  # doctest: +SKIP
    """

    def __init__(self, ranker: keras.Model, split: EncodedSplit, words_per_chunk: int = 16384):
        names = [x.name for x in ranker.inputs]
        if "features" in names and split.features is None:
            raise ValueError("the ranker has the input `features`. Received: a split without features")
        question_of_row = split.question_of_row
        lengths = np.maximum(split.candidates.lengths, 1)
        question_lengths = np.maximum(np.diff(split.questions.offsets), 1)[question_of_row]
        order = np.argsort(lengths, kind="stable")
        self._order = order
        self._chunks = []
        start = 0
        while start < len(order):
            # No chunk has more rows than words.
            ahead = order[start : start + max(1, words_per_chunk)]
            # As the answers' lengths rise, the last row of a chunk says how wide they are.
            widths = lengths[ahead] + np.maximum.accumulate(question_lengths[ahead])
            words = widths * np.arange(1, len(ahead) + 1)
            rows = ahead[: max(1, int(np.searchsorted(words, words_per_chunk, side="right")))]
            arrays = {
                "question": split.questions.padded(question_of_row[rows]),
                "answer": split.candidates.padded(rows),
                "features": None if split.features is None else split.features[rows],
            }
            self._chunks.append([arrays[name] for name in names])
            start += len(rows)
        # Traced once and for all: chunks differ in shape, and every new shape would be a new trace.
        self._score = tf.function(lambda *inputs: ranker(list(inputs))).get_concrete_function(
            *(tf.TensorSpec(x.shape, x.dtype) for x in ranker.inputs)
        )

    def __call__(self) -> np.ndarray:
        """Return the float32 scores `(rows,)` under the ranker's current weights."""
        scores = np.empty(len(self._order), np.float32)
        chunks = [self._score(*map(tf.convert_to_tensor, chunk)).numpy() for chunk in self._chunks]
        scores[self._order] = np.concatenate(chunks)
        return scores
