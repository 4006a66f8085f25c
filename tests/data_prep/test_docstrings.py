import doctest
import importlib
import pkgutil

import pytest

import data_prep

MODULES = [module.name for module in pkgutil.iter_modules(data_prep.__path__) if module.name != "__main__"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(f"data_prep.{name}"))
    assert result.failed == 0
