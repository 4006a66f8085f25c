"""Runs the tests of layers, and those of Eq. 9, under the other Keras backends: one process a backend."""

from pathlib import Path

import keras
import pytest

FOLDER = Path(__file__).parent
EQ_9 = FOLDER.parent / "training" / "test_riemannian_optimizer.py"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_layers_under_backend(backend, under_backend):
    if backend == keras.backend.backend():
        pytest.skip(f"this process itself runs under {backend}")
    # Where the folder lies and what the sources say has nothing to do with the backend.
    words = ["-q", "-x", FOLDER, EQ_9, f"--ignore={__file__}", f"--ignore={FOLDER / 'test_layer_sources.py'}"]
    # JAX compiles every operation for each shape: tests of many shapes run under one backend.
    words += ["-m", "not slow"]
    result = under_backend(backend, "-m", "pytest", *words)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
