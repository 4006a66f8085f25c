"""What the benchmarks share: their options' check, processes of their own, and the file of the figures."""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data_prep.errors import UserError
from data_prep.files import atomic_write, check_writable

_RESULT = "RESULT "


def check_options(options: argparse.Namespace, *counts: str, output: str | Path | None = None) -> None:
    """Refuse numbers below 1, and a file that cannot be written, before anything is measured.

    Args:
        options: the options.
        counts: names of options that are numbers from 1 on, or lists of them, or None.
        output: the file of the figures; None for none.

    Raises:
        UserError: an option is out of range, or the folder of `output` cannot be written to.

    Example:
        >>> check_options(argparse.Namespace(rounds=3, lengths=[50, 100]), "rounds", "lengths")
    """
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

    Args:
        script: the benchmark, which ends with `give_back` under these options.
        words: the options.

    Returns:
        What it gave back.

    Raises:
        SystemExit: it failed, and has said why on the standard error; with its exit code.
    """
    done = subprocess.run([sys.executable, script, *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return json.loads(next(x for x in done.stdout.splitlines() if x.startswith(_RESULT))[len(_RESULT) :])


def circumstances() -> dict[str, Any]:
    """Tell on what the figures were measured: the command, the processor and the packages' versions.

    Returns:
        A dictionary for JSON.

    Example:
        >>> sorted(circumstances())
        ['command', 'cores', 'created', 'processor', 'versions']
    """
    from evaluation.records import package_versions

    return {
        "command": shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "versions": package_versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    """Name the processor, by Linux's description where there is one: family and model tell kinds apart."""
    described = Path("/proc/cpuinfo")
    if not described.exists():
        return platform.processor() or platform.machine()
    pairs = (line.partition(":") for line in described.read_text().split("\n\n")[0].splitlines())
    values = {name.strip(): value.strip() for name, _, value in pairs}
    kind = [f"{name} {values[name]}" for name in ("cpu family", "model", "stepping") if name in values]
    return ", ".join([values.get("model name", platform.machine()), *kind])


def write_figures(path: str | Path, figures: Mapping[str, Any]) -> None:
    """Write the figures, and on what they were measured, to a JSON file.

    Args:
        path: the file.
        figures: what was measured.

    Raises:
        UserError: the file cannot be written.
    """
    with atomic_write(path) as file:
        json.dump({**figures, "measured": circumstances()}, file, indent=1)
