"""The package's front: what it offers, and what its import costs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import answer_ranking

ROOT = Path(__file__).parents[1]


def test_the_import_is_light():
    code = (
        "import sys, answer_ranking; heavy = {'keras', 'tensorflow', 'pandas'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_tensorflow_said_is_shown_where_its_import_fails(tmp_path):
    (tmp_path / "tensorflow.py").write_text("import os; os.write(2, b'no such processor\\n'); 1 / 0")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import answer_ranking, tensorflow"
    command = [sys.executable, "-c", code, str(tmp_path)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert "no such processor" in done.stderr and "ZeroDivisionError" in done.stderr


WITHOUT = """
import sys
for name in {missing}:
    sys.modules[name] = None
"""
OF_EXTRAS = (
    *("bm25s", "defusedxml", "faiss", "filelock", "gensim", "jinja2", "matplotlib", "pandas", "platformdirs"),
    *("pyarrow", "pytrec_eval", "rapidfuzz", "scipy", "sklearn", "spacy", "tqdm", "tyro"),
)


def run_without(missing, code, *arguments):
    code = WITHOUT.format(missing=missing) + code
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=False
    )


# Models are loaded where nothing but the networks has been imported. Their encodings need pandas.
LOAD_AND_FIT = """
import sys
from pathlib import Path
import numpy as np
import answer_ranking.models.networks
import keras
words = np.load(sys.argv[1])
loaded = {path: keras.models.load_model(path, compile=False) for path in map(Path, sys.argv[2:])}

from answer_ranking.models import hyperqa
from answer_ranking.training import RiemannianOptimizer
model = hyperqa(np.ones((4, 3), 'float32'), dimension=2)
model.compile(RiemannianOptimizer('sgd', 'parameters'), 'mse')
texts = np.array([[1, 2]], 'int32')
model.fit([texts, texts], np.zeros(1), verbose=0)

for name in [name for name, module in sys.modules.items() if module is None]:
    del sys.modules[name]
# The models import them by themselves.
assert "answer_ranking.models.encodings" not in sys.modules
for path, model in loaded.items():
    scores = model([words["question"], words["answer"]])
    np.savez(path.with_suffix(".npz"), encoding=type(model.encoding).__name__, scores=scores)
"""


QUESTION = np.array([[3, 4, 9, 0], [5, 0, 0, 0], [7, 8, 2, 6]], "int32")
ANSWER = np.array([[7, 8, 0, 0, 0], [2, 11, 4, 0, 0], [9, 8, 7, 6, 2]], "int32")


@pytest.fixture(scope="module")
def fresh_process(tmp_path_factory):
    """A process under TensorFlow that has loaded models: how it ended, and the models by their files."""
    from answer_ranking.models import ap_cnn, hyperqa, qa_bilstm

    folder, vectors = tmp_path_factory.mktemp("models"), np.random.default_rng(0).normal(size=(30, 5))
    encodings = {hyperqa: "BagOfWords", ap_cnn: "WordwiseConvolution", qa_bilstm: "WordwiseBiLSTM"}
    models = {folder / f"{name}.keras": build(vectors, 4) for build, name in encodings.items()}
    for path, model in models.items():
        model.save(path)
    np.savez(folder / "words.npz", question=QUESTION, answer=ANSWER)
    return run_without(OF_EXTRAS, LOAD_AND_FIT, folder / "words.npz", *models), models


def test_layers_models_and_eq9_need_no_extra_and_are_silent(fresh_process):
    done, _ = fresh_process
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_encoding_is_there_in_a_fresh_process(fresh_process):
    for path, model in fresh_process[1].items():
        with np.load(path.with_suffix(".npz")) as found:
            assert found["encoding"] == path.stem
            np.testing.assert_allclose(found["scores"], model([QUESTION, ANSWER]), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "code", "status"),
    [
        ("pandas", "from answer_ranking import Ranker", 1),
        ("tyro", "from answer_ranking.cli import run; run()", 2),
    ],
)
def test_a_missing_extra_is_named_in_one_line(name, code, status):
    done = run_without([name], code)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == status
    assert name in last and "answer-ranking[search]" in last
    assert status == 1 or len(done.stderr.splitlines()) == 1


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert answer_ranking.__version__ == project["version"]
    shown = subprocess.run(
        [sys.executable, "-m", "answer_ranking", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"answer-ranking {project['version']}\n"
