"""The dataset of batches gives those of its source, in their order."""

import doctest
import itertools
import os
import threading

import numpy as np
import pytest
import tensorflow as tf

import training.batch_stream
import training.dataset_options
from training.batch_stream import batch_dataset
from training.dataset_options import batches_ahead, without_autotuning

SIGNATURE = {"number": tf.TensorSpec((), tf.int64), "row": tf.TensorSpec((None,), tf.float32)}


class Source:
    epoch = 0

    def __len__(self):
        return 7

    def batches(self):
        rng = np.random.default_rng(self.epoch)
        for number in range(len(self)):
            yield {"number": np.int64(number), "row": rng.random(rng.integers(1, 5)).astype("float32")}


@pytest.mark.parametrize("ahead", [0, 4])
@pytest.mark.parametrize("epochs", [(0, 1), (3, 0)])
def test_every_epoch_is_that_of_the_source(epochs, ahead, monkeypatch):
    monkeypatch.setattr(training.batch_stream, "batches_ahead", lambda: ahead)
    source, reference = Source(), Source()
    dataset = batch_dataset(source, SIGNATURE)
    for epoch in epochs:
        source.epoch = reference.epoch = epoch
        pairs = itertools.zip_longest(dataset.as_numpy_iterator(), reference.batches())
        for number, (found, expected) in enumerate(pairs):
            assert found["number"] == number
            np.testing.assert_array_equal(found["row"], expected["row"])
        assert number == len(source) - 1


@pytest.mark.parametrize(("cores", "gpus", "ahead"), [(1, 0, 0), (2, 0, 0), (3, 0, 4), (2, 1, 4)])
def test_batches_are_made_ahead_where_there_are_cores_to_spare(cores, gpus, ahead, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["GPU"] * gpus)
    assert batches_ahead() == ahead


class Watched(Source):
    def __init__(self):
        self.made, self.third = [], threading.Event()

    def batches(self):
        for number, batch in enumerate(super().batches()):
            self.made.append(number)
            if number == 2:
                self.third.set()
            yield batch


def test_batches_are_made_ahead(monkeypatch):
    monkeypatch.setattr(training.batch_stream, "batches_ahead", lambda: 4)
    source = Watched()
    stream = iter(batch_dataset(source, SIGNATURE))
    next(stream)
    # Nobody has asked for it yet.
    assert source.third.wait(60)


def test_batches_are_made_between_the_steps(monkeypatch):
    monkeypatch.setattr(training.batch_stream, "batches_ahead", lambda: 0)
    source = Watched()
    stream = iter(batch_dataset(source, SIGNATURE))
    for asked_for in (1, 2):
        next(stream)
        assert len(source.made) == asked_for


def test_nothing_is_tuned_in_the_background():
    plain = tf.data.Dataset.range(3)
    assert plain.options().autotune.enabled is None
    assert without_autotuning(plain).options().autotune.enabled is False
    # Keras' iterator reads the options of the whole pipeline.
    assert batch_dataset(Source(), SIGNATURE).options().autotune.enabled is False


def test_docstring():
    assert doctest.testmod(training.dataset_options).failed == 0
