"""The stream of question-answer pairs that pointwise training runs over."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from data_prep import EncodedSplit, UserError
from training.batch_stream import batch_dataset

# How many batches are sorted by length together: enough that texts of one length meet, and few enough that
# batches differ from epoch to epoch.
_BATCHES_PER_WINDOW = 32


class PointwiseBatches:
    """Batches of question-answer pairs with their labels, as a `tf.data.Dataset`.

    An epoch takes every pair once, in a random order. Within windows of 32 batches pairs are sorted by the
    answer's length before they are cut into batches, so that little is padded, and the batches shuffled.
    Every array has a leading axis of the length `replicas`, along which a `tf.distribute.MirroredStrategy`
    deals it out.

    Set `epoch` before an epoch starts (`KeepEpoch` does in `fit`); the order depends on it and on the seed
    alone.

    Args:
        split: questions and candidates.
        batch_size: pairs in a batch.
        seed: seeds the order.
        replicas: how many replicas share a batch.

    Raises:
        ValueError: an option is out of range.
        UserError: there is nothing to tell apart: the labels are all the same.

    Example:
        >>> batches = PointwiseBatches(split, batch_size=64)  # doctest: +SKIP
        >>> trainer.fit(batches.dataset(), epochs=25)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, batch_size: int, *, seed: int = 0, replicas: int = 1):
        if batch_size < 1:
            raise ValueError(f"`batch_size` must be at least 1. Received: batch_size={batch_size}")
        if len(np.unique(split.labels)) < 2:
            raise UserError(
                "the training answers are all correct or all wrong: there is nothing to train on. Check the "
                "labels of the training table."
            )
        self.split = split
        self.batch_size = batch_size
        self.seed = seed
        self.replicas = replicas
        self.epoch = 0

    def __len__(self) -> int:
        return -(-self.split.n_rows // self.batch_size)

    def dataset(self) -> tf.data.Dataset:
        """Return one epoch's batches; iterating them again gives the epoch that `epoch` then names."""
        rectangle, row = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.float32)
        signature = {"question": rectangle, "answer": rectangle, "label": row, "weight": row}
        if self.split.features is not None:
            signature["features"] = tf.TensorSpec((None, self.split.features.shape[1]), tf.float32)
        signature = {k: tf.TensorSpec([self.replicas, *s.shape], s.dtype) for k, s in signature.items()}
        return batch_dataset(self, signature)

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Make the epoch's batches: padded words, labels, and weights that add up to 1 over a batch."""
        split = self.split
        for rows in self._groups():
            share = -(-len(rows) // self.replicas)
            # The last replicas' shares may be shorter; they are filled up with pairs that do not count.
            filled = np.concatenate([rows, np.full(share * self.replicas - len(rows), rows[0])])
            weight = (np.arange(len(filled)) < len(rows)) / len(rows)
            arrays = {
                "question": split.questions.padded(split.question_of_row[filled]),
                "answer": split.candidates.padded(filled),
                "label": split.labels[filled].astype(np.float32),
                "weight": weight.astype(np.float32),
            }
            if split.features is not None:
                arrays["features"] = split.features[filled]
            yield {name: x.reshape(self.replicas, share, *x.shape[1:]) for name, x in arrays.items()}

    def _groups(self) -> list[np.ndarray]:
        """Return the rows of each batch."""
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(self.split.n_rows)
        lengths = self.split.candidates.lengths
        window = _BATCHES_PER_WINDOW * self.batch_size
        groups = []
        for start in range(0, len(order), window):
            rows = order[start : start + window]
            rows = rows[np.argsort(lengths[rows], kind="stable")]
            groups += [rows[i : i + self.batch_size] for i in range(0, len(rows), self.batch_size)]
        return [groups[i] for i in rng.permutation(len(groups))]
