import json
import os
import subprocess
import sys

import pytest

from data_prep import UserError
from data_prep.cli import run_command


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "data_prep", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["stats", "--help"], ["get", "--help"]])
def test_help(arguments):
    result = command(*arguments)
    assert result.returncode == 0
    assert "usage: python -m data_prep" in result.stdout


def test_stats_of_the_sample_says_sample():
    result = command("stats", "sample")
    assert (result.returncode, result.stderr) == (0, "")
    title, header, *lines = result.stdout.rstrip("\n").split("\n")
    assert title == "sample"
    assert header.split()[:5] == ["split", "protocol", "questions", "pairs", "correct"]
    assert [line.split()[:2] for line in lines[:6]] == [
        [split, protocol] for split in ("train", "dev", "test") for protocol in ("all", "filtered")
    ]
    assert command("get", "sample").stdout == "sample comes with the project: nothing to fetch.\n"


def test_stats_of_an_own_table(tmp_path):
    path = tmp_path / "faq.csv"
    path.write_text("question,candidate,label\nWho is it?,Me.,1\nWho is it?,It is not you.,0\nWhy?,No.,0\n")
    result = command("stats", path, "--json")
    rows = json.loads(result.stdout)["rows"]
    counts = [(row["protocol"], row["questions"], row["pairs"], row["correct"]) for row in rows]
    assert counts == [("all", 2, 3, 1), ("answerable", 1, 2, 1), ("clean", 1, 2, 1)]
    # By hand: "Who is it ?" and "Why ?"; "Me .", "It is not you ." and "No ."
    assert (rows[0]["question_tokens"], rows[0]["candidate_tokens"]) == (3.0, 3.0)
    assert (rows[0]["order"], rows[0]["order_map"]) == ("correct first", 1.0)
    assert "THE ORDER GIVES THE LABEL AWAY" in command("stats", path).stdout


def test_stats_of_a_table_without_a_suffix_says_what_is_read(tmp_path):
    path = tmp_path / "faq"
    path.write_text("question,candidate,label\nWho is it?,Me.,1\n")
    result = command("stats", path)
    assert result.returncode == 2
    assert str(path) in result.stderr
    assert ".csv" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["stats", "wikipedia"],
        ["stats", "trecqa", "--variant", "SOME"],
        ["stats", "absent.csv"],
        ["stats", "wikiqa", "--data-home", "absent"],
        ["get", "wikipedia"],
    ],
)
def test_what_the_user_can_mend_ends_with_2_and_no_traceback(tmp_path, arguments):
    result = command(*arguments, QA_DATA_HOME=str(tmp_path))
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("outcome", "code", "printed"),
    [
        (None, 0, ""),
        (3, 3, ""),
        (UserError("a.csv, line 2: wrong."), 2, "error: a.csv, line 2: wrong.\n"),
        (KeyboardInterrupt(), 130, ""),
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
    assert capsys.readouterr().err == printed
