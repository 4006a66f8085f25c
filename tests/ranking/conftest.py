import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from answer_ranking.cli.main import main
from answer_ranking.data_prep import load_dataset


@pytest.fixture(scope="session", autouse=True)
def environment(tmp_path_factory):
    """A cache of the tests' own, and no data but what comes along."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("QA_DATA_HOME", "QA_EMBEDDINGS_HOME"):
            patch.delenv(name, raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
        yield dict(os.environ)


@pytest.fixture
def command(until_exit):
    """Run `answer-ranking` in this process: exit code, and what was printed in one line."""

    def run(*arguments):
        code, out, err = until_exit(main, "answer-ranking", *arguments)
        return SimpleNamespace(code=code, out=out, err=err, text=re.sub(r"\s+", " ", out + err))

    return run


@pytest.fixture(scope="session")
def shell(environment, tmp_path_factory):
    """Run `answer-ranking` as from a shell, in a folder that is not the repository's."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    program = [sys.executable, "-c", "from answer_ranking.cli.main import main; main()"]

    def run(*arguments):
        return subprocess.run(
            [*program, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=elsewhere,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def heavy_imports(environment):
    """Run `answer-ranking` in a process of its own: what it imports that is heavy, and its standard error."""
    code = (
        "import sys\n"
        "from answer_ranking.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'tensorflow', 'keras', 'matplotlib', 'gensim'} & set(sys.modules)))"
    )

    def run(*arguments):
        words = [sys.executable, "-c", code, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
        return done.stdout.splitlines()[-1], done.stderr

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
def trained(shell, spreadsheet, made_once):
    """One training from a shell: what it printed, and its folder. Tests leave it as it is."""

    def make(folder):
        done = shell("train", spreadsheet, "--epochs", 4, "--seeds", 2, "--output", folder / "output")
        assert done.returncode == 0, done.stderr[-3000:]
        (folder / "printed").write_text(done.stdout)

    place = made_once("trained", make)
    (folder,) = place.glob("output/*/*/")
    return SimpleNamespace(out=(place / "printed").read_text(), folder=folder, output=place / "output")


@pytest.fixture(scope="session")
def model(trained):
    return trained.folder / "model"
