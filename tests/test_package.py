"""The package's front: what it offers, and what its import costs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import answer_ranking
from answer_ranking import ranking

ROOT = Path(__file__).parents[1]


def test_the_import_is_light():
    code = (
        "import sys, answer_ranking; heavy = {'keras', 'tensorflow', 'pandas'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_keras_says_nothing_when_it_comes_after_the_package():
    pytest.importorskip("tensorflow")
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    code = "from answer_ranking.layers import UnitBall; import keras; print(keras.ops.ones(2).numpy())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.stdout, done.stderr) == ("[1. 1.]\n", "")


def test_what_tensorflow_said_is_shown_where_its_import_fails(tmp_path):
    (tmp_path / "tensorflow.py").write_text("import os; os.write(2, b'no such processor\\n'); 1 / 0")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import answer_ranking, tensorflow"
    command = [sys.executable, "-c", code, str(tmp_path)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert "no such processor" in done.stderr and "ZeroDivisionError" in done.stderr


@pytest.mark.parametrize("name", ["Ranker", "AnswerIndex", "train_ranker"])
def test_a_name_is_that_of_the_room(name):
    assert getattr(answer_ranking, name) is getattr(ranking, name)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = answer_ranking.nothing_such


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert answer_ranking.__version__ == project["version"]
