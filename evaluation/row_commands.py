"""Which command trains the model of a paper's row, and whether the list of experiments has it."""

import argparse
import re
import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

# What the scripts of a paper take where the options that choose the model are not given.
_MODEL_DEFAULTS = {
    "hyperqa": {"model": "hyperqa"},
    "ctrn": {"model": "ctrn"},
    "attentive_pooling": {"model": "ap-cnn"},
    "cosinet": {"encoder": "cosinet", "objective": "pointwise", "across": "none"},
}

# Cosinet's paper sets these beside its models; one script measures all of them at once.
_RULES = {"Random", "RR", "WO", "WO+RR"}
_RULES_SCRIPT = "reproduce/lexical_baselines.py"

_ROOT = Path(__file__).parent.parent


def training_command(paper: str, dataset: str, model: str) -> tuple[str, str] | None:
    """Name the command that trains and records the model of a paper's row.

    Args:
        paper: the paper.
        dataset: the row's data set, with protocol and training set behind it where the paper has several.
        model: the row's model, one of the paper's own.

    Returns:
        The command and the options that choose this model, none for a rule; None where no script is for the
        paper on this data set.

    Example:
        >>> training_command("cosinet", "squad-sent", "CA list")
        ('python reproduce/cosinet_squad_sent.py --record --main', '--encoder ca --objective listwise')
    """
    name, _, variant = dataset.partition("/")
    if paper == "cosinet" and model in _RULES:
        return f"python {_RULES_SCRIPT} --dataset {name} --record", ""
    scripts = sorted((_ROOT / "reproduce").glob(f"{paper}_*.py"))
    script = next((script for script in scripts if _is_of(_dataset_of(script, paper), name)), None)
    if script is None:
        return None
    command = f"python reproduce/{script.name} --record --main"
    # The first option says which model it is, whatever its default.
    (first, value), *others = _model_options(paper, model).items()
    needed = [(key, value) for key, value in others if value != _MODEL_DEFAULTS[paper][key]]
    options = [f"--{key} {value}" for key, value in [(first, value), *needed]]
    return f"{command} --variant {variant}" if variant else command, " ".join(options)


def is_listed(paper: str, dataset: str, model: str, commands: Sequence[str]) -> bool:
    """Tell whether one of the recorded experiments gives the number of a paper's row.

    Args:
        paper: the paper.
        dataset: the row's data set, as for `training_command`.
        model: the row's model, one of the paper's own.
        commands: the lines of `reproduce/experiments.txt`.

    Example:
        >>> commands = ["python reproduce/ctrn_trecqa.py --record --main --model lstm"]
        >>> [is_listed("ctrn", "trecqa-raw/TRAIN", model, commands) for model in ("LSTM", "QRNN")]
        [True, False]
    """
    return any(_gives(command, paper, dataset, model) for command in commands)


def _gives(command: str, paper: str, dataset: str, model: str) -> bool:
    script, *words = shlex.split(command)[1:]
    name, _, variant = dataset.partition("/")
    if paper == "cosinet" and model in _RULES:
        return script == _RULES_SCRIPT and _is_of(_given(words, {"dataset": None})["dataset"], name)
    # Without --main a record stands among the variants, and not in the row.
    if not Path(script).stem.startswith(f"{paper}_") or "--main" not in words:
        return False
    trained_on = {"dataset": _dataset_of(Path(script), paper), "variant": _default_variant(script)}
    given = _given(words, trained_on)
    if not _is_of(given["dataset"], name) or (variant and given["variant"] != variant):
        return False
    return _given(words, _MODEL_DEFAULTS[paper]) == _model_options(paper, model)


def _model_options(paper: str, model: str) -> dict[str, str]:
    """Give the options that choose a row's model, those with the default value as well."""
    if paper != "cosinet":
        return {"model": model.lower()}
    encoder, *listwise = model.lower().split()
    objective = {"objective": "listwise"} if listwise else {}
    across = {"across": listwise[1]} if len(listwise) > 1 else {}
    return {**_MODEL_DEFAULTS[paper], "encoder": encoder, **objective, **across}


def _given(words: Sequence[str], defaults: dict[str, str | None]) -> dict[str, str | None]:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name, value in defaults.items():
        aliases = ["--global"] if name == "across" else []
        parser.add_argument(f"--{name}", *aliases, dest=name, default=value)
    return vars(parser.parse_known_args(words)[0])


def _dataset_of(script: Path, paper: str) -> str:
    return script.stem.removeprefix(f"{paper}_").replace("_", "-")


def _is_of(dataset: str | None, name: str) -> bool:
    """Tell whether a row's name is a data set's, perhaps with a protocol behind it."""
    return dataset is not None and (name == dataset or name.startswith(f"{dataset}-"))


@lru_cache
def _default_variant(script: str) -> str | None:
    """Read a script's default training set from its configuration."""
    path = _ROOT / script
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    default = re.search(r'^    variant: .*= "(.+)"$', text, re.M)
    return default[1] if default else None
