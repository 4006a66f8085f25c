"""A `tf.data.Dataset` over batches that NumPy makes, epoch after epoch."""

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedSplit
    from answer_ranking.training.ranker_trainer import RankerTrainer


NO_PAIRS = (
    "no training question has both a correct answer and a wrong one: there is nothing to train on. Check the "
    "labels of the training table."
)


class TrainingMethod(ABC):
    """A method of training: its data, options, batches and loss, for any ranker.

    An epoch takes `n_items` items, `options.batch_size` in a batch.
    """

    callbacks: Sequence[keras.callbacks.Callback] = ()

    def __init__(self, split: "EncodedSplit", options: Any, seed: int, n_items: int):
        self.split = split
        self.options = options
        self.seed = seed
        self.n_items = n_items

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return -(-self.n_items // self.options.batch_size)

    @abstractmethod
    def trainer(self, ranker: keras.Model) -> "RankerTrainer":
        """Return what computes the training step for a ranker."""

    @abstractmethod
    def signature(self, trainer: "RankerTrainer") -> dict[str, tf.TensorSpec]:
        """Return types and shapes of a batch's arrays."""

    @abstractmethod
    def batches(self, trainer: "RankerTrainer", epoch: int) -> Iterator[dict[str, np.ndarray]]:
        """Make the batches of an epoch, which depend on seed and epoch."""


class BatchStream:
    """Gives the batches of a training method to `keras.Model.fit`, ahead of the step where cores are free."""

    def __init__(self, method: TrainingMethod, trainer: "RankerTrainer"):
        self.method, self.trainer, self.epoch = method, trainer, 0
        self.n_batches = len(method)

    def __len__(self) -> int:
        return self.n_batches

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        return self.method.batches(self.trainer, self.epoch)

    def start(self, epoch: int, logs: dict | None = None) -> None:
        """Let the next iteration give the batches of an epoch."""
        self.epoch = epoch

    def dataset(self) -> tf.data.Dataset:
        """Return a dataset of one epoch; each iteration gives the epoch that has started."""
        signature = self.method.signature(self.trainer)
        dtypes = [spec.dtype for spec in signature.values()]
        batches: Iterator[dict[str, np.ndarray]] = iter(())
        # TensorFlow never frees a function given to `numpy_function`; a weak reference lets the data go.
        source: Any = weakref.ref(self)
        n_batches = self.n_batches

        def next_batch(number: int) -> list[np.ndarray]:
            nonlocal batches
            if number == 0:
                batches = iter(source())
            batch = next(batches)
            if number == n_batches - 1:
                batches = iter(())
            return [batch[name] for name in signature]

        def load(number: tf.Tensor) -> dict[str, tf.Tensor]:
            # `Dataset.from_generator` takes ten times as long per batch.
            arrays = tf.numpy_function(next_batch, [number], dtypes)
            batch = {}
            for (name, spec), array in zip(signature.items(), arrays, strict=True):
                batch[name] = tf.ensure_shape(array, spec.shape)
            return batch

        dataset = tf.data.Dataset.range(n_batches).map(load).prefetch(batches_ahead())
        # An iterator waits for the thread that tunes its buffers, which may sleep on to the end of its
        # interval (TensorFlow 2.21): up to half an epoch's time, and there is nothing to tune.
        options = tf.data.Options()
        options.autotune.enabled = False
        dataset = dataset.with_options(options)
        dataset.source = self
        return dataset


def batches_ahead() -> int:
    """Say how many batches to make ahead of the step, which keeps two cores busy on a CPU."""
    # Which cores a process may use is known on Linux alone.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 4 if cores > 2 or tf.config.list_physical_devices("GPU") else 0


def batches_of_like_length(
    rng: np.random.Generator, batch_size: int, *sortings: tuple[np.ndarray, int]
) -> list[np.ndarray]:
    """Cut items into batches of like length, so that little is padded.

    `sortings` are the items' lengths, and how many batches are sorted by them together: enough that items of
    one length meet, and few enough that batches differ from epoch to epoch.
    """
    order = rng.permutation(len(sortings[0][0]))
    for lengths, n_batches in sortings:
        window = np.arange(len(order)) // (n_batches * batch_size)
        order = order[np.lexsort((lengths[order], window))]
    groups = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [groups[i] for i in rng.permutation(len(groups))]
