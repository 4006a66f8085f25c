"""The package `layers` itself: examples, imports, exports."""

import ast
import doctest
import importlib
import pkgutil
import sys
from pathlib import Path

import keras
import pytest

import layers

MODULES = [f"layers.{module.name}" for module in pkgutil.iter_modules(layers.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", ["layers", *MODULES])
def test_only_keras_is_imported(name):
    source = Path(importlib.import_module(name).__file__).read_text(encoding="utf-8")
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
    assert imported - set(sys.stdlib_module_names) <= {"keras", "layers"}


def test_exported_layers_are_registered():
    assert sorted(layers.__all__) == layers.__all__
    for name in layers.__all__:
        assert keras.saving.get_registered_object(f"answer_ranking>{name}") is getattr(layers, name)
