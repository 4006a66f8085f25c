"""The helper modules of this folder, and small networks."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def small(small_options, encoder):
    """Build a model of the catalogue over 30 words or an encoder, with two features if it takes any."""
    vectors = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")

    def build(entry, seed=1):
        source = encoder if entry.reads == "pieces" else vectors
        return entry.build(source, small_options(entry), seed=seed, n_features=2 * entry.takes_features)

    return build


_KEPT = {}


@pytest.fixture
def kept(small):
    """Give a small network of seed 1 that is built once for all tests, which must not change it."""

    def find(entry):
        if entry.name not in _KEPT:
            _KEPT[entry.name] = small(entry, seed=1)
        return _KEPT[entry.name]

    return find
