"""Files of recorded trials, a JSON object a line: searches and studies go on from them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data_prep.errors import UserError
from data_prep.files import atomic_write, decode_text, read_content


def read_trials(path: str | Path, *needed: str) -> list[dict[str, Any]]:
    """Read the recorded trials.

    Args:
        path: the file, which may be missing.
        needed: the keys that every trial must have, beside `dev_map` or `diverged`.

    Returns:
        The trials, in the order in which they were recorded.

    Raises:
        UserError: the file cannot be read, or a line is no trial.

    Example:
        >>> read_trials("/tmp/absent.jsonl", "options")
        []
    """
    path = Path(path)
    if not path.exists():
        return []
    trials = []
    for number, line in enumerate(decode_text(read_content(path), path).splitlines(), start=1):
        try:
            trial = json.loads(line)
        except ValueError as error:
            raise UserError(f"{path}, line {number}: no trial ({error}). Remove the line.") from error
        keys = trial.keys() if isinstance(trial, dict) else set()
        lacking = [name for name in needed if name not in keys]
        if not keys & {"dev_map", "diverged"}:
            lacking.append("dev_map")
        if lacking:
            raise UserError(
                f"{path}, line {number}: no trial (without {', '.join(lacking)}). Remove the line."
            )
        trials.append(trial)
    return trials


def append_trial(path: str | Path, trial: Mapping[str, Any]) -> None:
    """Record a trial; the lines that are there stay as they are.

    Args:
        path: the file; it is made where it is missing.
        trial: what `json` can write.

    Raises:
        UserError: the file cannot be read or written.

    Example:
        >>> append_trial("/tmp/trials-of-l2.jsonl", {"options": {"l2": 0.1}, "dev_map": 0.5})
        >>> read_trials("/tmp/trials-of-l2.jsonl", "options")[-1]["dev_map"]
        0.5
    """
    path = Path(path)
    recorded = decode_text(read_content(path), path) if path.exists() else ""
    if recorded and not recorded.endswith("\n"):
        recorded += "\n"
    # The whole file anew: a kill in the midst of a line would leave one that nobody can read.
    with atomic_write(path) as file:
        file.write(f"{recorded}{json.dumps(trial)}\n")
