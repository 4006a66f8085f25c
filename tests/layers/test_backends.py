"""Runs the tests of this folder under the other Keras backends, each in a process of its own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


def run(backend, *arguments):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"the {backend} backend is not installed")
    return subprocess.run(
        [sys.executable, *arguments],
        # JAX compiles each of the many small programs here once to run it once: quickly rather than well.
        env={**os.environ, "KERAS_BACKEND": backend, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_layers_under_backend(backend):
    if backend == keras.backend.backend():
        pytest.skip(f"this process itself runs under {backend}")
    result = run(backend, "-m", "pytest", "-q", "-x", str(FOLDER), f"--ignore={__file__}")
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]


def test_layers_do_not_import_tensorflow():
    result = run("jax", "-c", "import sys, layers; sys.exit('tensorflow' in sys.modules)")
    assert result.returncode == 0, result.stderr[-2000:]
