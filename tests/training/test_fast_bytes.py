"""Bytes drawn faster are the very bytes that NumPy draws: records depend on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.fast_bytes import FastBytes, with_fast_bytes


@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 50), max_size=8))
def test_every_call_gives_numpy_s_bytes(seed, lengths):
    rng = np.random.default_rng(seed)
    fast = FastBytes(np.random.default_rng(seed))
    for length in lengths:
        assert bytes(fast.bytes(length)) == rng.bytes(length)


@pytest.mark.parametrize("lengths", [(1_110_600, 142_000), (450 * 2467 + 1, 400 * 353)])
def test_so_do_those_of_masks_of_a_batch(lengths):
    rng, fast = np.random.default_rng([3, 1, 4, 1]), FastBytes(np.random.default_rng([3, 1, 4, 1]))
    for length in lengths:
        found = fast.bytes(length)
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, np.frombuffer(rng.bytes(length), np.uint8))


def test_other_generators_stay_as_they_are():
    other = np.random.Generator(np.random.MT19937(0))
    assert with_fast_bytes(other) is other
    assert with_fast_bytes(None) is None
    assert isinstance(with_fast_bytes(np.random.default_rng(0)), FastBytes)
