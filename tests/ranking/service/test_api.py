"""The API, asked as a client asks."""

import hashlib
import json
import re
import shutil
import threading

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import DamagedFileError, UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.logs import ACCESS, Lines
from answer_ranking.ranking.service.schemas import SearchRequest

QUESTION = "Who discovered radium?"


def test_search_and_rank_give_what_the_index_and_the_ranker_give(client, folder, preset, answers):
    def answers_of(path, **asked):
        return pd.DataFrame(
            client.post(f"/api/{path}", json={"question": QUESTION, **asked}).json()["answers"]
        )

    found, expected = (
        answers_of("search", k=3, first_stage="both"),
        AnswerIndex.open(folder).search(QUESTION, 3, "both"),
    )
    assert found["candidate"].tolist() == expected["candidate"].tolist()
    assert found["candidate_id"].tolist() == expected["candidate_id"].tolist()
    ranked, expected = answers_of("rank", candidates=answers), preset.rank(QUESTION, answers)
    assert ranked["candidate"].tolist() == expected["candidate"].tolist()
    np.testing.assert_allclose(ranked["score"], expected["score"], rtol=1e-6)
    again, scores = (
        answers_of("search", first_stage="bm25", rerank=True),
        expected.set_index("candidate")["score"],
    )
    np.testing.assert_allclose(again["score"], scores[again["candidate"]], rtol=1e-6)
    why = client.post("/api/explain", json={"question": QUESTION, "answer": answers[0]}).json()
    assert why["kind"] == "shares" and why["answer"][:2] == ["marie", "curie"]


def test_an_answer_that_is_not_sure_enough_is_not_given(client, served, tmp_path, answers):
    index = AnswerIndex.build(None, pd.DataFrame({"answer": answers}), tmp_path / "index")
    pairs = [("who discovered radium in 1898", answers[0]), ("train to utrecht at noon", answers[1])]
    index.calibrate(pd.DataFrame(pairs, columns=["question", "candidate"]), ["radium and who leaves at dawn"])
    with served(Engine(tmp_path / "index")) as sure:
        answered = sure.post("/api/search", json={"question": QUESTION}).json()
        assert answered["first_stage"] == index.first_stages[0]
        found = answered["answers"]
        expected = index.find([QUESTION]).table
        assert [each["confidence"] for each in found] == pytest.approx(expected["confidence"].tolist())
        assert all("confidence" not in each["columns"] for each in found)
        least = expected["confidence"].iloc[0]
        asked = {"question": QUESTION, "min_confidence": least - 1e-6}
        assert len(sure.post("/api/search", json=asked).json()["answers"]) >= 1
        refused = sure.post("/api/search", json={"question": QUESTION, "min_confidence": 1}).json()
        assert not refused["answers"] and refused["note"]
        page = sure.get("/", params={"q": QUESTION, "min_confidence": 1}).text
        assert refused["note"] in page and answers[0] not in page
    # An index that has not learnt it shows none, and cannot be asked for it.
    assert client.post("/api/search", json={"question": QUESTION}).json()["answers"][0]["confidence"] is None
    asked = {"question": QUESTION, "min_confidence": 0.5}
    refused = client.post("/api/search", json=asked)
    assert refused.status_code == 422
    assert "learnt no confidence" in refused.json()["detail"] and "/" not in refused.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("search", {"question": ""}, 422),
        ("search", {"question": QUESTION, "k": 51}, 422),
        ("search", {"question": "a " * 101}, 422),
        ("search", {"question": "_" * 101}, 422),
        ("search", {"question": QUESTION, "first_stage": "x"}, 422),
        ("rank", {"question": QUESTION, "candidates": []}, 422),
        ("rank", {"question": QUESTION, "candidates": ["a"], "ranker": "x"}, 422),
        ("search", {"question": "a" * 6_000}, 413),
        ("search", {"question": QUESTION, "ks": 3}, 422),
        ("explain", {"question": QUESTION, "answer": "a " * 400}, 422),
        ("nothing", {}, 404),
    ],
)
def test_what_is_refused_is_a_problem_with_its_details(client, path, body, status):
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == status and answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status and problem["detail"]
    assert "/" not in problem["detail"] and "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("body", "kind", "status", "said"),
    [
        (b'{"question": }', "application/json", 422, "not JSON"),
        (b'{"question": "x"}', "", 415, "content-type"),
        (b"[]", "application/json", 422, "body"),
    ],
)
def test_what_is_wrong_with_a_body_is_said_plainly(client, body, kind, status, said):
    answer = client.post("/api/search", content=body, headers={"content-type": kind} if kind else {})
    assert answer.status_code == status and said in answer.json()["detail"]


def test_answers_have_their_columns_and_are_chosen_by_them(tmp_path, served):
    when = pd.to_datetime(["2001-02-03", None])
    table = pd.DataFrame({"answer": ["Ann wrote it.", "Bob wrote it."], "year": [2001, 2002], "when": when})
    AnswerIndex.build(None, table, tmp_path / "index")
    with served(Engine(tmp_path / "index")) as client:

        def columns(**asked):
            asked = {"question": "Who wrote it?", **asked}
            answers = client.post("/api/search", json=asked).json()["answers"]
            return [each["columns"] for each in answers]

        assert [each["year"] for each in columns()] == [2001, 2002]
        assert columns()[0]["when"].startswith("2001-02-03") and columns()[1]["when"] is None
        assert columns(where={"year": [2002, 2003]}, columns=["year"]) == [{"year": 2002}]
        assert columns(columns=[]) == [{}, {}]
        assert columns(columns=["year", "year"])[0] == {"year": 2001}
        body = json.dumps({"question": "Who?", "where": {"when": "\ud800"}})
        refused = client.post("/api/search", content=body, headers={"content-type": "application/json"})
        assert refused.status_code == 422 and "half of a character" in refused.json()["detail"]


def test_head_is_answered_as_get(client):
    for path, status in (("/", 200), ("/api/health", 200), ("/nothing", 404), ("/api/search", 405)):
        answer = client.head(path)
        assert answer.status_code == status
    assert client.head("/api/health").headers["content-type"] == "application/json"


def test_the_description_of_the_api_has_every_field(client):
    text = client.get("/api/docs").text
    schema = client.get("/api/openapi.json").json()
    for path in schema["paths"]:
        assert path in text
    for kind in ("SearchRequest", "RankRequest", "ExplainRequest", "Answers", "Health"):
        for name in schema["components"]["schemas"][kind]["properties"]:
            assert f"<code>{name}</code>" in text


def test_requests_are_logged_without_their_questions(client, caplog):
    with caplog.at_level("INFO", ACCESS):
        client.get("/", params={"q": QUESTION})
    (record,) = [each for each in caplog.records if each.name == ACCESS]
    line = json.loads(Lines().format(record))
    assert (line["method"], line["path"], line["status"]) == ("GET", "/", 200)
    assert "radium" not in Lines().format(record)


def test_warming_up_asks_everything_once(folder, preset):
    engine = Engine(folder, reranker=preset)
    asked = []
    search = engine._search
    engine._search = lambda texts, options: asked.append(options) or search(texts, options)
    engine.warm_up()
    assert {(each.first_stage, each.rerank) for each in asked} == {(s, True) for s in engine.first_stages}


def test_a_question_of_unknown_words_is_told_so(client, recwarn):
    asked = {"question": "xyzzyx", "k": 3}
    for stage in ("nearest", "bm25"):
        answer = client.post("/api/search", json=asked | {"first_stage": stage}).json()
        assert answer["answers"] == [] and answer["first_stage"] == stage
        assert ("knows no word" in answer["note"]) == (stage == "nearest")
    assert "knows no word" in client.get("/", params={"q": "xyzzyx", "left": "nearest"}).text
    assert not [each for each in recwarn if "knows no word" in str(each.message)]


def test_metrics_count_requests_and_measure_the_process(client):
    client.get("/api/health")
    text = client.get("/metrics").text
    assert 'answer_ranking_requests_total{path="/api/health",status="200"}' in text
    for name in ("resident_memory_bytes", "cpu_seconds_total"):
        (line,) = re.findall(rf"^answer_ranking_process_{name} (.+)$", text, re.MULTILINE)
        assert float(line) > 0
    assert 'answer_ranking_latency_seconds_count{path="/api/health"}' in text


def test_a_failure_is_counted_and_says_nothing_of_the_machine(folder, monkeypatch, answers, served):
    def damaged(*_, **__):
        raise DamagedFileError(f"{folder} is damaged")

    engine = Engine(folder)
    with served(engine) as client:
        monkeypatch.setattr(AnswerIndex, "find", damaged)
        answer = client.post("/api/search", json={"question": QUESTION})
        assert answer.status_code == 500 and answer.json()["detail"] == "A file of the index is damaged."
        monkeypatch.setattr(engine, "explain", lambda *_: 1 / 0)
        answer = client.post("/api/explain", json={"question": QUESTION, "answer": answers[0]})
        assert answer.status_code == 500 and answer.json()["detail"] == "The request failed."
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert (
            'answer_ranking_requests_total{path="/api/explain",status="500"} 1.0'
            in client.get("/metrics").text
        )


def test_a_changed_index_is_noticed_and_a_damaged_one_is_not_taken(
    folder, tmp_path, monkeypatch, answers, served
):
    monkeypatch.setattr("answer_ranking.ranking.service.engine._LOOK_EVERY", 0.0)
    copy = tmp_path / "index"
    shutil.copytree(folder, copy)
    with served(Engine(copy)) as client:
        AnswerIndex.open(copy).add(pd.DataFrame({"answer": ["Radium was found."], "candidate_id": ["new"]}))
        assert client.get("/api/health").json()["answers"] == len(answers) + 1
        copy.rename(tmp_path / "elsewhere")
        assert client.get("/api/health").json()["status"] == "degraded"
        (tmp_path / "elsewhere").rename(copy)
        assert client.get("/api/health").json()["status"] == "ok"
        (copy / "manifest.json").write_text("{}")
        health = client.get("/api/health").json()
        assert health["status"] == "degraded" and str(tmp_path) not in health["problem"]
        found = client.post("/api/search", json={"question": QUESTION, "k": 50}).json()["answers"]
        assert "new" in [each["candidate_id"] for each in found]


def test_an_index_whose_files_cannot_be_read_is_not_taken(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("answer_ranking.ranking.service.engine._LOOK_EVERY", 0.0)
    shutil.copytree(folder, copy := tmp_path / "index")
    engine, path = Engine(copy), copy / "manifest.json"
    facts = json.loads(path.read_text())
    del facts["sha256"]
    facts["files"][f"segments/{facts['segments'][0][0]}/{'a' * 300}"] = [1, ""]  # no system has such a name
    sha256 = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps({**facts, "sha256": sha256}))
    with pytest.raises(OSError, match="too long"):
        AnswerIndex.open(copy)
    assert engine.health()["status"] == "degraded"


def test_others_search_the_old_index_while_a_changed_one_is_opened(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, copy := tmp_path / "index")
    engine, opening, go = Engine(copy), threading.Event(), threading.Event()
    AnswerIndex.open(copy).add(pd.DataFrame({"answer": ["Radium was found."], "candidate_id": ["new"]}))
    monkeypatch.setattr("answer_ranking.ranking.service.engine._LOOK_EVERY", 0.0)
    really_open = AnswerIndex.open

    def slowly(place):
        opening.set()
        assert go.wait(60)
        return really_open(place)

    monkeypatch.setattr(AnswerIndex, "open", slowly)
    thread = threading.Thread(target=engine.refresh)
    thread.start()
    assert opening.wait(60)
    asked = SearchRequest(question=QUESTION, k=50)
    assert "new" not in {each.candidate_id for each in engine.search("", asked).result(60).answers}
    go.set()
    thread.join(60)
    assert "new" in {each.candidate_id for each in engine.search("", asked).result(60).answers}


def test_an_engine_needs_something_to_serve(folder, preset, answers, served):
    with pytest.raises(UserError, match="an index or a ranker"):
        Engine()
    with served(Engine(ranker=preset)) as client:
        asked = {"question": QUESTION, "candidates": answers}
        assert client.post("/api/rank", json=asked).status_code == 200
        assert "no index here" in client.post("/api/search", json={"question": "x"}).json()["detail"]
        assert client.get("/", params={"q": QUESTION}).status_code == 422
