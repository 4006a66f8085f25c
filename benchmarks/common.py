"""What the benchmarks share: their options' check, processes of their own, and the file of the figures."""

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, check_writable
from answer_ranking.data_prep.dataset import find_description

_RESULT = "RESULT "


def arguments(page: str) -> argparse.ArgumentParser:
    """Begin a parser whose help shows the benchmark's docstring."""
    return argparse.ArgumentParser(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)


def check_options(options: argparse.Namespace, *counts: str, output: str | Path | None = None) -> None:
    """Refuse unknown data sets, numbers below 1, files that cannot be written, before TensorFlow starts."""
    if "dataset" in options:
        find_description(options.dataset)
    for name in counts:
        value = getattr(options, name)
        numbers = value if isinstance(value, list | tuple) else [value]
        if any(number is not None and number < 1 for number in numbers):
            raise UserError(f"--{name.replace('_', '-')} must be at least 1. Received: {value}")
    if output is not None:
        check_writable(Path(output).parent)


def give_back(figures: Any) -> None:
    """Hand a process's figures to the benchmark that started it; see `measured_by`."""
    print(_RESULT + json.dumps(figures))


def measured_by(script: str, words: Sequence[str]) -> Any:
    """Measure in a process of its own, whose memory and compiled graphs are its own, too.

    The benchmark ends with `give_back` under these options. A process that fails ends this one with its exit
    code; it has said why on the standard error.
    """
    done = subprocess.run([sys.executable, script, *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return json.loads(next(x for x in done.stdout.splitlines() if x.startswith(_RESULT))[len(_RESULT) :])


def write_figures(path: str | Path, figures: Mapping[str, Any]) -> None:
    """Write the figures to a JSON file, with command, commit, processor, threads and versions."""
    from answer_ranking.evaluation.records import environment, package_versions

    measured = {
        "command": shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        **environment(),
        "versions": package_versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    with atomic_write(path) as file:
        json.dump({**figures, "measured": measured}, file, indent=1)
