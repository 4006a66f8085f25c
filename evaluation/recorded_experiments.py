"""The recorded experiments: the list of their commands, and which of their records are stale."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from data_prep.errors import UserError
from evaluation.records import ResultRecord
from evaluation.source_fingerprints import changed_sources
from evaluation.study_records import read_study


def staleness(records: Sequence[ResultRecord], root: Path) -> dict[str, str]:
    """Say which records may no longer be what their commands give.

    Args:
        records: the records.
        root: the repository.

    Returns:
        The reason by the records' `experiment`; records that are as good as new are left out.

    Example:
        >>> record = ResultRecord(paper="cosinet", dataset="wikiqa", protocol="filtered", split="test",
        ...     model="RR", seeds=[0], metrics={}, parameters=0, seconds_per_epoch=None, command="")
        >>> list(staleness([record], Path()).values())
        ['made by earlier code, whose fingerprints were not kept']
    """
    reasons = {record.experiment: _reason(record.code, root) for record in records}
    return {name: reason for name, reason in reasons.items() if reason}


def _reason(code: Mapping[str, str], root: Path) -> str:
    if not code:
        return "made by earlier code, whose fingerprints were not kept"
    named = [source.replace("::", ": ") for source in changed_sources(code, root)]
    more = f" and {len(named) - 4} more" if len(named) > 5 else ""
    shown = ", ".join(f"`{source}`" for source in (named[:4] if more else named))
    return f"changed since: {shown}{more}" if named else ""


def recorded_studies(results: Path, root: Path) -> dict[str, str]:
    """Find the studies that have a record, and say which of them are stale.

    A study is made of more than a model's results on a data set; its record lies in a folder of its own below
    that of the results, such as `eq9/`.

    Args:
        results: the folder of the records.
        root: the repository.

    Returns:
        By the command that made it, why a study is stale; "" where it is as good as new.

    Raises:
        UserError: a file is no record of a study.

    Example:
        >>> recorded_studies(Path("/tmp/absent"), Path())
        {}
    """
    records = [read_study(path) for path in sorted(results.glob("*/*.json"))]
    return {record["command"]: _reason(record["code"], root) for record in records}


def read_commands(path: Path) -> list[str]:
    r"""Read the list of recorded experiments: a command a line; lines that are empty or begin with # do not
    count.

    Args:
        path: the file.

    Raises:
        UserError: the file is missing, or a line is no command of a script.

    Example:
        >>> _ = Path("/tmp/experiments.txt").write_text("# HyperQA\npython reproduce/demo.py --record\n")
        >>> read_commands(Path("/tmp/experiments.txt"))
        ['python reproduce/demo.py --record']
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    commands = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        if not re.match(r"python \S+\.py( |$)", line):
            raise UserError(f"{path}, line {number}: expected 'python SCRIPT.py OPTIONS', found {line!r}.")
        commands.append(line)
    return commands
