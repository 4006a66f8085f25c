"""Every code block of the README and of docs/ runs, and what they name is there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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


def test_every_block_names_its_language():
    for page in PAGES:
        languages = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[::2]
        assert set(languages) <= {"python", "shell", "text"}, page.name


@pytest.fixture
def own_tables(tmp_path, monkeypatch):
    """Tables of a user in the working directory, which the examples read."""
    rows = [
        ("Who paints walls?", "A painter paints walls.", 1),
        ("Who paints walls?", "Walls are made of brick.", 0),
        ("Who bakes bread?", "A baker bakes it at night.", 1),
        ("Who bakes bread?", "Bread is made of flour.", 0),
    ]
    text = "question,candidate,label\n" + "".join(f"{q},{c},{label}\n" for q, c, label in rows)
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_blocks_run(page, code, own_tables, capsys):
    exec(compile(code, page.name, "exec"), {})
    printed = capsys.readouterr().out.strip()
    # The examples print what they find, and the two of the README something that can be checked.
    if "HyperbolicDistance()" in code:
        (distance,) = eval(printed.replace("\n", ""))
        assert distance > 0
    if "load_own_tables" in code:
        figures = eval(printed.splitlines()[-1], {"np": __import__("numpy")})
        # Two questions with two candidates each, seen in training: random order would have 0.75.
        assert figures["map"] >= 0.75
        assert (own_tables / "ranker.keras").exists()


@pytest.mark.parametrize(("page", "code"), blocks("shell"))
def test_shell_blocks_are_commands_that_exist(page, code):
    assert subprocess.run(["bash", "-n"], input=code, text=True, check=False).returncode == 0
    for words in commands(code):
        assert_command(words)


def test_the_command_for_a_table_of_one_s_own_runs(tmp_path):
    """It reads faq.csv in the working directory; the other shell block is what CI does."""
    lines = [
        f"What is thing {i}?,Thing {j} is number {j} of the things.,{int(i == j)}\n"
        for i in range(8)
        for j in range(i, i + 3)
    ]
    (tmp_path / "faq.csv").write_text("question,candidate,label\n" + "".join(lines), encoding="utf-8")
    (words,) = (
        each
        for block in blocks("shell")
        for each in commands(block.values[1])
        if each[1:2] == ["reproduce/own_data.py"]
    )
    command = [sys.executable, ROOT / words[1], *words[2:]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (model,) = tmp_path.glob("outputs/*/*/model")
    assert (model / "ranker.keras").is_file()
    assert list(model.parent.glob("*.html"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_text_exist(page):
    for command in re.findall(r"`((?:python|make) [^`]+)`", page.read_text(encoding="utf-8")):
        if not re.search(r"[A-Z]{4,}\.py|[…*]", command):
            assert_command(shlex.split(command), help_runs=False)


def assert_command(words, help_runs=True):
    if words[0] == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in words[1:]), words
        return
    assert words[0] == "python", words
    target = words[1:3] if words[1] == "-m" else words[1:2]
    path = target[-1].replace(".", "/") if words[1] == "-m" else target[-1].removesuffix(".py")
    assert (ROOT / f"{path}.py").is_file() or (ROOT / path / "__main__.py").is_file(), words
    if help_runs:
        command = [sys.executable, *target, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_site_is_built_of_all_pages(tmp_path):
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="the site needs pip install -e '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for page in PAGES[1:]:
        assert (tmp_path / f"{page.stem}.html").is_file()
    assert "poincare_distance" in (tmp_path / "api" / "layers.html").read_text(encoding="utf-8")
    assert "fit_pairwise" in (tmp_path / "api" / "training.html").read_text(encoding="utf-8")
