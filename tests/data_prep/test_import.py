import doctest
import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

from answer_ranking import base, data_prep

MODULES = [
    module.name
    for package in (base, data_prep)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_import_is_light():
    code = (
        "import sys, json, answer_ranking.data_prep, answer_ranking.data_prep.downloads.download;"
        "heavy = {'tensorflow', 'keras', 'spacy', 'gensim', 'matplotlib'};"
        "print(json.dumps(sorted(heavy & set(sys.modules))))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []
