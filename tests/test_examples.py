"""The examples in docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

from answer_ranking import base, data_prep, evaluation, layers, models, ranking, reproduce, training

MODULES = [
    module.name
    for package in (base, data_prep, evaluation, layers, models, ranking, reproduce, training)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0
