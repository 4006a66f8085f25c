"""The dataset of batches gives those of its source, in their order."""

import doctest
import itertools
import threading

import numpy as np
import pytest
import tensorflow as tf

import training.dataset_options
from training.batch_stream import batch_dataset
from training.dataset_options import without_autotuning

SIGNATURE = {"number": tf.TensorSpec((), tf.int64), "row": tf.TensorSpec((None,), tf.float32)}


class Source:
    epoch = 0

    def __len__(self):
        return 7

    def batches(self):
        rng = np.random.default_rng(self.epoch)
        for number in range(len(self)):
            yield {"number": np.int64(number), "row": rng.random(rng.integers(1, 5)).astype("float32")}


@pytest.mark.parametrize("epochs", [(0, 1), (3, 0)])
def test_every_epoch_is_that_of_the_source(epochs):
    source, reference = Source(), Source()
    dataset = batch_dataset(source, SIGNATURE)
    for epoch in epochs:
        source.epoch = reference.epoch = epoch
        pairs = itertools.zip_longest(dataset.as_numpy_iterator(), reference.batches())
        for number, (found, expected) in enumerate(pairs):
            assert found["number"] == number
            np.testing.assert_array_equal(found["row"], expected["row"])
        assert number == len(source) - 1


def test_batches_are_made_ahead():
    third = threading.Event()

    class Watched(Source):
        def batches(self):
            for number, batch in enumerate(super().batches()):
                if number == 2:
                    third.set()
                yield batch

    stream = iter(batch_dataset(Watched(), SIGNATURE))
    next(stream)
    # Nobody has asked for it yet.
    assert third.wait(60)


def test_nothing_is_tuned_in_the_background():
    plain = tf.data.Dataset.range(3)
    assert plain.options().autotune.enabled is None
    assert without_autotuning(plain).options().autotune.enabled is False
    # Keras' iterator reads the options of the whole pipeline.
    assert batch_dataset(Source(), SIGNATURE).options().autotune.enabled is False


def test_docstring():
    assert doctest.testmod(training.dataset_options).failed == 0
