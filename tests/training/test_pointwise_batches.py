import itertools

import numpy as np
import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.training import Pointwise, PointwiseOptions


@pytest.fixture
def split(make_split):
    """A split whose first feature is the number of the row, so that a batch tells which rows it holds."""
    made = make_split(40, n_features=2)
    made.features[:, 0] = np.arange(made.n_rows)
    return made


def rows_of(batch):
    """The rows of a batch, in order."""
    return batch["features"][:, 0].astype(int).tolist()


def way_of(split, batch_size, seed=0):
    return Pointwise(split, PointwiseOptions(batch_size=batch_size), seed)


def epoch_of(way, epoch=0):
    return [rows_of(batch) for batch in way.batches(None, epoch)]


@pytest.mark.parametrize("batch_size", [1, 4, 7, 1000])
def test_an_epoch_holds_every_row_once_and_as_it_is(split, batch_size):
    way = way_of(split, batch_size, seed=3)
    made = list(way.batches(None, 0))
    assert len(made) == len(way) == -(-split.n_rows // batch_size)
    assert sorted(itertools.chain(*map(rows_of, made))) == list(range(split.n_rows))
    assert {len(rows_of(batch)) for batch in made[:-1]} <= {batch_size, split.n_rows % batch_size}
    for batch in made:
        # A mean over the pairs of the batch.
        np.testing.assert_allclose(batch["weight"], 1 / len(rows_of(batch)), rtol=1e-6)
        for name in ("question", "answer"):
            assert (batch[name] > 0).any(axis=0).all(), "a column of padding alone"
        for place, row in enumerate(rows_of(batch)):
            np.testing.assert_array_equal(batch["features"][place], split.features[row])
            assert batch["label"][place] == split.labels[row]
            for name, texts, number in (
                ("question", split.questions, split.question_of_row[row]),
                ("answer", split.candidates, row),
            ):
                words = texts.take([number]).words
                assert batch[name][place, : len(words)].tolist() == words.tolist()
                assert not batch[name][place, len(words) :].any()


def test_the_order_depends_on_seed_and_epoch_alone(split):
    way = way_of(split, 8, seed=1)
    third, first = epoch_of(way, 3), epoch_of(way, 1)
    # Going back, or stopping within an epoch, changes nothing.
    next(way.batches(None, 0))
    assert epoch_of(way, 3) == third
    assert first != third
    assert epoch_of(way_of(split, 8, seed=2), 1) != first
    # Other batches, not only another order of them.
    assert {frozenset(rows) for rows in first} != {frozenset(rows) for rows in third}


def test_pairs_of_like_length_go_together(split):
    lengths = split.candidates.lengths
    # 40 questions are fewer than 32 batches of 8 pairs: one window.
    ranges = sorted((lengths[rows].min(), lengths[rows].max()) for rows in epoch_of(way_of(split, 8)))
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ranges))
    # The batches themselves come in random order.
    means = [lengths[rows].mean() for rows in epoch_of(way_of(split, 8))]
    assert means != sorted(means)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_the_same_are_refused(split, label):
    split.labels[:] = label
    with pytest.raises(UserError, match=r"all correct or all wrong.*labels of the training table"):
        way_of(split, 8)
