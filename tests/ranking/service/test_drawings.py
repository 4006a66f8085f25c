"""Drawings: bounded, kept, and never in the way of others."""

import shutil
import threading
import time

from answer_ranking.ranking.service.engine import Engine

QUESTION = "Who discovered radium?"


def test_as_many_candidates_as_are_allowed(client):
    asked = {"question": QUESTION, "candidates": ["radium"] * 50}
    assert client.post("/api/rank", json=asked).status_code == 200
    drawn = {"question": QUESTION, "answer": ["radium"] * 50, "method": "disk"}
    assert client.get("/why.svg", params=drawn).status_code == 200


def test_long_texts_are_not_explained(folder, served):
    with served(Engine(folder)) as client:
        for answer in ("a " * 400, "!" * 400, "b"):
            asked = {"question": "radium", "answer": answer}
            expected = 200 if answer == "b" else 422
            assert client.post("/api/explain", json=asked).status_code == expected
            assert client.get("/why.svg", params=asked).status_code == expected


def test_drawings_are_bounded_by_their_cells_and_their_answers(client):
    for question, answer, expected in (("a " * 40, "b " * 90, 200), ("a " * 70, "b " * 70, 422)):
        asked = {"question": question, "answer": answer}
        assert client.get("/why.svg", params=asked).status_code == expected
        assert client.post("/api/explain", json=asked).status_code == 200


def test_drawings_hold_up_neither_searches_nor_health(folder, served):
    engine, goes_on = Engine(folder), threading.Event()
    engine.explain = lambda *asked: goes_on.wait(60)
    statuses = []

    def draw(number):
        asked = {"question": QUESTION, "answer": f"radium {number}"}
        statuses.append(client.get("/why.svg", params=asked).status_code)

    with served(engine, concurrent=1, waiting=1) as client:
        asking = [threading.Thread(target=draw, args=(number,)) for number in range(12)]
        try:
            for thread in asking:
                thread.start()
            # Nine are refused, since one is drawn and two may wait.
            deadline = time.monotonic() + 30
            while len(statuses) < 9 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert statuses == [503] * 9
            found = client.post("/api/search", json={"question": QUESTION})
            assert found.status_code == 200 and found.json()["answers"]
            assert client.get("/api/health").json()["status"] == "ok"
        finally:
            goes_on.set()
            for thread in asking:
                thread.join()


def test_a_drawing_is_made_once_until_the_index_changes(folder, tmp_path, answers, served):
    engine = Engine(shutil.copytree(folder, tmp_path / "index"))
    drawn = []
    explain = engine.explain
    engine.explain = lambda *asked: drawn.append(asked) or explain(*asked)
    asked = {"question": QUESTION, "answer": answers[0]}
    with served(engine) as client:
        first, again = (client.get("/why.svg", params=asked).text for _ in range(2))
        client.get("/why.svg", params={**asked, "answer": answers[1]})
        assert first == again and len(drawn) == 2
        engine._seen = None  # as after a change of the index
        assert client.get("/why.svg", params=asked).status_code == 200 and len(drawn) == 3


def test_a_kept_drawing_waits_for_no_other(folder, answers, served):
    engine, goes_on = Engine(folder), threading.Event()
    with served(engine) as client:
        asked = {"question": QUESTION, "answer": answers[0]}
        first = client.get("/why.svg", params=asked).text
        engine.explain = lambda *_: goes_on.wait(60)
        others = [{**asked, "answer": f"radium {number}"} for number in range(4)]
        asking = [
            threading.Thread(target=client.get, args=("/why.svg",), kwargs={"params": each})
            for each in others
        ]
        try:
            for thread in asking:
                thread.start()
            deadline = time.monotonic() + 30
            while client.get("/why.svg", params=others[0]).status_code != 503:
                assert time.monotonic() < deadline
            assert client.get("/why.svg", params=asked).text == first
        finally:
            goes_on.set()
            for thread in asking:
                thread.join()
