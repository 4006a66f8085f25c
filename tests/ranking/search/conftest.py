import hashlib
import importlib.util
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking import ranker as ranker_module


@pytest.fixture(scope="session")
def stub():
    """The module of a ranker that needs no TensorFlow."""
    path = Path(__file__).with_name("stub_ranker.py")
    spec = importlib.util.spec_from_file_location("stub_ranker", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def stub_is_loaded(stub, monkeypatch, request):
    """Load the stub from an index's copy of its model."""
    if "real_ranker" not in request.fixturenames:
        monkeypatch.setattr(ranker_module, "Ranker", stub.StubRanker)


@pytest.fixture(scope="session")
def answers(stub):
    table = pd.DataFrame({"answer": stub.texts(1000)})
    return table.assign(
        candidate_id=[f"a{i}" for i in range(1000)],
        topic=[("travel", "food", "law", "sport")[i % 4] for i in range(1000)],
        year=[2000 + i % 10 for i in range(1000)],
    )


@pytest.fixture(scope="session")
def index_folder(stub, answers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / "one"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("answer_ranking.ranking.ranker.Ranker", stub.StubRanker)
        AnswerIndex.build(stub.StubRanker(), answers, folder, chunk_rows=300)
    return folder


@pytest.fixture
def index(index_folder):
    return AnswerIndex.open(index_folder)


@pytest.fixture
def copy(index_folder, tmp_path):
    return shutil.copytree(index_folder, tmp_path / "copy")


@pytest.fixture(scope="session")
def signed():
    """Change a manifest as somebody does who can compute its hash."""

    def change_and_sign(folder, change):
        path = folder / "manifest.json"
        facts = json.loads(path.read_text())
        del facts["sha256"]
        change(facts)
        sha256 = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps({**facts, "sha256": sha256}))

    return change_and_sign
