import gc
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from answer_ranking.base.command import run_command
from answer_ranking.base.files import locked_folder
from answer_ranking.data_prep import UserError


@pytest.fixture(autouse=True)
def _no_collection():
    """An interruption inside a hook of the garbage collection, as Hypothesis has one, would get lost."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def _interrupted_by_sigint():
    """A shell starts its background commands with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("outcome", "code", "printed"),
    [
        (None, 0, "$"),
        (3, 3, "$"),
        (UserError("a.csv, line 2: wrong."), 2, "error: a.csv, line 2: wrong.\n$"),
        (UserError("a\x1b[2Jb\nc"), 2, r"error: a\\x1b\[2Jb\nc\n$"),
        (PermissionError(13, "Permission denied", "/a/b"), 2, "error: /a/b: Permission denied"),
        (KeyboardInterrupt(), 130, "$"),
    ],
)
def test_exit_codes(capsys, outcome, code, printed):
    def main():
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == code
    assert re.match(printed, capsys.readouterr().err)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_command_says_where_it_goes_on(capsys, tmp_path, number, code):
    def main():
        with locked_folder(tmp_path):
            os.kill(os.getpid(), number)
            time.sleep(30)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == code
    assert "What is finished is kept" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interruption_that_a_library_turns_into_another_error_is_one(capsys):
    def main():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(30)
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error

    with pytest.raises(SystemExit) as end:
        run_command(main)
    assert end.value.code == 130
    assert capsys.readouterr().err == ""


def in_a_shell(script, **streams):
    code = f"from answer_ranking.base.command import run_command\n{script}"
    return subprocess.run([sys.executable, "-c", code], check=False, **streams)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_the_number_of_a_character_that_it_lacks_and_a_file_never_does(terminal):
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    ours, theirs = os.openpty() if terminal else os.pipe()
    done = in_a_shell(
        "run_command(lambda: print('Łódź'))", stdout=theirs, stderr=subprocess.PIPE, env=environment
    )
    os.close(theirs)
    if terminal:
        assert done.returncode == 0 and os.read(ours, 99).split() == [b"\\u0141\xf3d\\u017a"]
    else:
        assert done.returncode == 2 and os.read(ours, 99) == b""
        assert b"\\u0141" in done.stderr and b"PYTHONIOENCODING" in done.stderr
    os.close(ours)


def test_output_to_a_full_disk():
    with Path("/dev/full").open("wb") as full:
        done = in_a_shell("run_command(lambda: print('a'))", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: cannot write: No space left on device")


def test_no_standard_output_is_no_error():
    assert in_a_shell("import sys; sys.stdout = None; run_command(lambda: 3)").returncode == 3


LITTLE = """
import resource, sys
import numpy as np, pandas, pyarrow as pa
from answer_ranking.base.command import run_command
from answer_ranking.data_prep.own_tables import load_table

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000,) * 2)
kind, path = sys.argv[1:]
ways = {
    "numpy": lambda: np.ones(10**9),
    "arrow": lambda: pa.allocate_buffer(10**9),
    "table": lambda: load_table(path, labelled=False),
}
run_command(ways[kind])
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells the memory in use by Linux's /proc")
@pytest.mark.parametrize("kind", ["numpy", "arrow", "table"])
def test_too_little_memory_is_one_line_with_the_cure(kind, tmp_path):
    path = tmp_path / "table.csv"
    if kind == "table":
        rows = "".join(f"who {i}?,the answer {i}\n" for i in range(400_000))
        path.write_text("question,candidate\n" + rows)
    words = [sys.executable, "-c", LITTLE, kind, path]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("error: ") and "memory" in ended.stderr
    assert ended.stderr.count("\n") == 1
