import json
import os
import runpy
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.options import parse

ROOT = Path(__file__).parents[2]
OPTIONS = (
    "--dataset sample --seeds 2 --epochs 12 --dimension 16 --own-negatives 3 --dropout 0.1 --max-norm 0.7"
)


@dataclass
class Run:
    """What a script left behind."""

    output: Path
    stdout: str = ""
    stderr: str = ""

    @property
    def folder(self):
        (folder,) = self.output.glob("*/*/")
        return folder

    @property
    def record_path(self):
        (path,) = self.folder.glob("*.json")
        return path

    @property
    def record(self):
        return json.loads(self.record_path.read_text())


ELSEWHERE = ("QA_DATA_HOME", "QA_EMBEDDINGS_HOME")


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """The environment of every command: a cache of the tests' own, and no data but what comes along."""
    kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return {**kept, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")), "TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.fixture(scope="session")
def shell(environment, tmp_path_factory):
    """Run a script of reproduce/ as from a shell, in a folder that is not the repository's."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    def run(script, *arguments, **options):
        command = [sys.executable, ROOT / "reproduce" / script, *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=elsewhere, check=False, **options
        )

    return run


@pytest.fixture
def until_exit(environment, capsys, monkeypatch):
    """Call a main function here, so that TensorFlow need not start once more. Gives the exit code and what
    was printed.
    """
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", environment["XDG_CACHE_HOME"])

    def run(main, *argv):
        monkeypatch.setattr("sys.argv", [str(each) for each in argv])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return run


@pytest.fixture
def run_in_process(until_exit):
    """Run an experiment of presets here."""

    def run(main, presets, *arguments):
        words = [str(each) for each in arguments]
        return until_exit(lambda: run_command(lambda: main(parse("A test.", presets, words))), *sys.argv)

    return run


@pytest.fixture
def script_in_process(until_exit):
    """Run a script here, with the command line that it would have from a shell."""
    return lambda path, *words: until_exit(
        lambda: runpy.run_path(str(path), run_name="__main__"), path, *words
    )


@pytest.fixture(scope="session")
def run_on_disk():
    """The class that finds what a script left in its output folder."""
    return Run


@pytest.fixture(scope="session")
def sample_command():
    """The script and the options of the one training that these tests share."""
    return "hyperqa_wikiqa.py", OPTIONS.split()


@pytest.fixture(scope="session")
def sample_run(shell, sample_command, made_once):
    """The shared training, from a shell and unbroken."""
    script, options = sample_command

    def make(folder):
        done = shell(script, *options, "--output", folder / "output")
        assert done.returncode == 0, done.stderr[-3000:]
        (folder / "printed").write_text(json.dumps([done.stdout, done.stderr]))

    folder = made_once("sample_run", make)
    return Run(folder / "output", *json.loads((folder / "printed").read_text()))


@pytest.fixture(scope="session")
def made_up_questions():
    """Questions of two lists of words, for small files in the formats of data sets."""
    names = ["river", "bridge", "castle", "garden", "window", "teacher", "doctor", "engine", "ladder"]
    places = ("hill", "valley", "harbour", "village", "island", "desert", "forest")

    def make(first, count):
        """Questions with a correct and three wrong answers each, made of two lists of words."""
        for name, place in list(product(names, places))[first : first + count]:
            wrong = [other for other in places if other != place][:3]
            question = f"where is the {name} ?"
            yield (
                f"{question} {place}",
                [(f"the {name} is at the {each} .", each == place) for each in (place, *wrong)],
            )

    return make
