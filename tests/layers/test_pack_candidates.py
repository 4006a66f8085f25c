"""Packed candidates: what must be there, whatever the lists."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from layer_checks import check_configuration, to_numpy

from layers import PackCandidates

LISTS = np.array([[[7, 8], [0, 0], [0, 0]], [[5, 0], [0, 0], [6, 9]], [[0, 0]] * 3], dtype="int32")


@settings(max_examples=30, deadline=None)
@given(arrays("int32", st.tuples(*[st.integers(1, 4)] * 3), elements=st.integers(0, 2)))
def test_packing_keeps_every_real_candidate_once(lists):
    texts, rows, places = (np.array(x) for x in to_numpy(PackCandidates()(lists)))
    real = lists.any(axis=-1)
    np.testing.assert_array_equal(texts, [*lists[real], np.zeros(lists.shape[-1])])
    np.testing.assert_array_equal(rows[:-1], np.nonzero(real)[0])
    np.testing.assert_array_equal(texts[places], lists)
    assert places.dtype == rows.dtype == np.int32


def test_configuration_and_saving(tmp_path):
    check_configuration(PackCandidates, {})
    inputs = keras.Input((None, None), dtype="int32")
    texts, rows, places = PackCandidates()(inputs)
    assert (texts.shape, rows.shape, places.shape) == ((None, None), (None,), (None, None))
    model = keras.Model(inputs, keras.ops.take(keras.ops.sum(texts, axis=-1), places, axis=0))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for lists in (LISTS, LISTS[:1, :2]):
        np.testing.assert_array_equal(to_numpy(loaded(lists)), lists.sum(axis=-1))


def test_compilation_by_xla_is_declined():
    assert not PackCandidates().supports_jit


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="Received: input_shape="):
        PackCandidates()(LISTS[0])
