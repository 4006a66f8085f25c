"""The code that made a record, from the repository's history."""

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from evaluation.source_fingerprints import changed_sources

# A record is committed with its code, or soon after: the code is found among the first few.
_SEARCHED_COMMITS = 100


def unpack_recorded_code(record: str | Path, code: Mapping[str, str], root: str | Path, folder: Path) -> bool:
    """Unpack the repository as it was when its sources had a record's fingerprints.

    Searched are the last commit that changed the record, and those before it.

    Args:
        record: the record's file, as committed.
        code: the record's fingerprints (`evaluation.source_fingerprints`).
        root: the repository, a working tree of git.
        folder: an empty folder, to unpack into.

    Returns:
        Whether there is such a commit; if not, nothing is unpacked.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:  # no repository
        ...     unpack_recorded_code("record.json", {}, folder, Path(folder))
        False
    """
    last = _git(root, "rev-list", "--max-count=1", "HEAD", "--", str(record))
    if not last:
        return False
    commits = _git(root, "rev-list", f"--max-count={_SEARCHED_COMMITS}", last.decode().strip())
    files = sorted({source.partition("::")[0] for source in code})
    for commit in (commits or b"").decode().split():
        with tempfile.TemporaryDirectory() as sources:
            # No answer: a source is not there.
            if not (content := _git(root, "archive", commit, "--", *files)):
                continue
            _unpack(content, sources)
            if changed_sources(code, sources):
                continue
        _unpack(_git(root, "archive", commit), folder)
        return True
    return False


def environment_of(root: str | Path) -> dict[str, str]:
    """Give the environment in which Python imports what lies under a folder first.

    Args:
        root: the folder, such as one that `unpack_recorded_code` has filled.

    Returns:
        The variables of this process, but for PYTHONPATH, which begins with the folder.

    Example:
        >>> environment_of("here")["PYTHONPATH"].split(os.pathsep)[0]
        'here'
    """
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def _git(root: str | Path, *words: str) -> bytes | None:
    """Ask git; None where it is not installed, or cannot answer."""
    try:
        return subprocess.run(["git", "-C", root, *words], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def _unpack(content: bytes, folder: str | Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder, filter="data")
