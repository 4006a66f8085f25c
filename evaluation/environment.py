"""What a result was measured with: versions of packages, the commit of the code, and the machine."""

import os
import platform
import re
import subprocess
import timeit
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.base.files import ROOT

_PACKAGES = (
    "keras",
    "tensorflow",
    "tensorflow-cpu",
    "numpy",
    "pandas",
    "pytrec_eval-terrier",
    "spacy",
    "bm25s",
)
# Files that a run writes, or that are written from its records, do not change the code.
_NOT_CODE = (
    ":!reproduce/results",
    ":!reproduce/searches",
    ":!reproduce/log.csv*",
    ":!ranking/presets",
    ":!*.md",
)


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that can change a result."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


@cache
def environment() -> dict[str, Any]:
    """Describe the code and the machine of this process.

    `commit` and `clean_tree` (no uncommitted changes of the code) are "" and None outside of this package's
    repository; `threads` are the CPUs that this process may use, or TF_NUM_INTRAOP_THREADS; `gflops` is how
    fast they were when this was asked first, since one name stands for processors that differ three times.
    """
    # An installed copy may lie inside the repository of another project.
    inside = Path(_git("rev-parse", "--show-toplevel") or os.devnull).resolve() == ROOT
    commit = (_git("rev-parse", "HEAD") or "") if inside else ""
    changes = _git("status", "--porcelain", "--", ".", *_NOT_CODE) if commit else None
    available = getattr(os, "sched_getaffinity", None)
    threads = len(available(0)) if available else os.cpu_count() or 1
    return {
        "commit": commit,
        "clean_tree": None if changes is None else not changes,
        "processor": _processor(),
        "threads": int(os.environ.get("TF_NUM_INTRAOP_THREADS") or threads),
        "gflops": _gflops(),
    }


def _gflops() -> float:
    """Measure 10^9 operations of float32 a second: a product of matrices, the best of five."""
    n = 512
    matrix = np.ones((n, n), np.float32)
    fastest = min(timeit.repeat(lambda: matrix @ matrix, number=1, repeat=5))
    return round(2 * n**3 / fastest / 1e9, 1)


def peak_memory() -> int | None:
    """Return the most memory that this process has held, in MiB; None where the system does not say.

    Not `ru_maxrss`, which a process inherits from the one that starts it.
    """
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) // 1024 if found else None


def _git(*words: str) -> str | None:
    """Ask git about the folder of this package; None where it is not installed or has no answer."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()
