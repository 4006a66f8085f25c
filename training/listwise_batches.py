"""The stream of whole questions that list-wise training runs over."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit, UserError
from training.batch_stream import batch_dataset
from training.candidate_lists import list_rows, padded_lists, real_candidates

# Questions of this many batches are sorted by length together, and of this many by the number of their
# candidates: enough that like meets like, and few enough that batches differ from epoch to epoch.
_BATCHES_PER_WINDOW = 32
_BATCHES_PER_STRIP = 4


class ListwiseBatches:
    """Batches of questions with all their candidates, as a `tf.data.Dataset`.

    An epoch takes every question with a correct answer once, in a random order. The others are left out: the
    normalised labels that the loss compares with are not defined for them (Cosinet's paper removes questions
    without answers altogether, section 4.1). Within windows of 32 batches questions are sorted by their
    longest text, and within strips of 4 batches by the number of their candidates, before they are cut into
    batches, so that little is padded; then the batches are shuffled. Every array has a leading axis of the
    length `replicas`, along which a `tf.distribute.MirroredStrategy` deals it out.

    Set `epoch` before an epoch starts (`KeepEpoch` does in `fit`); the order depends on it and on the seed
    alone.

    Args:
        split: questions and candidates.
        batch_size: questions in a batch.
        seed: seeds the order of the questions.
        order_seed: None keeps the order of the candidates; else they are shuffled, see `list_rows`.
        max_candidates: a longer list is cut down to so many: its first correct candidates, and as many of its
            first wrong ones as there is room for, in the list's order; None cuts none.
        replicas: how many replicas share a batch.

    Raises:
        ValueError: an option is out of range.
        UserError: there is nothing to tell apart: no question has a correct and a wrong candidate.

    Example:
        >>> batches = ListwiseBatches(split, batch_size=16)  # doctest: +SKIP
        >>> trainer.fit(batches.dataset(), epochs=3)  # doctest: +SKIP
    """

    def __init__(
        self,
        split: EncodedSplit,
        batch_size: int,
        *,
        seed: int = 0,
        order_seed: int | None = None,
        max_candidates: int | None = None,
        replicas: int = 1,
    ):
        if batch_size < 1 or (max_candidates is not None and max_candidates < 2):
            raise ValueError(
                "`batch_size` must be at least 1 and `max_candidates` at least 2. "
                f"Received: batch_size={batch_size}, max_candidates={max_candidates}"
            )
        if not split.counts_under("clean").any():
            raise UserError(
                "no training question has both a correct answer and a wrong one: there is nothing to train "
                "on. Check the labels of the training table."
            )
        self.split = split
        self.batch_size = batch_size
        self.seed = seed
        self.replicas = replicas
        self.epoch = 0
        self.questions = np.flatnonzero(split.counts_under("answerable"))
        lists = list_rows(split, order_seed)
        self.lists = {int(i): self._cut(lists[i], max_candidates) for i in self.questions}
        lengths = split.candidates.lengths
        self._longest = np.array([lengths[rows].max() for rows in self.lists.values()])
        self._counts = np.array([len(rows) for rows in self.lists.values()])

    def _cut(self, rows: np.ndarray, max_candidates: int | None) -> np.ndarray:
        if max_candidates is None or len(rows) <= max_candidates:
            return rows
        # Correct ones first, both kinds in the list's order; then back into that order.
        places = np.argsort(-self.split.labels[rows], kind="stable")[:max_candidates]
        return rows[np.sort(places)]

    def __len__(self) -> int:
        return -(-len(self.questions) // self.batch_size)

    def dataset(self) -> tf.data.Dataset:
        """Return one epoch's batches; iterating them again gives the epoch that `epoch` then names."""
        signature = {
            "question": tf.TensorSpec((self.replicas, None, None), tf.int32),
            "answers": tf.TensorSpec((self.replicas, None, None, None), tf.int32),
            "real": tf.TensorSpec((self.replicas, None, None), tf.bool),
            "label": tf.TensorSpec((self.replicas, None, None), tf.float32),
            "weight": tf.TensorSpec((self.replicas, None), tf.float32),
        }
        return batch_dataset(self, signature)

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Make the epoch's batches: padded words, which candidates are real, the labels divided by their sum,
        and weights of the questions that add up to 1 over a batch.
        """
        split = self.split
        for questions in self._groups():
            share = -(-len(questions) // self.replicas)
            # The last replicas' shares may be shorter; they are filled up with questions that do not count.
            n_fill = share * self.replicas - len(questions)
            filled = np.concatenate([questions, np.full(n_fill, questions[0])])
            lists = [self.lists[int(i)] for i in filled]
            real = real_candidates(lists)
            label = np.zeros(real.shape, np.float32)
            label[real] = split.labels[np.concatenate(lists)]
            arrays = {
                "question": split.questions.padded(filled),
                "answers": padded_lists(split, lists),
                "real": real,
                "label": label / label.sum(axis=1, keepdims=True),
                "weight": ((np.arange(len(filled)) < len(questions)) / len(questions)).astype(np.float32),
            }
            yield {name: x.reshape(self.replicas, share, *x.shape[1:]) for name, x in arrays.items()}

    def _groups(self) -> list[np.ndarray]:
        """Return the questions of each batch."""
        rng = np.random.default_rng([self.seed, self.epoch])
        order = _sorted_within(rng.permutation(len(self.questions)), self._longest, self._window)
        order = _sorted_within(order, self._counts, self.batch_size * _BATCHES_PER_STRIP)
        groups = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        return [self.questions[groups[i]] for i in rng.permutation(len(groups))]

    @property
    def _window(self) -> int:
        return self.batch_size * _BATCHES_PER_WINDOW


def _sorted_within(order: np.ndarray, keys: np.ndarray, size: int) -> np.ndarray:
    """Sort stretches of so many entries by their keys."""
    stretches = np.arange(len(order)) // size
    return order[np.lexsort((keys[order], stretches))]
