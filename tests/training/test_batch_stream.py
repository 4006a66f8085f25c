"""The dataset of batches gives those of its source, in their order."""

import itertools
import threading

import numpy as np
import pytest
import tensorflow as tf

from answer_ranking.training import batch_stream
from answer_ranking.training.batch_stream import BatchStream


class Numbers:
    """A method of training whose batches tell their number."""

    def __len__(self):
        return 7

    def signature(self, trainer):
        return {"number": tf.TensorSpec((), tf.int64), "row": tf.TensorSpec((None,), tf.float32)}

    def batches(self, trainer, epoch):
        rng = np.random.default_rng(epoch)
        for number in range(len(self)):
            yield {"number": np.int64(number), "row": np.float32(rng.random(rng.integers(1, 5)))}


@pytest.mark.parametrize("ahead", [0, 4])
@pytest.mark.parametrize("epochs", [(0, 1), (3, 0)])
def test_every_epoch_is_that_of_the_source(epochs, ahead, monkeypatch):
    monkeypatch.setattr(batch_stream, "batches_ahead", lambda: ahead)
    stream = BatchStream(Numbers(), None)
    dataset = stream.dataset()
    for epoch in epochs:
        stream.epoch = epoch
        pairs = itertools.zip_longest(dataset.as_numpy_iterator(), Numbers().batches(None, epoch))
        for number, (found, expected) in enumerate(pairs):
            assert found["number"] == number
            np.testing.assert_array_equal(found["row"], expected["row"])
        assert number == len(stream) - 1


class Watched(Numbers):
    def __init__(self):
        self.made, self.third = [], threading.Event()

    def batches(self, *arguments):
        for number, batch in enumerate(super().batches(*arguments)):
            self.made.append(number)
            if number == 2:
                self.third.set()
            yield batch


def test_batches_are_made_ahead(monkeypatch):
    monkeypatch.setattr(batch_stream, "batches_ahead", lambda: 4)
    source = Watched()
    stream = iter(BatchStream(source, None).dataset())
    next(stream)
    # Nobody has asked for it yet.
    assert source.third.wait(60)


def test_batches_are_made_between_the_steps(monkeypatch):
    monkeypatch.setattr(batch_stream, "batches_ahead", lambda: 0)
    source = Watched()
    stream = iter(BatchStream(source, None).dataset())
    for asked_for in (1, 2):
        next(stream)
        assert len(source.made) == asked_for
