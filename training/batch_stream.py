"""A `tf.data.Dataset` over batches that NumPy makes, epoch after epoch."""

import weakref
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import tensorflow as tf

from training.dataset_options import batches_ahead, without_autotuning  # speed only


class Batches(Protocol):
    """Batches as training reads them: `fit` sets `epoch`, then iterates `dataset()`."""

    epoch: int

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""

    def dataset(self) -> tf.data.Dataset:
        """Return one epoch's batches; iterating them again gives the epoch that `epoch` then names."""

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Make the batches of the epoch that `epoch` names."""


def batch_dataset(source: Batches, signature: dict[str, tf.TensorSpec]) -> tf.data.Dataset:
    """Stream `source.batches()`, ahead of the step that reads them where there are cores to spare.

    `Dataset.from_generator` would do the same and take ten times as long per batch.

    Args:
        source: makes the batches.
        signature: the types and shapes of a batch's arrays.
    """
    stream: Iterator[dict[str, np.ndarray]] = iter(())
    n_batches = len(source)
    # TensorFlow keeps every function given to `numpy_function` for ever; what it refers to need not stay.
    batches = weakref.ref(source)

    def next_batch(number: int) -> list[np.ndarray]:
        nonlocal stream
        if number == 0:
            stream = batches().batches()
        batch = next(stream)
        if number == n_batches - 1:
            stream = iter(())
        return [batch[name] for name in signature]

    def load(number: tf.Tensor) -> dict[str, tf.Tensor]:
        arrays = tf.numpy_function(next_batch, [number], [spec.dtype for spec in signature.values()])
        return {k: tf.ensure_shape(x, s.shape) for (k, s), x in zip(signature.items(), arrays, strict=True)}

    dataset = tf.data.Dataset.range(n_batches).map(load).prefetch(batches_ahead())
    dataset = without_autotuning(dataset)  # speed only
    dataset.batches = source
    return dataset
