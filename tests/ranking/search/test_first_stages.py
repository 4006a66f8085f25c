"""A first stage of one's own, and indexes of the version before there was a list of first stages."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.search import first_stages, nearest
from answer_ranking.ranking.search.manifest import StageFolder
from answer_ranking.ranking.search.results import Candidates


class Lengths:
    """Finds the texts whose length in letters is nearest to the question's."""

    name = "lengths"
    needs_model = False

    def encode(self, texts, model):
        return {"lengths.json": pa.py_buffer(json.dumps([len(text) for text in texts]).encode())}

    def build(self, files, name, ray):
        folder = files.folder / f"lengths-{name}"
        every = []
        for segment in files.segments:
            every += json.loads((segment / "lengths.json").read_text())
        folder.mkdir(exist_ok=True)
        (folder / "all.json").write_text(json.dumps(every))
        return StageFolder(folder.name, files.manifest.rows)

    def open(self, files, others):
        folder, _ = files.manifest.stages[self.name]
        self.lengths = np.array(json.loads((files.folder / folder / "all.json").read_text()))
        return self

    def search(self, questions, k, keep):
        allowed = np.arange(len(self.lengths)) if keep is None else np.flatnonzero(keep)
        rows, scores = [], []
        for question in questions:
            apart = np.abs(self.lengths[allowed] - len(question))
            order = np.argsort(apart, kind="stable")[:k]
            rows.append(allowed[order])
            scores.append(-apart[order])
        return Candidates(rows, scores, np.zeros(len(questions), bool))


def test_a_first_stage_of_one_s_own(stub, tmp_path, monkeypatch, command):
    table = pd.DataFrame({"text": ["w1 w2 w3", "w1", "w1 w2"]})
    before = AnswerIndex.build(None, table, tmp_path / "before")
    monkeypatch.setattr(first_stages, "FIRST_STAGES", (*first_stages.FIRST_STAGES, Lengths()))
    index = AnswerIndex.build(stub.StubRanker(), table, tmp_path / "index", chunk_rows=2)
    assert index.manifest.first_stages == ["nearest", "bm25", "both", "lengths"]
    assert index.search("w3", k=2, first_stage="lengths")["candidate_id"].tolist() == ["c2", "c3"]
    index.add(pd.DataFrame({"text": ["ab"]}))
    index.delete(["c2"])
    found = AnswerIndex.open(tmp_path / "index").search("w3", first_stage="lengths")
    assert found["candidate_id"].tolist() == ["c4", "c3", "c1"] and set(found["first_stage"]) == {"lengths"}
    out = command("search", tmp_path / "index", "w3", "--first-stage", "lengths", "-k", 1).out
    assert out.split()[2] == "c4"
    # An index keeps the first stages with which it was built.
    before.add(pd.DataFrame({"text": ["w3"]}))
    with pytest.raises(UserError, match="no first stage 'lengths'"):
        before.search("w3", first_stage="lengths")


@pytest.mark.parametrize("exact_up_to", [200_000, 500])
def test_an_index_of_format_2_is_opened_and_added_to(
    stub, answers, signed, tmp_path, monkeypatch, exact_up_to
):
    monkeypatch.setattr(nearest, "EXACT_UP_TO", exact_up_to)
    questions = stub.texts(20, seed=3)
    expected = AnswerIndex.build(stub.StubRanker(), answers, tmp_path / "index")

    def as_before(facts):
        stages = facts.pop("stages")
        ball, rows = stages.get("nearest", ["", 0])
        old = {"format": 2, "bm25": stages["bm25"][0], "ball": ball, "ball_rows": rows}
        facts |= {**old, "first_stages": ["ball", "bm25", "both"]}

    signed(tmp_path / "index", as_before)
    index = AnswerIndex.open(tmp_path / "index")
    assert index.manifest == expected.manifest
    for stage in ("nearest", "bm25", "both"):
        found = index.search(questions, first_stage=stage)
        pd.testing.assert_frame_equal(found, expected.search(questions, first_stage=stage))
    index.add(pd.DataFrame({"candidate_id": ["new"], "text": [questions[0]]}))
    assert AnswerIndex.open(tmp_path / "index").search(questions[0], k=1)["candidate_id"].tolist() == ["new"]
