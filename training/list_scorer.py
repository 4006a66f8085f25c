"""Scoring every candidate of a split with a ranker of lists."""

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.candidate_lists import list_rows, padded_lists


class ListScorer:
    """Scores the rows of one split as often as wanted, all candidates of a question in one list.

    Args:
        ranker: a model with the inputs `question` `(batch, length)` and `answers`
            `(batch, candidates, length)`, which gives scores `(batch, candidates)`.
        split: the questions and candidates.
        order_seed: None shows the candidates in the split's order; else they are shuffled, see `list_rows`.
        words_per_chunk: how many words of real candidates, padded to one length, are scored at a time, which
            bounds the memory; a question with more is scored by itself.

    Example:
        >>> scores = ListScorer(model, dataset.dev)()  # doctest: +SKIP
    """

    def __init__(
        self,
        ranker: keras.Model,
        split: EncodedSplit,
        *,
        order_seed: int | None = None,
        words_per_chunk: int = 16384,
    ):
        self._n_rows = split.n_rows
        lists = list_rows(split, order_seed)
        counts = np.array([len(rows) for rows in lists])
        lengths = np.maximum(split.candidates.lengths, 1)
        longest = np.array([lengths[rows].max() for rows in lists])
        order = np.lexsort((counts, longest))
        self._chunks = []
        start = 0
        while start < len(order):
            # As the lengths rise, the last question of a chunk says how wide it is.
            ahead = order[start:]
            words = longest[ahead] * np.cumsum(counts[ahead])
            chosen = ahead[: max(1, int(np.searchsorted(words, words_per_chunk, side="right")))]
            rows = [lists[i] for i in chosen]
            self._chunks.append((np.concatenate(rows), counts[chosen], chosen, rows))
            start += len(chosen)
        self._split = split
        # Traced once and for all: chunks differ in shape, and every new shape would be a new trace.
        self._score = tf.function(lambda *inputs: ranker(list(inputs))).get_concrete_function(
            *(tf.TensorSpec(x.shape, x.dtype) for x in ranker.inputs)
        )

    def __call__(self) -> np.ndarray:
        """Return the float32 scores `(rows,)`, in the split's order, under the ranker's current weights."""
        scores = np.empty(self._n_rows, np.float32)
        for flat, counts, questions, rows in self._chunks:
            inputs = (self._split.questions.padded(questions), padded_lists(self._split, rows))
            padded = self._score(*map(tf.convert_to_tensor, inputs)).numpy()
            scores[flat] = padded[np.arange(padded.shape[1]) < counts[:, None]]
        return scores
