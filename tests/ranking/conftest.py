import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from answer_ranking.cli.main import main
from answer_ranking.data_prep import load_dataset


@pytest.fixture(scope="session", autouse=True)
def environment_of_commands(environment_is_here):
    """Tests call here, too, what commands call."""


@pytest.fixture
def command(until_exit):
    """Run `answer-ranking` in this process: exit code, and what was printed in one line."""

    def run(*arguments):
        code, out, err = until_exit(main, "answer-ranking", *arguments)
        return SimpleNamespace(code=code, out=out, err=err, text=re.sub(r"\s+", " ", out + err))

    return run


@pytest.fixture(scope="session")
def own_process(environment, tmp_path_factory):
    """Run commands one after the other in a process of their own, in a folder that is not the repository's.

    Gives what was printed, and what was imported that is heavy.
    """
    code = (
        "import json, sys\n"
        "from answer_ranking.cli.main import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.argv = ['answer-ranking', *words]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code\n"
        "print(sorted({'tensorflow', 'keras', 'matplotlib', 'gensim'} & set(sys.modules)))"
    )
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    def run(*commands):
        words = [sys.executable, "-c", code, json.dumps([list(map(str, each)) for each in commands])]
        options = {"env": environment, "cwd": elsewhere, "check": True}
        done = subprocess.run(words, capture_output=True, text=True, **options)
        out, _, heavy = done.stdout.removesuffix("\n").rpartition("\n")
        return SimpleNamespace(out=out, err=done.stderr, heavy=heavy)

    return run


@pytest.fixture(scope="session")
def spreadsheet(tmp_path_factory):
    """The sample as a spreadsheet of a country of semicolons exports it, and with markup in its texts."""
    table = pd.concat(load_dataset("sample").splits.values())[["question", "candidate", "label"]]
    table = table.assign(label=table["label"].map({0: "no", 1: "YES"}))
    table["candidate"] += "\n<script>alert('x')</script>"
    path = tmp_path_factory.mktemp("own") / "my faq.csv"
    table.to_csv(path, sep=";", index=False, encoding="utf-8-sig")
    return path


@pytest.fixture(scope="session")
def trained(until_exit, spreadsheet, made_once):
    """One training by the command: what it printed, and its folder. Tests leave it as it is."""

    def make(folder):
        words = ("--epochs", 4, "--seeds", 2, "--output", folder / "output")
        code, out, err = until_exit(main, "answer-ranking", "train", spreadsheet, *words)
        assert code == 0, err[-3000:]
        (folder / "printed").write_text(out)

    place = made_once("trained", make)
    (folder,) = place.glob("output/*/*/")
    return SimpleNamespace(out=(place / "printed").read_text(), folder=folder, output=place / "output")


@pytest.fixture(scope="session")
def model(trained):
    return trained.folder / "model"
