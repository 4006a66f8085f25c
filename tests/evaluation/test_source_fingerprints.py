import doctest
from pathlib import Path

import pytest

from evaluation import source_fingerprints as module
from evaluation.source_fingerprints import changed_sources, code_fingerprint, source_fingerprints

CODE = """\
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    import keras

RATE = 0.1


@dataclass(frozen=True)
class Config:
    kind: ClassVar[str] = "x"
    rate: float = RATE


def step(values: Sequence[float], rate: float = 0.5) -> float:
    if rate < 0:
        raise ValueError("rate must be positive")
    total: float = sum(values)
    return f"{total * rate:.3f}"
"""

SAME = {
    "a comment": ("RATE = 0.1", "RATE = 0.1  # as printed"),
    "the layout": ("values: Sequence[float], rate: float = 0.5", "\n    values,\n    rate=0.5,\n"),
    "a docstring": ("    if rate < 0", '    """Step."""\n    if rate < 0'),
    "the list of sources": (
        "    rate: float",
        '    sources: ClassVar[tuple[str, ...]] = ("a.py",)\n    rate: float',
    ),
    "a field's documentation": ("rate: float = RATE", 'rate: float = RATE\n    """The rate."""'),
    "a type hint": ("-> float", '-> "np.ndarray"'),
    "the type of a field": ("rate: float = RATE", "rate: float | None = RATE"),
    "an import of types": ("import Sequence", "import Iterable, Sequence"),
    "an import for type checkers": ("    import keras", "    import keras\n    import pandas"),
    "the text of an error": ("must be positive", "must be at least 0"),
    "a statement of one line that is marked": (
        "RATE = 0.1",
        "from fast import faster  # speed only\nRATE = 0.1\nRATE = faster(RATE)  # speed only",
    ),
    "a marked statement in a function": ("    return", "    total = fast(total)  # speed only\n    return"),
}
OTHER = {
    "a constant": ("RATE = 0.1", "RATE = 0.2"),
    "a default": ("rate: float = 0.5", "rate: float = 0.25"),
    "a field's default": ("rate: float = RATE", "rate: float = 0.3"),
    "a field that becomes a class's": ("rate: float = RATE", "rate: ClassVar[float] = RATE"),
    "a field that becomes one of no dataclass": ("rate: float = RATE", "rate = RATE"),
    "a condition": ("rate < 0", "rate <= 0"),
    "an operator": ("total * rate", "total / rate"),
    "a format": (":.3f", ":.4f"),
    "a decorator": ("frozen=True", "frozen=False"),
    "the kind of an error": ("ValueError", "TypeError"),
    "a statement that is marked otherwise": ("RATE = 0.1", "RATE = 0.2  # speed only, perhaps"),
    "a marked line that only begins a statement": (
        "RATE = 0.1",
        "RATE = max(  # speed only\n    0.1, 0.2\n)",
    ),
    "a marked statement of another kind": (
        "    if rate < 0",
        "    if rate: return 0  # speed only\n    if rate < 0",
    ),
    "the line after a marked one": ("RATE = 0.1", "RATE = 0.1  # speed only\nRATE = 0.2"),
}


@pytest.mark.parametrize("change", SAME)
def test_what_cannot_change_a_number_does_not_count(change):
    assert code_fingerprint(CODE.replace(*SAME[change])) == code_fingerprint(CODE)
    assert CODE.replace(*SAME[change]) != CODE


@pytest.mark.parametrize("change", OTHER)
def test_what_may_change_a_number_counts(change):
    assert code_fingerprint(CODE.replace(*OTHER[change])) != code_fingerprint(CODE)


def test_how_far_a_dataset_prefetches_does_not_count():
    code = "data = data.map(load).prefetch(4)"
    assert code_fingerprint(code) == code_fingerprint(code.replace("4", "batches_ahead()"))
    for other in (".shuffle(4)", ".prefetch(4, x)", ".prefetch()", ".prefetch(n=4)", ""):
        assert code_fingerprint(code) != code_fingerprint(code.replace(".prefetch(4)", other))


def test_the_fingerprint_is_the_same_under_every_python():
    # Written down once: the tests run under all supported versions, and records travel between them.
    assert code_fingerprint(CODE) == "8ca2d70a7e30"


def test_a_definition_alone(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    names = ["a.py::step", "a.py::Config.rate", "a.py::RATE"]
    before = source_fingerprints(names, tmp_path)
    assert list(before) == sorted(names)
    (tmp_path / "a.py").write_text(CODE.replace('"x"', '"y"').replace("RATE = 0.1", "RATE = 0.2"))
    assert changed_sources(before, tmp_path) == ["a.py::RATE"]
    (tmp_path / "a.py").write_text(CODE.replace("def step", "def stride"))
    assert changed_sources(before, tmp_path) == ["a.py::step"]
    (tmp_path / "a.py").unlink()
    assert changed_sources(before, tmp_path) == sorted(names)


def test_patterns_name_files(tmp_path):
    for name in ("masked_sum", "masked_max", "other"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    assert list(source_fingerprints(["masked_*.py"], tmp_path)) == ["masked_max.py", "masked_sum.py"]


@pytest.mark.parametrize("source", ["absent.py", "no_*.py", "a.py::absent", "a.py::Config.absent"])
def test_a_source_that_is_not_there_is_refused(tmp_path, source):
    (tmp_path / "a.py").write_text(CODE)
    with pytest.raises(ValueError, match="must name code that exists"):
        source_fingerprints([source], tmp_path)


def test_every_experiment_names_code_that_exists():
    import importlib

    root = Path(__file__).parents[2]
    for script in sorted((root / "reproduce").glob("*_experiment.py")):
        experiment = importlib.import_module(f"reproduce.{script.stem}")
        (config,) = (
            each
            for name, each in vars(experiment).items()
            if name.endswith("Config") and name != "ExperimentConfig" and hasattr(each, "sources")
        )
        fingerprints = source_fingerprints(config.sources, root)
        own = f"reproduce/{script.name}"
        train = f"{own}::train_{script.stem.removesuffix('_experiment')}"
        # The whole file, or at least what builds the ranker and what trains it.
        assert own in fingerprints or {f"{own}::build_ranker", train} <= fingerprints.keys()
        assert "training/fit.py" in fingerprints


def test_examples():
    assert doctest.testmod(module).failed == 0
