"""The package `layers` itself: examples, imports, exports, and its use outside of this project."""

import ast
import doctest
import os
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from answer_ranking import layers

FOLDER = Path(layers.__file__).parent
NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py"))


@pytest.mark.parametrize("name", layers.__all__)
def test_every_layer_has_an_example(name):
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(layers, name))
    assert example.examples


@pytest.mark.parametrize("name", NAMES)
def test_imports_are_keras_or_relative(name):
    for node in ast.walk(ast.parse((FOLDER / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # One dot for each folder down from here.
            names = [] if 0 < node.level <= name.count("/") + 1 else [node.module]
        else:
            continue
        assert {each.split(".")[0] for each in names} <= {"keras", *sys.stdlib_module_names}


def test_exported_layers_are_registered():
    assert sorted(layers.__all__) == layers.__all__
    for name in layers.__all__:
        assert keras.saving.get_registered_object(f"answer_ranking>{name}") is getattr(layers, name)


# No `answer_ranking` can be imported: -S leaves out the editable install's import hook, and the path names
# only what Keras needs.
ALONE = """
import importlib.util, sys
sys.path += {packages!r}
assert importlib.util.find_spec("answer_ranking") is None
import numpy as np
from my_project.ranking_layers import HyperbolicDistance, MaskedMean
import my_project.ranking_layers as package
assert package.__file__.startswith({folder!r}), package.__file__
assert "tensorflow" not in sys.modules
distance = HyperbolicDistance()([np.zeros((1, 2), "float32"), np.array([[0.5, 0.0]], "float32")])
assert abs(float(distance[0]) - np.log(3)) < 1e-5
assert len([getattr(package, name) for name in package.__all__]) == {count}
"""


def test_a_copy_of_the_folder_works_without_installation(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "my_project" / "ranking_layers")
    packages = [path for path in sys.path if path.endswith("-packages")]
    script = ALONE.format(packages=packages, folder=str(tmp_path), count=len(layers.__all__))
    environment = os.environ | {"PYTHONPATH": "", "KERAS_BACKEND": "numpy"}
    command = [sys.executable, "-S", "-c", script]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
