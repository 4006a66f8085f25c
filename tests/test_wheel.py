"""The wheel: one top-level name, usable in a project that has folders of the same names."""

import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = SETTINGS["tool"]["setuptools"]["package-dir"].values()

USE = """
import answer_ranking, evaluation, models
from answer_ranking.data_prep import encode_dataset, load_dataset, load_word_vectors
from answer_ranking.layers import HyperbolicDistance
from answer_ranking.models import hyperqa
from answer_ranking.training import Pairwise, PairwiseOptions, fit, score

assert (models.OWN, evaluation.OWN) == ("models", "evaluation")
data = encode_dataset(load_dataset("sample"))
vectors = load_word_vectors(["glove-6b-50d"], data.vocabulary)
model = hyperqa(vectors.matrix, dimension=10, max_norm=0.7)
fit(model, Pairwise(data.train, PairwiseOptions(epochs=0)), dev=data.dev, verbose=False)
print(answer_ranking.__file__, HyperbolicDistance.__module__, len(score(model, data.test)))
"""


@pytest.fixture(scope="module")
def wheel(made_once) -> Path:
    """Build the wheel from a copy, since a build leaves files in its folder."""

    def build(folder):
        left_out = shutil.ignore_patterns(".*", "outputs", "build", "*.egg-info", "__pycache__", "results")
        shutil.copytree(ROOT, folder / "source", ignore=left_out, symlinks=True)
        words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
        subprocess.run([sys.executable, *words, folder, folder / "source"], check=True)

    return next(made_once("wheel", build).glob("*.whl"))


def test_the_wheel_installs_one_top_level_name(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert "answer_ranking/__init__.py" in names
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"answer_ranking"}
    assert "answer_ranking/data_prep/sample/sample-train.tsv" in names
    assert "answer_ranking/evaluation/papers.toml" in names
    assert "answer_ranking/reports/search.md.j2" in names
    assert "answer_ranking/reports/studies/eq9.md.j2" in names
    assert "answer_ranking/ranking/presets/hyperqa_squad/ranker.keras" in names
    assert "answer_ranking/ranking/pages/style.css" in names
    code = {path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert {f"answer_ranking/{path}" for path in code} <= set(names)


@pytest.mark.slow
def test_a_project_with_own_models_and_evaluation_builds_and_scores_a_model(wheel, tmp_path):
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    packages = next(environment.glob("lib/python*/site-packages"))
    # The dependencies of this environment, without what its .pth files add: the project itself is not there.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    # As pip does it, but for the metadata: what is tested is the files.
    zipfile.ZipFile(wheel).extractall(packages)
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    (project / "models" / "__init__.py").write_text("OWN = 'models'\n")
    (project / "evaluation.py").write_text("OWN = 'evaluation'\n")
    (project / "use.py").write_text(USE)
    done = subprocess.run([python, "use.py"], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    file, module, n_scores = done.stdout.split()[-3:]
    assert Path(file).is_relative_to(environment)
    assert module == "answer_ranking.layers.hyperbolic_distance" and int(n_scores) > 20
