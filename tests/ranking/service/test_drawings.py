"""Drawings: bounded, kept, and never in the way of others."""

import multiprocessing
import shutil
import signal
import threading
import time

import pytest

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")

from starlette.exceptions import HTTPException

from answer_ranking.ranking.service.drawings import Drawer
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


def test_drawings_hold_up_neither_searches_nor_health_nor_kept_drawings(folder, served):
    engine, goes_on, statuses = Engine(folder), threading.Event(), []
    kept = {"question": QUESTION, "answer": "It glows."}

    def draw(number):
        asked = {"question": QUESTION, "answer": f"radium {number}"}
        statuses.append(client.get("/why.svg", params=asked).status_code)

    with served(engine, concurrent=1, waiting=1) as client:
        first = client.get("/why.svg", params=kept).text
        engine.explain = lambda *asked: goes_on.wait(60)
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
            assert client.get("/why.svg", params=kept).text == first
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


def test_the_process_of_drawings_starts_again_after_it_was_ended(preset, answers):
    reason, drawer = preset.explain(QUESTION, answers[0]), Drawer()
    others = multiprocessing.active_children()
    try:
        assert drawer(reason).startswith("<svg")
        (process,) = [each for each in multiprocessing.active_children() if each not in others]
        process.kill()
        process.join(30)
        with pytest.raises(HTTPException) as refused:
            drawer(reason)
        assert refused.value.status_code == 503
        assert drawer(reason).startswith("<svg")
        (process,) = [each for each in multiprocessing.active_children() if each not in others]
    finally:
        drawer.close()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL  # at once, and not when Matplotlib lets go


def test_what_cannot_be_drawn_ends_no_process(preset, answers):
    drawer = Drawer()
    drawer.start()
    try:
        with pytest.raises(AttributeError):
            drawer("no reason")
        assert drawer(preset.explain(QUESTION, answers[0])).startswith("<svg")
    finally:
        drawer.close()
