"""The retrieval study on the sample."""

import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import load_dataset
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.engine import Seed
from answer_ranking.evaluation.runs import read_run
from answer_ranking.ranking import Ranker
from answer_ranking.reports.studies.retrieval_page import retrieval_block
from answer_ranking.reproduce.experiments.retrieval_task import indexed, make_task, training_table
from answer_ranking.reproduce.studies.retrieval import (
    Config,
    Retrieval,
    at_depth,
    fused_by_ranks,
    kept,
    main,
)


def config(tmp_path, **options):
    few = {"seeds": 1, "epochs": 1, "systems": ("HyperQA", "Cosinet")}
    places = {"output": tmp_path / "outputs", "results": tmp_path, "record": "retrieval/sample"}
    return Config(dataset="sample", **{**few, **places, **options})


def task_of(config):
    return make_task(load_dataset("sample"), config.most_questions)


def reciprocal_rank(ranking, correct):
    places = np.flatnonzero(ranking.isin(list(correct)))
    return 1 / (places[0] + 1) if len(places) else 0


def test_correct_answers_are_those_of_the_data_set(tmp_path):
    task, dataset = task_of(config(tmp_path, test_questions=5)), load_dataset("sample")
    texts = task.answers["test"].set_index("candidate_id")["candidate"]
    every = pd.concat([table["candidate"] for table in dataset.splits.values()])
    assert sorted(texts) == sorted(every.unique())
    assert len(task.questions["test"]) == 5
    right = dataset.test[dataset.test["label"] == 1].groupby("question_id")["candidate"].agg(set)
    for question, answers in task.correct["test"].items():
        assert {texts[each] for each in answers} == right[question]


def test_wrong_answers_are_bm25_s_best_and_others(tmp_path):
    task = task_of(config(tmp_path))
    index = indexed(None, task, "train", tmp_path)
    table = training_table(task, "train", index, 6)
    for question, rows in list(table.groupby("question_id"))[:10]:
        wrong = rows[rows["label"] == 0]["candidate_id"].tolist()
        assert len(wrong) == len(set(wrong)) == 6 and not set(wrong) & set(task.correct["train"][question])
        best = index.search(rows["question"].iloc[0], 20, "bm25")["candidate_id"]
        best = [each for each in best if each not in task.correct["train"][question]]
        assert wrong[: min(3, len(best))] == best[:3]


def test_the_first_answers_get_a_new_order():
    first = pd.DataFrame({"question_id": "q", "candidate_id": list("abcd"), "rank": [1, 2, 3, 4]})
    again = first.assign(rank=[4, 1, 3, 2])
    assert at_depth(first, again, 3)["candidate_id"].tolist() == list("bcad")
    assert at_depth(first, again, 100)["candidate_id"].tolist() == list("bdca")


def test_a_depth_is_judged_on_dev():
    class Fixed(Retrieval):
        """The right answer is first on dev and second on test."""

        def __init__(self):
            self._task = SimpleNamespace(correct={"dev": {"q": {"a": 1}}, "test": {"q": {"a": 1}}})

        def _ranking(self, condition, number, split):
            order = ["a", "b"] if split == "dev" else ["b", "a"]
            return pd.DataFrame({"question_id": "q", "candidate_id": order, "rank": [1, 2]})

    assert Fixed()._measure("dev", {}, Seed(0))["dev_mrr@10"] == 1.0
    assert Fixed()._measure("test", {}, Seed(0))["test_mrr@10"] == 0.5


def test_the_record_holds_what_the_run_files_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = config(tmp_path, systems=("HyperQA",))
    main(options)
    record = json.loads((tmp_path / "retrieval" / "sample.json").read_text())
    rows = {row["system"]: row for row in record["conditions"]}
    assert list(rows) == ["BM25", "HyperQA", "BM25 and HyperQA"]
    run = read_run(next(tmp_path.glob("outputs/retrieval/sample/*/seed-0/test-nearest-*.run")))
    task = task_of(options)
    reciprocal = []
    for question, ranked in run.groupby("question_id"):
        reciprocal.append(reciprocal_rank(ranked["candidate_id"][:10], task.correct["test"][question]))
    assert rows["HyperQA"]["metrics"]["mrr@10"]["mean"] == pytest.approx(np.mean(reciprocal), abs=1e-6)
    printed = capsys.readouterr().out
    main(options)  # Nothing is trained again.
    assert "epoch 1/" not in capsys.readouterr().out and "recall@100" in printed
    again = json.loads((tmp_path / "retrieval" / "sample.json").read_text())["conditions"]
    for row, same in zip(record["conditions"], again, strict=True):
        assert row["metrics"] == same["metrics"]
    with pytest.raises(UserError, match=r"is a record with more .* systems: BM25 and HyperQA, HyperQA"):
        main(config(tmp_path, systems=(), ready=("hyperqa_squad",)))
    with pytest.raises(UserError, match=r"is a record with more .* questions: 20"):
        main(replace(options, test_questions=5))


def test_rankers_that_are_ready_are_searched(tmp_path, monkeypatch, write_encoder):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = str(write_encoder(tmp_path / "encoder", max_position_embeddings=512))
    options = config(
        tmp_path,
        systems=(),
        ready=(source, "hyperqa_squad"),
        rerank=("cosinet_squad",),
        dev_questions=8,
        test_questions=8,
    )
    encoded, encode = [], ContextualEncoder.encode
    monkeypatch.setattr(ContextualEncoder, "encode", lambda *given: encoded.append(given) or encode(*given))
    ranked, ranking = [], Retrieval._ranking

    def noted(self, condition, number, split):
        ranked.append((split, condition.get("depth")))
        return ranking(self, condition, number, split)

    monkeypatch.setattr(Retrieval, "_ranking", noted)
    main(options)
    # What is timed is encoded each time, by two systems; all else is read from the cache.
    asked = task_of(options).questions["test"]["question"]
    assert {text for _, (text,) in encoded} == set(asked) and len(encoded) == 2 * (len(asked) + 5)
    record = json.loads((tmp_path / "retrieval" / "sample.json").read_text())
    systems = [row["system"] for row in record["conditions"]]
    ready = ["encoder, mean cosine", "hyperqa_squad"]
    assert systems[:-1] == ["BM25", ready[0], f"BM25 and {ready[0]}", ready[1], f"BM25 and {ready[1]}"]
    weights = (tmp_path / "encoder" / "model.safetensors").read_bytes()
    assert record["embeddings"] == "encoder"
    assert record["encoders"] == {"encoder": hashlib.sha256(weights).hexdigest()}
    assert "nothing is trained" in " ".join(retrieval_block(tmp_path / "retrieval").split())
    # Test is ranked when all is chosen, with the depth of the record alone.
    first_test = [split for split, _ in ranked].index("test")
    on_dev, on_test = ranked[:first_test], ranked[first_test:]
    assert {depth for _, depth in on_dev} == {None, 10, 30, 100}
    assert set(on_test) == {("test", None), ("test", record["conditions"][-1]["depth"])}
    # What is re-ranked is what dev chooses.
    by_dev = {row["system"]: row["metrics_dev"]["mrr@10"]["mean"] for row in record["conditions"][:-1]}
    assert systems[-1] == f"{max(by_dev, key=by_dev.get)}, then cosinet_squad"
    task, ranker = task_of(options), Ranker.of_encoder(source)
    answers, asked = task.answers["test"], task.questions["test"]
    points = [ranker.encode_document(table.tolist()) for table in (answers["candidate"], asked["question"])]
    texts, questions = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in points)
    reciprocal = []
    for scores, question in zip(questions @ texts.T, asked["question_id"], strict=True):
        ranking = answers["candidate_id"].iloc[np.argsort(-scores)[:10]]
        reciprocal.append(reciprocal_rank(ranking, task.correct["test"][question]))
    found = record["conditions"][1]["metrics"]["mrr@10"]["mean"]
    assert found == pytest.approx(np.mean(reciprocal), abs=0.01)


def test_another_encoder_in_a_folder_is_searched_anew(tmp_path, monkeypatch, write_encoder):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = str(write_encoder(tmp_path / "encoder"))
    options = config(tmp_path, systems=(), ready=(source,), dev_questions=2, test_questions=2)
    task = task_of(options)

    def ranking(folder):
        study = Retrieval(options, task, None, folder)
        (nearest,) = (each for each in study._finders() if each["stage"] == "nearest")
        return study._ranking(nearest, 0, "test")

    before = ranking(tmp_path / "same")
    write_encoder(tmp_path / "encoder", seed=1)
    found = ranking(tmp_path / "same")
    assert not found.equals(before)
    pd.testing.assert_frame_equal(found, ranking(tmp_path / "fresh"))


def test_a_kept_ranking_answers_the_same_questions_only(tmp_path):
    def ranking(questions):
        rows = {"question_id": list(questions), "candidate_id": list(questions), "rank": 1}
        return pd.DataFrame(rows)

    few, many, answers = ranking("ab"), ranking("abc"), pd.DataFrame({"candidate": ["x", "y"]})
    assert len(kept(tmp_path, "test-nearest", few, answers, lambda: few)) == 2
    assert len(kept(tmp_path, "test-nearest", many, answers, lambda: many)) == 3
    assert len(kept(tmp_path, "test-nearest", few, answers, lambda: pytest.fail("it is there"))) == 2
    # The names of answers may be those of others.
    assert len(kept(tmp_path, "test-nearest", few, answers[::-1], lambda: many)) == 3


def test_an_index_is_of_these_answers(tmp_path):
    task = task_of(config(tmp_path))
    turned = task.answers["test"].assign(candidate=task.answers["test"]["candidate"].to_numpy()[::-1])
    other = replace(task, answers=task.answers | {"test": turned})
    text = turned["candidate"].iloc[0]
    for each, expected in ((task, task.answers["test"]), (other, turned)):
        found = indexed(None, each, "test", tmp_path).search(text, 1, "bm25")["candidate_id"].iloc[0]
        assert expected.set_index("candidate_id")["candidate"][found] == text


def test_ranks_are_fused():
    ranked = {"nearest": ["x", "y", "z"], "bm25": ["y", "w"]}

    def search(asked, k, stage):
        names = ranked[stage]
        return pd.DataFrame({"question_id": "q", "candidate_id": names, "rank": range(1, len(names) + 1)})

    fused = fused_by_ranks(SimpleNamespace(search=search), pd.DataFrame())
    expected = {"y": 1 / 62 + 1 / 61, "x": 1 / 61, "w": 1 / 62, "z": 1 / 63}
    assert fused["candidate_id"].tolist() == list(expected) and fused["rank"].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(fused["score"], list(expected.values()))
