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


each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def _code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@each_notebook
def test_notebook_and_script_hold_the_same_cells(path):
    notebook = nbformat.read(path, as_version=4)
    compare_notebooks(jupytext.read(path.with_suffix(".py")), notebook, fmt="py:percent")


@each_notebook
def test_stored_outputs_are_of_one_complete_run_without_noise(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for number, cell in enumerate(_code(notebook), start=1):
        assert cell.execution_count == number
        for output in cell.outputs:
            assert output.output_type != "error" and output.get("name") != "stderr"
            text = output.get("text", "") + str(output.get("data", {}).get("text/plain", ""))
            # The folders of the machine on which a notebook ran are nobody's business.
            assert not re.search(r"(^|[\s'\"(])/\w+/", text)
    assert path.stat().st_size < 400_000


@each_notebook
def test_the_code_that_stored_outputs_show_is_todays(path):
    """A notebook that prints `layers` or `training` has to be run again when they change."""
    names, shows = {}, False
    for cell in _code(nbformat.read(path, as_version=4)):
        expected = ""
        # Lines for IPython alone are left out.
        for statement in ast.parse(re.sub(r"(?m)^[%!].*", "", cell.source)).body:
            if isinstance(statement, ast.ImportFrom) and statement.module.startswith("answer_ranking"):
                exec(ast.unparse(statement), names)
            shows |= isinstance(statement, ast.FunctionDef) and statement.name == "show"
            if ast.unparse(statement).startswith("show("):
                source = inspect.getsource(eval(ast.unparse(statement.value.args[0]), names))
                # As the notebooks' own `show` prints it.
                expected += re.sub(r'\n *""".*?"""', "", source, count=1, flags=re.DOTALL) + "\n"
        if expected:
            assert shows
            assert "".join(output.get("text", "") for output in cell.outputs) == expected, cell.source


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_s_notebook_ends_with_its_tables_and_its_main_row(paper):
    notebook = nbformat.read(NOTEBOOKS[0].with_name(f"{paper}.ipynb"), as_version=4)
    *_, tables, main_row = _code(notebook)
    (shown,) = (output.data["text/markdown"] for output in tables.outputs if "data" in output)
    printed = read_papers().printed
    own = printed[printed["paper"] == paper]
    assert set(re.findall(r"^### Table ([^:\n]+)", shown, re.MULTILINE)) == set(own["table"].astype(str))
    # Not on the sample, and one of the listed experiments but for its record.
    (dataset,) = re.findall(r'if DATASET == "(.*)":', main_row.source)
    (command,) = re.findall(r'command = "(.*)"', main_row.source)
    script, *options = [word for word in shlex.split(command) if word not in ("--seeds", "5")]
    assert script.endswith(f"_{dataset}.py")
    listed = map(shlex.split, read_list(ROOT / "reproduce" / "experiments.txt").values())
    assert any({script, "--main", *options} <= set(words) for words in listed)
