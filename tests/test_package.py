"""The package's front: what it offers, and what its import costs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

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


def run_without(missing, code):
    code = WITHOUT.format(missing=missing) + code
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )


def test_layers_models_and_eq9_need_no_extra_and_are_silent():
    """TensorFlow is the backend here."""
    done = run_without(
        OF_EXTRAS,
        "import numpy as np\n"
        "from answer_ranking.models import hyperqa\n"
        "from answer_ranking.training import RiemannianOptimizer\n"
        "model = hyperqa(np.ones((4, 3), 'float32'), dimension=2)\n"
        "model.compile(RiemannianOptimizer('sgd', 'parameters'), 'mse')\n"
        "texts = np.array([[1, 2]], 'int32')\n"
        "model.fit([texts, texts], np.zeros(1), verbose=0)",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
