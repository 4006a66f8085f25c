"""How the tests share a machine; `make test` runs them in two processes, a plain `pytest` in one."""

import functools
import gc
import importlib.util
import io
import json
import os
import random
import runpy
import shutil
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import settings

sys.path += [str(Path(__file__).resolve().parents[1] / "benchmarks"), str(Path(__file__).parent)]
import damage

if sys.dont_write_bytecode:
    # Many tests start processes, and each would compile all of TensorFlow again.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What XLA compiles here runs once or twice: quickly compiled is better than well.
QUICK = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
os.environ.setdefault("XLA_FLAGS", QUICK)

if "PYTEST_XDIST_WORKER" in os.environ:
    # Processes that run side by side have a core each: more threads would only get into each other's way.
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

# A machine may stall: no test asserts how long it takes.
settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")

# Read here: many tests leave the variable out of their environment.
DATA_HOME = os.environ.get("QA_DATA_HOME")


@pytest.fixture(autouse=True)
def same_weights_every_time():
    """Seed Python's generator, of which Keras draws the seeds of initial weights and of dropout."""
    random.seed(0)


@pytest.fixture(scope="session")
def real_folder():
    """Give a folder of the real data sets by its path, or skip the test where it is absent."""

    def find(path):
        if not DATA_HOME or not (Path(DATA_HOME) / path).is_dir():
            pytest.skip(f"QA_DATA_HOME is not set, or holds no folder {path}/: the real data are not here")
        return Path(DATA_HOME) / path

    return find


@pytest.fixture(scope="session")
def real(real_folder):
    """Give a real data set by name and variant, read once: no test changes its frames."""
    from answer_ranking.data_prep.dataset import find_description, load_dataset

    load = functools.cache(load_dataset)

    def of(name, variant=None):
        return load(name, variant or find_description(name).variants[0], real_folder(name).parent)

    return of


@pytest.fixture(scope="session")
def real_statistics(real):
    """Give the statistics of a real data set by name and variant, counted once."""
    from answer_ranking.data_prep.statistics import dataset_statistics

    return functools.cache(lambda name, variant: dataset_statistics(real(name, variant)))


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


# Commands do without data from elsewhere, and set the level of TensorFlow's log themselves.
ELSEWHERE = ("QA_DATA_HOME", "QA_EMBEDDINGS_HOME", "TF_CPP_MIN_LOG_LEVEL")


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """The environment of every command: a cache of the tests' own, and no data but what comes along."""
    kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return {**kept, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@contextmanager
def _as_in(environment):
    """Give this process the environment of commands for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ELSEWHERE:
            patch.delenv(name, raising=False)
        patch.setenv("XDG_CACHE_HOME", environment["XDG_CACHE_HOME"])
        yield patch


@pytest.fixture(scope="session")
def environment_is_here(environment):
    """Give this process, too, the environment of commands."""
    with _as_in(environment):
        yield


@pytest.fixture(scope="session")
def until_exit(environment):
    """Call a main function here, so that TensorFlow need not start once more. Gives the exit code and what
    was printed.
    """

    def run(main, *argv):
        out, err = io.StringIO(), io.StringIO()
        with _as_in(environment) as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr("sys.argv", [str(each) for each in argv])
            with pytest.raises(SystemExit) as end:
                main()
        return end.value.code, out.getvalue(), err.getvalue()

    return run


@pytest.fixture(scope="session")
def run_script(until_exit):
    """Run a script here, with the command line that it would have from a shell."""
    return lambda path, *words: until_exit(
        lambda: runpy.run_path(str(path), run_name="__main__"), path, *words
    )


@pytest.fixture
def set_policy():
    """Set Keras' precision until the end of the test."""
    import keras

    before = keras.config.dtype_policy()
    yield keras.config.set_dtype_policy
    keras.config.set_dtype_policy(before)


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
    parser.addoption(
        "--fuzz", type=int, default=25, help="damaged copies of a file; slow tests take a part (default: 25)"
    )


@pytest.fixture(scope="session")
def damaged(request):
    """Give as many damaged copies of a file's content as `--fuzz` says, the same ones in every run."""

    def copies(content):
        for seed in range(request.config.getoption("--fuzz")):
            copy = damage.damaged(content, seed)
            if copy != content:
                yield copy

    return copies


def pytest_configure(config):
    # Hypothesis looks for the owner of a library's random numbers among what the collector looks at.
    config.addinivalue_line("filterwarnings", "ignore:It looks like `register_random`")


def pytest_collection_finish():
    """Take what is imported by now out of the garbage collector's sight.

    A study collects garbage after each row, which took half a second each with all of TensorFlow to look at.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Put the long tests first, so that no process ends with one alone while the other has nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


_SMALL_SIZES = {"dimension": 3, "filters": 4, "units": 5, "slices": 2, "bins": 7, "dimension_filters": 2}
_SMALL_SIZES |= {"most_pieces": 12}


@pytest.fixture(scope="session")
def small_options():
    """Give a function that makes the options with which a model of the catalogue is small."""

    def make(entry):
        defaults = vars(entry.options())
        sizes = {name: size for name, size in _SMALL_SIZES.items() if name in defaults}
        if isinstance(defaults.get("hidden"), tuple):
            sizes["hidden"] = (4,)
        return entry.options(**sizes)

    return make


@pytest.fixture
def make_vectors():
    """Random word vectors with a zero row for padding."""

    def make(words=40, dimensions=6, seed=1, scale=0.3):
        vectors = (np.random.default_rng(seed).normal(size=(words, dimensions)) * scale).astype("float32")
        vectors[0] = 0
        return vectors

    return make


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SENTENCE_PIECES = ("who", "wrote", "the", "book", "ann", "it", "rain", "##ed", "##s", "noon", "train")


@pytest.fixture(scope="session")
def write_encoder():
    """Give a function that writes a random BERT of two layers in Hugging Face's layout into a folder."""

    def write(folder, seed=0, **config):
        folder.mkdir(parents=True, exist_ok=True)
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"?.,'", *_SENTENCE_PIECES, *_LETTERS]
        pieces += [f"##{letter}" for letter in _LETTERS if f"##{letter}" not in pieces]
        facts = {"model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 2, "hidden_size": 8}
        facts |= {"num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 12}
        facts |= {"vocab_size": len(pieces), "type_vocab_size": 2, "layer_norm_eps": 1e-12, **config}
        (folder / "config.json").write_text(json.dumps(facts))
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
        weights = _random_weights(facts, np.random.default_rng(seed))
        header, begin = {}, 0
        for name, array in weights.items():
            end = begin + array.nbytes
            header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, end]}
            begin = end
        content = json.dumps(header).encode()
        arrays = b"".join(array.tobytes() for array in weights.values())
        (folder / "model.safetensors").write_bytes(len(content).to_bytes(8, "little") + content + arrays)
        return folder

    return write


@pytest.fixture(scope="session")
def encoder(write_encoder, tmp_path_factory):
    """The files of such an encoder, which has 12 positions."""
    from answer_ranking.data_prep.word_vectors.encoder_folder import read_encoder

    return read_encoder(write_encoder(tmp_path_factory.mktemp("encoder")))


def _random_weights(config, rng):
    n, wide = config["hidden_size"], config["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], n),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], n),
        "embeddings.token_type_embeddings.weight": (2, n),
        "embeddings.LayerNorm.weight": (n,),
        "embeddings.LayerNorm.bias": (n,),
    }
    for layer in range(config["num_hidden_layers"]):
        parts = {f"attention.self.{name}": (n, n) for name in ("query", "key", "value")}
        parts |= {
            "attention.output.dense": (n, n),
            "intermediate.dense": (wide, n),
            "output.dense": (n, wide),
        }
        parts |= {"attention.output.LayerNorm": (n,), "output.LayerNorm": (n,)}
        for name, shape in parts.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
