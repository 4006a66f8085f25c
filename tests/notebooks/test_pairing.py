"""Every notebook and its script hold the same cells, and the stored outputs are fit to be read."""

import ast
import inspect
import re
import shlex
from pathlib import Path

import jupytext
import nbformat
import pytest
from jupytext.compare import compare_notebooks

from answer_ranking.evaluation.papers import read_papers
from answer_ranking.reproduce.experiments.experiment_list import read_list

PAPERS = ("hyperqa", "ctrn", "attentive_pooling", "cosinet")
ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_every_script_has_its_notebook():
    scripts = {path.stem for path in NOTEBOOKS[0].parent.glob("*.py")}
    assert scripts == {path.stem for path in NOTEBOOKS} >= {"quickstart", "hyperqa"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_and_script_hold_the_same_cells(path):
    notebook = nbformat.read(path, as_version=4)
    compare_notebooks(jupytext.read(path.with_suffix(".py")), notebook, fmt="py:percent")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_of_one_complete_run_without_noise(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []
    texts = [o.get("text", "") + str(o.get("data", {}).get("text/plain", "")) for o in outputs]
    # The folders of the machine on which a notebook ran are nobody's business.
    assert [text for text in texts if re.search(r"(^|[\s'\"(])/\w+/", text)] == []
    assert path.stat().st_size < 400_000


def _statements(cell):
    """The statements of a cell; lines for IPython alone are left out."""
    return ast.parse(re.sub(r"(?m)^[%!].*", "", cell.source)).body


def _imported(cells):
    """What the cells import of the project, by name."""
    names = {}
    for cell in cells:
        for statement in _statements(cell):
            if isinstance(statement, ast.ImportFrom) and statement.module.startswith("answer_ranking"):
                exec(ast.unparse(statement), names)
    return names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_that_stored_outputs_show_is_todays(path):
    """A notebook that prints `layers` or `training` has to be run again when they change."""
    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    names = _imported(code)
    shows = False
    for cell in code:
        expected = ""
        for statement in _statements(cell):
            if ast.unparse(statement).startswith("show("):
                source = inspect.getsource(eval(ast.unparse(statement.value.args[0]), names))
                # As the notebooks' own `show` prints it.
                expected += re.sub(r'\n *""".*?"""', "", source, count=1, flags=re.DOTALL) + "\n"
        if expected:
            shows = True
            assert "".join(output.get("text", "") for output in cell.outputs) == expected, cell.source
    assert shows == any("def show(" in cell.source for cell in code)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_s_notebook_ends_with_its_tables_and_its_main_row(paper):
    notebook = nbformat.read(NOTEBOOKS[0].with_name(f"{paper}.ipynb"), as_version=4)
    tables, main_row = [cell for cell in notebook.cells if cell.cell_type == "code"][-2:]
    (shown,) = (output.data["text/markdown"] for output in tables.outputs if "data" in output)
    printed = read_papers().printed
    own = printed[printed["paper"] == paper]
    assert set(re.findall(r"^### Table ([^:\n]+)", shown, re.MULTILINE)) == set(own["table"].astype(str))
    # Off unless somebody switches it on, and one of the listed experiments but for its record.
    assert "REPRODUCE = False" in main_row.source
    (command,) = re.findall(r'command = "(.*)"', main_row.source)
    script, *options = [word for word in shlex.split(command) if word not in ("--seeds", "5")]
    listed = read_list(ROOT / "reproduce" / "experiments.txt").values()
    words = [set(shlex.split(line)) for line in listed if script in line]
    assert any({"--main", *options} <= each for each in words)
