"""The package's front: what it offers, and what its import costs."""

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


@pytest.mark.parametrize("name", ["Ranker", "AnswerIndex", "train_ranker"])
def test_a_name_is_that_of_the_room(name):
    assert getattr(answer_ranking, name) is getattr(ranking, name)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = answer_ranking.nothing_such


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert answer_ranking.__version__ == project["version"]
