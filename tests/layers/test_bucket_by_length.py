"""Packed candidates: what must be there, whatever the lists."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from layer_checks import check_configuration, to_numpy

from answer_ranking.layers import BucketByLength

LISTS = np.array([[[7, 8], [0, 0], [0, 0]], [[5, 0], [0, 0], [6, 9]], [[0, 0]] * 3], dtype="int32")


# JAX compiles every operation anew for every shape.
@pytest.mark.slow
@settings(max_examples=30)
@given(
    arrays("int32", st.tuples(*[st.integers(1, 4)] * 3), elements=st.integers(0, 2)),
    st.integers(1, 5),
)
def test_every_real_candidate_is_packed_once_beside_others_of_like_length(lists, buckets):
    texts, rows, places = to_numpy(BucketByLength(buckets)(lists))
    places = np.array(places)
    length = lists.shape[-1]
    flat = np.concatenate([np.pad(group, [(0, 0), (0, length - group.shape[1])]) for group in texts])
    real = lists.any(axis=-1)
    assert sorted(map(tuple, flat)) == sorted([*map(tuple, lists[real]), *[(0,) * length] * buckets])
    np.testing.assert_array_equal(flat[places], lists)
    of_places = np.concatenate(rows)[places]
    np.testing.assert_array_equal(of_places[real], np.nonzero(real)[0])
    assert places.dtype == of_places.dtype == np.int32

    # No bucket is wider than needed, and they are of like size.
    lengths = [np.max((group != 0) * np.arange(1, group.shape[1] + 1), axis=1) for group in texts]
    assert [len(group) > 0 for group in lengths] == [True] * buckets
    assert all(np.concatenate(lengths)[:-1] <= np.concatenate(lengths)[1:])
    assert [group.shape[1] for group in texts] == [max(1, own.max()) for own in lengths]
    sizes = [len(group) for group in lengths]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.slow
def test_configuration_and_saving(tmp_path):
    check_configuration(BucketByLength, {"buckets": 3})
    inputs = keras.Input((None, None), dtype="int32")
    texts, rows, places = BucketByLength(2)(inputs)
    assert [group.shape for group in (*texts, *rows)] == [(None, None)] * 2 + [(None,)] * 2
    assert places.shape == (None, None)
    sums = keras.ops.concatenate([keras.ops.sum(group, axis=-1) for group in texts], axis=0)
    model = keras.Model(inputs, keras.ops.take(sums, places, axis=0))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for lists in (LISTS, LISTS[:1, :2], LISTS[2:]):
        np.testing.assert_array_equal(to_numpy(loaded(lists)), lists.sum(axis=-1))


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3)])
def test_no_text_is_packed_as_padding_alone(shape):
    texts, rows, places = to_numpy(BucketByLength(2)(np.zeros(shape, "int32")))
    assert [len(group) for group in (*texts, *rows)] == [1] * 4 and places.shape == shape[:2]


def test_buckets_are_counted_from_one():
    with pytest.raises(ValueError, match="Received: buckets=0"):
        BucketByLength(0)


def test_compilation_by_xla_is_declined():
    assert not BucketByLength().supports_jit


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="Received: input_shape="):
        BucketByLength()(LISTS[0])
