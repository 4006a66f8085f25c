"""Several tables as one: their order, numbers, columns and identifiers."""

import sys

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.search import shards
from answer_ranking.ranking.search.tasks import Model


@pytest.fixture
def folder(tmp_path):
    """Four shards and what others leave in such a folder."""
    made = tmp_path / "shards"
    made.mkdir()
    pd.DataFrame({"answer": ["w1", "w2 w3"], "year": [2001, 2002]}).to_parquet(made / "b.parquet")
    pd.DataFrame({"text": ["w4"], "year": [2003]}).to_csv(made / "c.csv", index=False)
    pd.DataFrame({"candidate_id": ["x", "c9"], "candidate": ["w5", "w6"]}).to_parquet(made / "d.parquet")
    pd.DataFrame({"answer": ["w7"]}).to_json(made / "e.jsonl", orient="records", lines=True)
    for name in ("_SUCCESS", ".b.parquet.crc", "notes.md", "_ignored.parquet"):
        (made / name).write_text("other")
    return made


def rows(index):
    table = index._state.segments.take(np.arange(index.manifest.rows)).to_pandas()
    return list(table.astype(object).where(table.notna(), None).itertuples(index=False, name=None))


EXPECTED = [
    ("c1", "w1", 2001),
    ("c2", "w2 w3", 2002),
    ("c3", "w4", 2003),
    ("x", "w5", None),
    ("c9", "w6", None),
    ("c6", "w7", None),
]


def test_a_folder_is_one_table_in_the_order_of_its_names(folder, stub, tmp_path):
    index = AnswerIndex.build(stub.StubRanker(), folder, tmp_path / "index")
    assert rows(index) == EXPECTED
    named = [folder / name for name in ("b.parquet", "c.csv", "d.parquet", "e.jsonl")]
    again = AnswerIndex.build(stub.StubRanker(), named, tmp_path / "again")
    assert again.manifest.segments == index.manifest.segments and rows(again) == EXPECTED
    assert index.search("w7", k=1)["candidate_id"].tolist() == ["c6"]
    assert index.search("w5", first_stage="bm25")["candidate_id"].tolist() == ["x"]


def test_shards_and_chunks_give_what_one_table_gives(stub, answers, tmp_path):
    whole = AnswerIndex.build(stub.StubRanker(), answers, tmp_path / "whole")
    parts = [answers[:10], answers[10:700], answers[700:]]
    cut = AnswerIndex.build(stub.StubRanker(), parts, tmp_path / "cut", chunk_rows=333)
    assert [rows for _, rows in cut.manifest.segments] == [10, 333, 333, 24, 300]
    questions = stub.texts(20, seed=3)
    for stage in ("nearest", "bm25", "both"):
        found, expected = (index.search(questions, first_stage=stage) for index in (cut, whole))
        pd.testing.assert_frame_equal(found, expected, rtol=1e-6)


def test_all_tables_count_for_what_a_small_index_has(tmp_path):
    for name, sizes, stages in (
        ("small", (10, 19_990), ["ngrams+bm25", "bm25", "ngrams"]),
        ("large", (10, 19_991, 1), ["bm25"]),
        ("whole", (20_001,), ["bm25"]),
    ):
        tables = [pd.DataFrame({"text": ["w1"] * size}) for size in sizes]
        index = AnswerIndex.build(None, tables, tmp_path / name)
        assert index.first_stages == stages and len(index) == sum(sizes), name


def test_rows_are_numbered_on_when_shards_are_added(folder, stub, tmp_path):
    index = AnswerIndex.build(stub.StubRanker(), pd.DataFrame({"text": ["w1"] * 10}), tmp_path / "index")
    with pytest.raises(UserError, match=r"d\.parquet: the index has already the candidate_id 'c9'"):
        index.add([folder / "d.parquet", folder / "e.jsonl"])
    index.add([pd.DataFrame({"text": ["w2", "w3"]}), folder / "e.jsonl"])
    assert [row[0] for row in rows(index)][9:] == ["c10", "c11", "c12", "c13"]
    index.delete(["c9"])
    index.add(folder / "d.parquet")
    assert len(index) == 14


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("z.csv", {"text": ["a", "b"], "candidate_id": ["y", "x"]}, r"z\.csv: .*d\.parquet .* 'x'"),
        ("c.csv", {"text": ["a"], "candidate_id": ["c1"]}, r"c\.csv: .*b\.parquet has already .* 'c1'"),
        ("z.csv", {"text": ["a", " "]}, r"z\.csv, line 3: the candidate is empty"),
        ("z.csv", {"text": ["a"], "colour": ["red"]}, r"z\.csv: .* the first table, has no column 'colour'"),
        ("z.csv", {"text": ["a"], "year": ["late"]}, r"z\.csv: .*of another type"),
    ],
)
def test_a_wrong_shard_is_named_and_the_same_call_goes_on(folder, stub, tmp_path, name, table, message):
    before = (folder / name).read_bytes() if (folder / name).exists() else None
    pd.DataFrame(table).to_csv(folder / name, index=False)
    with pytest.raises(UserError, match=message):
        AnswerIndex.build(stub.StubRanker(), folder, tmp_path / "index")
    (folder / name).unlink() if before is None else (folder / name).write_bytes(before)
    assert rows(AnswerIndex.build(stub.StubRanker(), folder, tmp_path / "index")) == EXPECTED


def test_identifiers_of_one_hash_are_told_apart(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "_hashes", lambda ids: np.full(len(ids), 7, np.uint64))
    assert rows(AnswerIndex.build(None, folder, tmp_path / "index")) == EXPECTED


def test_finished_shards_are_not_made_again(folder, stub, tmp_path, monkeypatch):
    encoded = []
    encode = stub.StubRanker.encode_query

    def counting(self, texts):
        encoded.extend(texts)
        if "w5" in texts and len(encoded) < 6:
            raise KeyboardInterrupt
        return encode(self, texts)

    monkeypatch.setattr(stub.StubRanker, "encode_document", counting)
    with pytest.raises(KeyboardInterrupt):
        AnswerIndex.build(stub.StubRanker(), folder, tmp_path / "index")
    assert rows(AnswerIndex.build(stub.StubRanker(), folder, tmp_path / "index")) == EXPECTED
    assert encoded == ["w1", "w2 w3", "w4", "w5", "w6", "w5", "w6", "w7"]


def test_tables_that_are_not_there(stub, tmp_path):
    (tmp_path / "empty").mkdir()
    for table, message in (
        (tmp_path / "empty", r"empty holds no table: none of its files ends in \.csv"),
        ([tmp_path / "a.csv"], r"a\.csv does not exist"),
    ):
        with pytest.raises(UserError, match=message):
            AnswerIndex.build(None, table, tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_machine_that_gives_other_points_is_refused(stub, tmp_path):
    stub.StubRanker().save(tmp_path / "model")
    model = Model.read(tmp_path / "model").with_probe(stub.texts(5))
    assert model.encode(["w1"]).shape == (1, stub.D)
    other = model._replace(points=(np.frombuffer(model.points, np.float32) + 0.01).tobytes())
    with pytest.raises(UserError, match="gives other points to the same texts"):
        other.encode(["w1"])


def test_an_index_of_more_segments_than_files_may_usually_be_open(stub, answers, tmp_path):
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
    try:
        index = AnswerIndex.build(stub.StubRanker(), answers[:150], tmp_path / "index", chunk_rows=1)
        assert len(index.search("w1", k=300)) == 150 and len(index.manifest.segments) == 150
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_without_ray(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    pd.DataFrame({"text": ["a"]}).to_csv(tmp_path / "a.csv", index=False)
    ran = command("index", tmp_path / "a.csv", "--output", tmp_path / "index", "--ray", "auto")
    assert ran.code == 2 and "answer-ranking[cluster]" in ran.err
    ran = command("index", tmp_path / "a.csv", "--output", tmp_path / "index", "--ray", "auto", "--delete")
    assert ran.code == 2 and "leave --ray out" in ran.err
    ran = command("index", "--output", tmp_path / "index")
    assert ran.code == 2 and "name the tables of answers" in ran.err


def test_the_command_takes_several_tables(command, folder, tmp_path):
    index = tmp_path / "index"
    assert "3 answers" in command("index", folder / "b.parquet", folder / "c.csv", "--output", index).out
    assert (
        "6 answers"
        in command("index", folder / "d.parquet", folder / "e.jsonl", "--output", index, "--add").out
    )
    (tmp_path / "gone.txt").write_text("c1\n")
    ran = command("index", tmp_path / "gone.txt", folder / "d.parquet", "--output", index, "--delete")
    assert "3 answers" in ran.out
