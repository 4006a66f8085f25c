import gc
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from answer_ranking.base.command import run_command
from answer_ranking.reproduce.experiments.options import parse

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, scope="module")
def collections_are_short():
    """Hide what earlier tests left: a study collects garbage before each row, and would look at all of it."""
    gc.collect()
    gc.freeze()


OPTIONS = (
    "--dataset sample --seeds 2 --epochs 12 --dimension 16 --own-negatives 3 --dropout 0.1 --max-norm 0.7"
)


@dataclass
class Run:
    """What a script left behind."""

    output: Path

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


@pytest.fixture
def run_in_process(until_exit):
    """Run an experiment of presets here."""

    def run(main, presets, *arguments):
        words = [str(each) for each in arguments]
        return until_exit(lambda: run_command(lambda: main(parse("A test.", presets, words))), *sys.argv)

    return run


@pytest.fixture(scope="session")
def run_on_disk():
    """The class that finds what a script left in its output folder."""
    return Run


@pytest.fixture(scope="session")
def sample_command():
    """The script and the options of the one training that these tests share."""
    return "hyperqa_wikiqa.py", OPTIONS.split()


@pytest.fixture(scope="session")
def sample_run(run_script, sample_command, made_once):
    """The shared training, unbroken."""
    script, options = sample_command

    def make(folder):
        code, _, err = run_script(ROOT / "reproduce" / script, *options, "--output", folder / "output")
        assert code == 0, err[-3000:]

    return Run(made_once("sample_run", make) / "output")
