"""The stream of batches that training against the hardest of sampled negatives runs over."""

import itertools
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit
from training.answer_sampler import AnswerSampler
from training.batch_stream import batch_dataset

REDUCTIONS = ("mean", "sum")

_MATRIX, _ROW = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
_SIGNATURE = {
    "question": _MATRIX,
    "correct": _MATRIX,
    "weight": tf.TensorSpec((None,), tf.float32),
    "sampled": _MATRIX,
    "pair_text": _ROW,
    "pair_question": _ROW,
    "choice": _MATRIX,
    "chunk_texts": _ROW,
    "chunk_pairs": _ROW,
    "chunk_widths": _ROW,
}


class HardestNegativeBatches:
    """Batches of questions, their correct answers and the wrong answers drawn for them.

    The drawn answers of a batch stand in `sampled`, each once, the shortest first, and are cut into chunks of
    bounded size, so that neither padding nor what is encoded at a time grow with their number. The arrays of
    a batch:

    ```
    question, correct  int32 (n, words)    the texts of n pairs, 0 being padding
    weight             float32 (n,)        what a pair counts in the loss
    sampled            int32 (texts, words)
    pair_text          int32 (scored,)     the pairs of question and sampled answer that are scored,
    pair_question      int32 (scored,)     by rising number of the sampled answer
    choice             int32 (n, k)        which of them belong to a pair; -1 for none
    chunk_texts        int32 (chunks + 1,) chunk c has the texts chunk_texts[c] to chunk_texts[c + 1] - 1,
    chunk_pairs        int32 (chunks + 1,) the scored pairs chunk_pairs[c] to chunk_pairs[c + 1] - 1,
    chunk_widths       int32 (chunks,)     and its longest text has so many words
    ```

    Every array has a further leading axis of the length `replicas`, along which a
    `tf.distribute.MirroredStrategy` deals it out.

    Set `epoch` before an epoch starts (`KeepEpoch` does in `fit`); order and draws depend on it and on the
    seed alone.

    Args:
        split: the training split; the sampler's.
        sampler: draws the wrong answers.
        batch_size: pairs in a batch.
        reduction: how the pairs weigh in the loss: their "mean" or their "sum".
        seed: seeds order and draws.
        replicas: how many replicas share a batch.
        words_per_chunk: how many words, padding included, a chunk's sampled texts may have; the texts of its
            scored pairs may have four times as many.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> batches = HardestNegativeBatches(split, AnswerSampler(split), batch_size=20)  # doctest: +SKIP
        >>> trainer.fit(batches.dataset(), epochs=25)  # doctest: +SKIP
    """

    def __init__(
        self,
        split: EncodedSplit,
        sampler: AnswerSampler,
        batch_size: int,
        *,
        reduction: str = "mean",
        seed: int = 0,
        replicas: int = 1,
        words_per_chunk: int = 8192,
    ):
        if reduction not in REDUCTIONS:
            raise ValueError(f"`reduction` must be one of {REDUCTIONS}. Received: reduction={reduction!r}")
        if batch_size < 1 or words_per_chunk < 1:
            raise ValueError(
                "`batch_size` and `words_per_chunk` must be at least 1. Received: "
                f"batch_size={batch_size}, words_per_chunk={words_per_chunk}"
            )
        self.split = split
        self.sampler = sampler
        self.batch_size = batch_size
        self.reduction = reduction
        self.seed = seed
        self.replicas = replicas
        self.words_per_chunk = words_per_chunk
        self.epoch = 0

    def __len__(self) -> int:
        return -(-len(self.sampler) // self.batch_size)

    def dataset(self) -> tf.data.Dataset:
        """Return one epoch's batches; iterating them again gives the epoch that `epoch` then names."""
        signature = {k: tf.TensorSpec([self.replicas, *s.shape], s.dtype) for k, s in _SIGNATURE.items()}
        return batch_dataset(self, signature)

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Draw the epoch's wrong answers and make its batches."""
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self.sampler))
        for number, start in enumerate(range(0, len(order), self.batch_size)):
            pairs = order[start : start + self.batch_size]
            drawn = self.sampler.draw(pairs, np.random.default_rng([self.seed, self.epoch, number]))
            # A replica without a pair gets an empty share of the batch.
            bounds = np.linspace(0, len(pairs), self.replicas + 1).round().astype(int)
            weight = 1 / len(pairs) if self.reduction == "mean" else 1.0
            yield _stack([self._part(pairs[a:b], drawn[a:b], weight) for a, b in itertools.pairwise(bounds)])

    def _part(self, pairs: np.ndarray, drawn: np.ndarray, weight: float) -> dict[str, np.ndarray]:
        texts = self.sampler.texts
        owner, column = np.nonzero(drawn >= 0)
        numbers, text_of_drawn = np.unique(drawn[owner, column], return_inverse=True)
        by_length = np.argsort(texts.lengths[numbers], kind="stable")
        place = np.empty(len(numbers), np.int64)
        place[by_length] = np.arange(len(numbers))
        numbers, text_of_drawn = numbers[by_length], place[text_of_drawn]
        by_text = np.argsort(text_of_drawn, kind="stable")
        choice = np.full(drawn.shape, -1)
        choice[owner[by_text], column[by_text]] = np.arange(len(by_text))
        pair_text, pair_question = text_of_drawn[by_text], owner[by_text]
        sampled, lengths = texts.padded(numbers), texts.lengths[numbers]
        if len(numbers) == 0:
            # An empty text and a score that no pair refers to: Keras takes no maximum of nothing.
            sampled, lengths, pair_text = np.zeros((1, 1)), np.array([1]), np.array([0])
            pair_question = pair_text
        n_scored = np.bincount(pair_text, minlength=len(lengths))
        chunk_texts = self._chunks(lengths, n_scored)
        first_pair = np.concatenate([[0], np.cumsum(n_scored)])
        # A pair that drew none but correct answers has nothing to be set against.
        weights = np.where((drawn >= 0).any(axis=1), weight, 0.0)
        arrays = {
            "question": self.split.questions.padded(self.sampler.question_of_pair[pairs]),
            "correct": texts.padded(self.sampler.text_of_pair[pairs]),
            "sampled": sampled,
            "pair_text": pair_text,
            "pair_question": pair_question,
            "choice": choice,
            "chunk_texts": chunk_texts,
            "chunk_pairs": first_pair[chunk_texts],
            "chunk_widths": lengths[chunk_texts[1:] - 1],
        }
        return {k: x.astype(np.int32) for k, x in arrays.items()} | {"weight": weights.astype(np.float32)}

    def _chunks(self, lengths: np.ndarray, n_scored: np.ndarray) -> np.ndarray:
        """Cut texts of rising length into chunks; give where each begins, and the end of the last."""
        edges, start = [0], 0
        scored = np.concatenate([[0], np.cumsum(n_scored)])
        while start < len(lengths):
            n_texts = np.arange(1, len(lengths) - start + 1)
            fits = (n_texts * lengths[start:] <= self.words_per_chunk) & (
                (scored[start + 1 :] - scored[start]) * lengths[start:] <= 4 * self.words_per_chunk
            )
            start += max(1, int(fits.sum()))
            edges.append(start)
        return np.array(edges)


def _stack(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Stack the replicas' shares of a batch; the smaller ones are filled up with what does not count."""
    stacked = {}
    for name in parts[0]:
        values = [part[name] for part in parts]
        shape = np.max([value.shape for value in values], axis=0)
        filled = []
        for value in values:
            missing = [(0, n - m) for n, m in zip(shape, value.shape, strict=True)]
            # Further chunks begin where the last one ends: they have no texts.
            fill = -1 if name == "choice" else value[-1] if name in ("chunk_texts", "chunk_pairs") else 0
            filled.append(np.pad(value, missing, constant_values=fill))
        stacked[name] = np.stack(filled)
    return stacked
