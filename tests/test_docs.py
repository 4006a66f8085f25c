"""The code and commands of README, CONTRIBUTING and docs/ run, and what they name exists."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from told_help import help_teller

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs" / "paper" / "paper.md",
]
FILES = [
    path
    for folder in ROOT.iterdir()
    if folder.is_dir() and not folder.name.startswith(".") and folder.name not in ("build", "outputs")
    for path in folder.rglob("*")
]
of_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(*languages):
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for number, (language, code) in enumerate(re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL), 1):
            if language in languages:
                found.append(pytest.param(page, code, id=f"{page.name}-{number}"))
    return found


def commands(code):
    """The commands of a shell block or of a page's text, as words."""
    return [shlex.split(line, comments=True) for line in code.splitlines() if line.strip()]


def by_hand(page):
    """The text of a page without its generated parts."""
    return re.sub(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", page.read_text("utf-8"), flags=re.DOTALL)


def written(page):
    """The lines of a page that were written by hand: no tables, no generated parts."""
    return [line for line in by_hand(page).splitlines() if not line.startswith("|")]


def recorded_summaries(found):
    """Every mean with its interval that a record has, however deep it lies."""
    if isinstance(found, dict):
        if found.keys() >= {"mean", "ci95"}:
            yield found["mean"], found["ci95"] or 0
        found = list(found.values())
    for each in found if isinstance(found, list) else []:
        yield from recorded_summaries(each)


def test_every_interval_that_a_page_states_is_that_of_a_record():
    recorded = set()
    for path in (ROOT / "reproduce" / "results").rglob("*.json"):
        for mean, half_width in recorded_summaries(json.loads(path.read_text("utf-8"))):
            recorded |= {(f"{mean:.{digits}f}", f"{half_width:.{digits}f}") for digits in (2, 3, 4)}
    stated = {}
    for page in [*PAGES, *(ROOT / "notebooks").glob("*.py")]:
        for found in re.findall(r"(0\.\d{2,4}) ± (0\.\d{2,4})", by_hand(page)):
            stated[found] = page.name
    assert len(stated) > 20
    assert {found: page for found, page in stated.items() if found not in recorded} == {}


@pytest.fixture(scope="module")
def help_of():
    """Give the help of a command."""
    with help_teller({**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")}, cwd=ROOT) as tell:

        def help_of(command):
            code, printed, _ = tell(*command)
            assert code == 0, (command, printed[-2000:])
            return printed

        yield help_of


def test_every_block_names_its_language():
    for page in PAGES:
        languages = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[::2]
        assert set(languages) <= {"python", "shell", "text"}, page.name


def test_the_overview_of_layers_names_every_layer():
    page = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
    tree = ast.parse((ROOT / "layers" / "__init__.py").read_text(encoding="utf-8"))
    exported = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert exported and [name for name in exported if f"`{name}`" not in page] == []


@of_page
def test_pages_are_short_and_narrow(page):
    assert max(map(len, written(page))) <= 120
    lines = page.read_text(encoding="utf-8").splitlines()
    if page.name == "README.md":
        assert len(lines) <= 130
    if page.parent.name == "docs":
        assert len(lines) <= 90 or ":begin -->" in "".join(lines)
        assert len(written(page)) <= 90


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_blocks_run(page, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, page.name, "exec"), names)
    printed = capsys.readouterr().out.strip()
    if "AnswerIndex" in code and page.name == "README.md":  # It finds the answer, and shows it.
        assert any("Fleming discovered penicillin" in answer for answer in eval(printed))
    elif "load_dataset" in code and "AnswerIndex" not in code:
        # By chance the sample's test has 0.4.
        assert eval(printed.splitlines()[-1], {"np": __import__("numpy")})["map"] > 0.5


@pytest.mark.parametrize(("page", "code"), blocks("shell"))
def test_shell_blocks_are_commands_that_exist(page, code, help_of):
    assert subprocess.run(["bash", "-n"], input=code, text=True, check=False).returncode == 0
    for words in commands(code):
        assert_command(words, help_of)


@of_page
def test_commands_in_the_text_exist(page, help_of):
    text = page.read_text(encoding="utf-8")
    if page.name == "CHANGELOG.md":  # It also names commands of before.
        text = ""
    for command in re.findall(r"`((?:python|make|answer-ranking) [^`]+)`", text):
        if not re.search(r"[A-Z]{4,}\.py|[…*|]", command):
            assert_command(shlex.split(command), help_of)


def assert_command(words, help_of):
    """The command is there, and its help names all options that it is given."""
    if words[0] == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = [word for word in words[1:] if "=" not in word]
        assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets), words
        return
    if words[0] == "pip":
        return
    if words[0] == "answer-ranking":
        command = (str(Path(sys.executable).with_name(words[0])), *words[1 : 2 + (words[1] == "data")])
    else:
        assert words[0] in ("python", ".venv/bin/python"), words
        if words[1:3] == ["-m", "pytest"]:
            assert (ROOT / words[-1]).exists(), words
            return
        command = (words[1],)
        if "--model" in words:  # which decides what options there are
            command += ("--model", words[words.index("--model") + 1])
    said = help_of(command)
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", said), (words, option)


@of_page
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@of_page
def test_files_in_the_text_exist(page):
    """Every `folder/file.py`, and every `file.py` beside one; of a table of equations also the names."""
    if page.name == "CHANGELOG.md":
        return
    for line in page.read_text(encoding="utf-8").splitlines():
        paths = [
            name
            for name in re.findall(r"`([\w/]+\.(?:py|toml|txt))`", line)
            if not re.search(r"[A-Z]{4}", name)
        ]
        found = [[path for path in FILES if path.as_posix().endswith(f"/{name}")] for name in paths]
        assert all(found), (line, paths)
        for name, path in re.findall(r"`(\w+)` in `([\w/]+\.py)`", line):
            assert name in (ROOT / path).read_text(encoding="utf-8"), (name, path)


def test_the_site_is_built_of_all_pages(tmp_path):
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="the site needs pip install -e '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for page in PAGES[1:]:
        folder = "" if page.parent in (ROOT, ROOT / "docs") else page.parent.name
        assert (tmp_path / folder / f"{page.stem}.html").is_file()
    names = {
        "layers": "RiemannianGradient",
        "training": "RiemannianOptimizer",
        "ranking": "AnswerIndex.build",
    }
    for room, name in names.items():
        assert f'id="answer_ranking.{room}.{name}"' in (tmp_path / "api" / f"{room}.html").read_text("utf-8")
    layers = (tmp_path / "api" / "layers.html").read_text(encoding="utf-8")
    unit_ball = re.sub("<[^>]+>", "", layers.partition('id="answer_ranking.layers.UnitBall"')[2])[:1000]
    assert re.search(r"UnitBall\(\s*max_norm", unit_ball)
    # The site works from a file: nothing is from elsewhere, and every picture is there.
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link)[^>]+(?:src|href)="([^"]+)"', page.read_text(encoding="utf-8")
        )
        assert not [each for each in loaded if re.match(r"(https?:)?//", each)], page
        for picture in re.findall(r'<img[^>]+src="([^"]+)"', page.read_text(encoding="utf-8")):
            assert picture.startswith("data:") or (page.parent / picture).is_file(), (page, picture)
