from itertools import pairwise

import numpy as np
import pytest

from data_prep import UserError
from training.callbacks import KeepEpoch
from training.pointwise_batches import PointwiseBatches


@pytest.fixture
def split(make_split):
    """A split whose first feature is the number of the row, so that a batch tells which rows it holds."""
    made = make_split(40, n_features=2)
    made.features[:, 0] = np.arange(made.n_rows)
    return made


def rows_of(batch):
    """The rows of a batch, in order, without those that fill it up."""
    return batch["features"][..., 0][batch["weight"] > 0].astype(int).tolist()


def epoch_of(batches, epoch=0):
    batches.epoch = epoch
    return [rows_of(batch) for batch in batches.batches()]


@pytest.mark.parametrize("replicas", [1, 2, 3, 5])
@pytest.mark.parametrize("batch_size", [1, 4, 7, 1000])
def test_an_epoch_holds_every_row_once_and_as_it_is(split, batch_size, replicas):
    batches = PointwiseBatches(split, batch_size, seed=3, replicas=replicas)
    made = list(batches.batches())
    assert len(made) == len(batches) == -(-split.n_rows // batch_size)
    assert sorted(row for batch in made for row in rows_of(batch)) == list(range(split.n_rows))
    assert {len(rows_of(batch)) for batch in made[:-1]} <= {batch_size, split.n_rows % batch_size}
    for batch in made:
        assert {len(array) for array in batch.values()} == {replicas}
        # A mean over the pairs of the batch, whatever fills it up.
        assert batch["weight"].sum() == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(batch["weight"][batch["weight"] > 0], 1 / len(rows_of(batch)), rtol=1e-6)
        for name in ("question", "answer"):
            assert (batch[name] > 0).any(axis=(0, 1)).all(), "a column of padding alone"
        flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in batch.items()}
        for place in np.flatnonzero(flat["weight"]):
            row = int(flat["features"][place, 0])
            np.testing.assert_array_equal(flat["features"][place], split.features[row])
            assert flat["label"][place] == split.labels[row]
            for name, texts, number in (
                ("question", split.questions, split.question_of_row[row]),
                ("answer", split.candidates, row),
            ):
                words = texts.take([number]).words
                assert flat[name][place, : len(words)].tolist() == words.tolist()
                assert not flat[name][place, len(words) :].any()


def test_replicas_share_the_batches_of_one(split):
    one, three = (PointwiseBatches(split, 8, seed=1, replicas=n) for n in (1, 3))
    assert epoch_of(one, 2) == epoch_of(three, 2)


def test_the_order_depends_on_seed_and_epoch_alone(split):
    batches = PointwiseBatches(split, 8, seed=1)
    third, first = epoch_of(batches, 3), epoch_of(batches, 1)
    # Going back, starting anew, or stopping within an epoch changes nothing.
    next(batches.batches())
    assert epoch_of(batches, 3) == third
    assert epoch_of(PointwiseBatches(split, 8, seed=1), 1) == first
    assert first != third
    assert epoch_of(PointwiseBatches(split, 8, seed=2), 1) != first
    # Other batches, not only another order of them.
    assert {frozenset(rows) for rows in first} != {frozenset(rows) for rows in third}


def test_pairs_of_like_length_go_together(split):
    lengths = split.candidates.lengths
    # 40 questions are fewer than 32 batches of 8 pairs: one window.
    ranges = sorted(
        (lengths[rows].min(), lengths[rows].max()) for rows in epoch_of(PointwiseBatches(split, 8))
    )
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))
    # The batches themselves come in random order.
    means = [lengths[rows].mean() for rows in epoch_of(PointwiseBatches(split, 8))]
    assert means != sorted(means)


def test_the_stream_follows_the_epoch(split):
    batches = PointwiseBatches(split, 16, seed=4)
    dataset, keep = batches.dataset(), KeepEpoch(batches)
    for epoch in (0, 1, 0):
        keep.on_epoch_begin(epoch)
        streamed = [rows_of(batch) for batch in dataset.as_numpy_iterator()]
        assert streamed == epoch_of(PointwiseBatches(split, 16, seed=4), epoch)
    assert set(dataset.element_spec) == {"question", "answer", "label", "weight", "features"}
    assert dataset.element_spec["features"].shape == (1, None, 2)


def test_without_features_there_are_none_in_a_batch(make_split):
    batches = PointwiseBatches(make_split(), 16)
    names = {"question", "answer", "label", "weight"}
    assert set(next(batches.batches())) == set(batches.dataset().element_spec) == names


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_the_same_are_refused(split, label):
    split.labels[:] = label
    with pytest.raises(UserError, match=r"all correct or all wrong.*labels of the training table"):
        PointwiseBatches(split, 8)


def test_a_batch_holds_a_pair_or_more(split):
    with pytest.raises(ValueError, match="Received: batch_size=0"):
        PointwiseBatches(split, 0)


def test_questions_with_one_kind_of_answer_train_too(make_split):
    """Pointwise training drops nothing: a question whose answers are all wrong teaches as well."""
    split = make_split(6, n_features=1)
    split.features[:, 0] = np.arange(split.n_rows)
    split.labels[split.question_of_row == 2] = 0
    held = [row for rows in epoch_of(PointwiseBatches(split, 5)) for row in rows]
    assert set(np.flatnonzero(split.question_of_row == 2)) <= set(held)


def test_the_stream_knows_its_length(split):
    batches = PointwiseBatches(split, 16)
    assert int(batches.dataset().cardinality()) == len(batches)
