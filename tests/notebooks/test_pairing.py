"""Every notebook and its script hold the same cells, and the stored outputs are fit to be read."""

import re
from pathlib import Path

import jupytext
import nbformat
import pytest
from jupytext.compare import compare_notebooks

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


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
