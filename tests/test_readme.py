"""The README's code runs as it stands, and what it promises is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def own_tables(tmp_path, monkeypatch):
    """Tables of a user in the working directory, as the README's second example reads them."""
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


def test_layer_example(capsys):
    exec(compile(BLOCKS[0], "README.md", "exec"), {})
    (distance,) = eval(capsys.readouterr().out.replace("\n", ""))
    assert distance > 0


def test_own_table_example(own_tables, capsys):
    exec(compile(BLOCKS[1], "README.md", "exec"), {})
    figures = eval(capsys.readouterr().out.strip().splitlines()[-1], {"np": __import__("numpy")})
    # Two questions with two candidates each, seen in training: random order would have 0.75.
    assert figures["map"] >= 0.75
    assert (own_tables / "ranker.keras").exists()


def test_files_and_commands_that_the_readme_names_exist():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for script in re.findall(r"python ((?:reproduce|benchmarks)/\w+\.py)", README):
        assert (ROOT / script).exists(), script
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
