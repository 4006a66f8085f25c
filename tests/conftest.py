"""How the tests share a machine; `make test` runs them in two processes, a plain `pytest` in one."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
import damage

if sys.dont_write_bytecode:
    # Many tests start processes, and each would compile all of TensorFlow again.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What XLA compiles here runs once or twice: quickly compiled is better than well.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

if "PYTEST_XDIST_WORKER" in os.environ:
    # Processes that run side by side have a core each: more threads would only get into each other's way.
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


# Read here: many tests leave the variable out of their environment.
DATA_HOME = os.environ.get("QA_DATA_HOME")


@pytest.fixture
def real_folder():
    """Give a folder of the real data sets by its path, or skip the test where it is absent."""

    def find(path):
        if not DATA_HOME or not (Path(DATA_HOME) / path).is_dir():
            pytest.skip(f"QA_DATA_HOME is not set, or holds no folder {path}/: the real data are not here")
        return Path(DATA_HOME) / path

    return find


@pytest.fixture
def under_backend():
    """Run Python in a process of its own under another Keras backend; skip where that is not installed."""

    def run(backend, *arguments):
        if importlib.util.find_spec(backend) is None:
            pytest.skip(f"the {backend} backend is not installed")
        # JAX compiles each operation by itself.
        quick = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false"}
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            env={**os.environ, "KERAS_BACKEND": backend, **(quick if backend == "jax" else {})},
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Give a folder that the first of the processes fills by `make(folder)`, and the others wait for."""
    basis = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        basis = basis.parent

    def folder_of(name, make):
        folder, whole = basis / name, basis / f"{name}.whole"
        with FileLock(basis / f"{name}.lock"):
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                whole.touch()
        return folder

    return folder_of


def pytest_addoption(parser):
    parser.addoption("--fuzz", type=int, default=25, help="damaged copies of each file (default: 25)")


@pytest.fixture(scope="session")
def damaged(request):
    """Give as many damaged copies of a file's content as `--fuzz` says, the same ones in every run."""

    def copies(content):
        for seed in range(request.config.getoption("--fuzz")):
            copy = damage.damaged(content, seed)
            if copy != content:
                yield copy

    return copies


def pytest_collection_modifyitems(items):
    """Put the long tests first, so that no process ends with one alone while the other has nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
