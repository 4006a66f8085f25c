"""The page and the service, asked as a client asks."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex, Ranker

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")
pytest.importorskip("httpx", reason="FastAPI's test client needs httpx")

import httpx
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient

from answer_ranking.ranking.service.app import _read_body, make_app
from answer_ranking.ranking.service.batches import Batches
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.serve import serve

ANSWERS = [
    "Marie Curie discovered radium in 1898.",
    "The train to Utrecht leaves at noon.",
    '<script>alert("radium")</script> & co.',
    "הראדיום התגלה",
    "😀 radium glows",
]
QUESTION = "Who discovered radium?"
BASE = "http://127.0.0.1"


@pytest.fixture(scope="module")
def preset():
    return Ranker.from_preset("hyperqa_squad")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, preset):
    folder = tmp_path_factory.mktemp("service") / "index"
    AnswerIndex.build(preset, pd.DataFrame({"answer": ANSWERS}), folder)
    return folder


@pytest.fixture(scope="module")
def client(folder, preset):
    options = ServiceOptions(most_bytes=5_000, most_candidates=50, most_words=100)
    with TestClient(make_app(Engine(folder, second=preset), options), base_url=BASE) as client:
        yield client


def test_search_and_rank_give_what_the_index_and_the_ranker_give(client, folder, preset):
    found = client.post("/api/search", json={"question": QUESTION, "k": 3, "first_stage": "both"}).json()
    expected = AnswerIndex.open(folder).search(QUESTION, 3, "both")
    assert [each["text"] for each in found["answers"]] == expected["candidate"].tolist()
    assert [each["id"] for each in found["answers"]] == expected["candidate_id"].tolist()
    ranked = client.post("/api/rank", json={"question": QUESTION, "candidates": ANSWERS}).json()["answers"]
    expected = preset.rank(QUESTION, ANSWERS)
    assert [each["text"] for each in ranked] == expected["text"].tolist()
    np.testing.assert_allclose([each["score"] for each in ranked], expected["score"], rtol=1e-6)
    why = client.post("/api/explain", json={"question": QUESTION, "answer": ANSWERS[0]}).json()
    assert why["kind"] == "shares" and why["answer"][:2] == ["marie", "curie"]
    asked = {"question": QUESTION, "first_stage": "bm25", "rerank": True}
    again = client.post("/api/search", json=asked).json()["answers"]
    scores = {row.text: row.score for row in expected.itertuples()}
    assert [each["score"] for each in again] == pytest.approx([scores[each["text"]] for each in again])


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("search", {"question": ""}, 422, "at least 1 character"),
        ("search", {"question": QUESTION, "k": 51}, 422, "At most 50 answers"),
        ("search", {"question": "a " * 101}, 422, "At most 100 words"),
        ("search", {"question": "!" * 101}, 422, "At most 100 words"),
        ("search", {"question": "_" * 101}, 422, "At most 100 words"),
        ("search", {"question": QUESTION, "first_stage": "x"}, 422, "one of nearest, bm25, both"),
        ("search", {"question": " "}, 422, "is empty"),
        ("rank", {"question": QUESTION, "candidates": []}, 422, "at least 1 item"),
        ("rank", {"question": QUESTION, "candidates": ["a"] * 51}, 422, "At most 50 answers"),
        ("rank", {"question": QUESTION, "candidates": ["a"], "ranker": "x"}, 422, "model, second"),
        ("explain", {"question": QUESTION, "answer": " "}, 422, "text 2 is empty"),
        ("explain", {"question": QUESTION, "answer": "a", "method": "x"}, 422, "own, occlusion"),
        ("search", {"question": "a" * 6_000}, 413, "larger than 5,000 bytes"),
        ("nothing", {}, 404, "Not Found"),
    ],
)
def test_what_is_refused_is_a_problem_with_its_details(client, path, body, status, detail):
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == status and answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status and detail in problem["detail"]
    assert "/" not in problem["detail"] and "Traceback" not in answer.text


def test_as_many_candidates_as_are_allowed(client):
    asked = {"question": QUESTION, "candidates": ["radium"] * 50}
    assert client.post("/api/rank", json=asked).status_code == 200
    drawn = {"question": QUESTION, "answer": ["radium"] * 50, "method": "disk"}
    assert client.get("/why.svg", params=drawn).status_code == 200


def test_a_long_address_is_refused_and_the_page_grows_with_the_candidates_alone(folder):
    with TestClient(make_app(Engine(folder)), base_url=BASE) as client:
        sizes = []
        for n in (200, 400):
            asked = {"q": QUESTION, "candidates": "\n".join(f"radium {i} " + "x" * 80 for i in range(n))}
            sizes.append(len(client.get("/", params=asked).text))
        assert sizes[1] < 2.1 * sizes[0]
        assert client.get("/", params={"q": "a" * 65_000}).status_code == 414


def test_a_question_of_unknown_words_is_told_so(client, recwarn):
    asked = {"question": "xyzzyx", "k": 3}
    for stage in ("nearest", "bm25"):
        answer = client.post("/api/search", json=asked | {"first_stage": stage}).json()
        assert answer["answers"] == [] and answer["first_stage"] == stage
        assert ("knows no word" in answer["note"]) == (stage == "nearest")
    assert "knows no word" in client.get("/", params={"q": "xyzzyx", "left": "nearest"}).text
    assert not [each for each in recwarn if "knows no word" in str(each.message)]


def test_a_body_without_a_length_is_bounded_too(client):
    parts = (b"x" * 1_000 for _ in range(100))
    assert client.post("/api/search", content=parts).status_code == 413


def test_a_body_that_does_not_come_is_given_up():
    async def receive():
        await asyncio.sleep(60)

    request = Request({"type": "http", "headers": []}, receive)
    with pytest.raises(HTTPException, match="took too long") as refused:
        asyncio.run(_read_body(request, ServiceOptions(seconds=0.01)))
    assert refused.value.status_code == 408


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def test_the_page_shows_texts_as_texts(client):
    answer = client.get(
        "/", params={"q": 'Is "radium" <b>?', "left": "nearest", "right": "bm25", "why": ANSWERS[2]}
    )
    page = Page(answer.text)
    assert all(text in page.text for text in ANSWERS)
    assert [each["src"] for each in page.all("script")] == ["page.js"] and not page.all("b")
    assert page.all("input")[0]["value"] == 'Is "radium" <b>?'
    assert len(page.all("ol")) == 2 and page.all("html")[0]["lang"] == "en"
    named = {each["for"] for each in page.all("label")}
    assert {each["id"] for tag in ("input", "select", "textarea") for each in page.all(tag)} <= named
    for image in page.all("img"):
        assert image["alt"]
        drawing = client.get(image["src"])
        assert (
            drawing.status_code == 200 and drawing.text.startswith("<svg") and "<script" not in drawing.text
        )
    for each in (answer, client.get("/style.css"), client.get("/page.js"), client.get("/api/health")):
        policy = each.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "http://" not in each.text and "https://" not in each.text


def test_why_keeps_the_view_and_candidates_of_one_s_own_are_ranked(client, preset):
    asked = {"q": QUESTION, "candidates": "\n".join(ANSWERS), "left": "model"}
    page = Page(client.get("/", params=asked).text)
    best = preset.rank(QUESTION, ANSWERS)["text"][0]
    (why, *_) = [each for each in page.all("button") if each.get("name") == "why"]
    again = Page(client.get("/", params=asked | {"why": why["value"]}).text)
    assert again.text.count(best) == page.text.count(best) + 1  # as the one that is explained
    assert len(again.all("img")) == 3 and "Why this answer" in again.text
    assert Page(client.get("/", params={"q": QUESTION, "k": 51}).text).all("p")[0]["role"] == "alert"


def test_metrics_count_requests(client):
    client.get("/api/health")
    text = client.get("/metrics").text
    assert 'requests_total{path="/api/health",status="200"}' in text
    assert 'latency_seconds_count{path="/api/health"}' in text


def test_a_failure_is_counted_and_says_nothing_of_the_machine(folder, monkeypatch, tmp_path):
    shutil.copytree(folder, copy := tmp_path / "index")
    engine = Engine(copy)
    with TestClient(make_app(engine), base_url=BASE) as client:
        (texts,) = copy.rglob("*.parquet")
        texts.write_bytes(b"damaged")
        answer = ask(client)
        assert answer.status_code == 500 and answer.json()["detail"] == "A file of the index is damaged."
        monkeypatch.setattr(engine, "explain", lambda *_: 1 / 0)
        answer = client.post("/api/explain", json={"question": QUESTION, "answer": ANSWERS[0]})
        assert answer.status_code == 500 and answer.json()["detail"] == "The request failed."
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert 'requests_total{path="/api/explain",status="500"} 1.0' in client.get("/metrics").text


def test_long_texts_are_not_explained(folder):
    with TestClient(make_app(Engine(folder)), base_url=BASE) as client:
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


def test_a_drawing_is_made_once_until_the_index_changes(folder, tmp_path):
    engine = Engine(shutil.copytree(folder, tmp_path / "index"))
    drawn = []
    explain = engine.explain
    engine.explain = lambda *asked: drawn.append(asked) or explain(*asked)
    asked = {"question": QUESTION, "answer": ANSWERS[0]}
    with TestClient(make_app(engine), base_url=BASE) as client:
        first, again = (client.get("/why.svg", params=asked).text for _ in range(2))
        client.get("/why.svg", params={**asked, "answer": ANSWERS[1]})
        assert first == again and len(drawn) == 2
        engine._seen = None  # as after a change of the index
        assert client.get("/why.svg", params=asked).status_code == 200 and len(drawn) == 3


def test_drawings_hold_up_neither_searches_nor_health(folder):
    engine, goes_on = Engine(folder), threading.Event()
    engine.explain = lambda *asked: goes_on.wait(60)
    statuses = []

    def draw(number):
        asked = {"question": QUESTION, "answer": f"radium {number}"}
        statuses.append(client.get("/why.svg", params=asked).status_code)

    with TestClient(make_app(engine, ServiceOptions(concurrent=1, waiting=1)), base_url=BASE) as client:
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


def test_a_kept_drawing_waits_for_no_other(folder):
    engine, goes_on = Engine(folder), threading.Event()
    with TestClient(make_app(engine), base_url=BASE) as client:
        asked = {"question": QUESTION, "answer": ANSWERS[0]}
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


def test_the_page_says_that_texts_are_too_long_to_be_drawn(client):
    for answer, drawn in (("b " * 50, True), ("b " * 90, False)):
        text = client.get("/", params={"q": "a " * 50, "why": answer}).text
        assert ("too long to be drawn" not in text) == drawn
        assert ("ranker=model" in text) == drawn


def test_health_is_told_while_all_workers_work(folder):
    engine, works, goes_on = Engine(folder), threading.Event(), threading.Event()
    engine.search = lambda *asked: works.set() or goes_on.wait(60)
    app = make_app(engine, ServiceOptions(concurrent=1, waiting=0))
    with TestClient(app, base_url=BASE) as client:
        asked = {"question": QUESTION}
        busy = threading.Thread(target=client.post, args=("/api/search",), kwargs={"json": asked})
        busy.start()
        try:
            assert works.wait(30)
            refused = client.post("/api/rank", json={**asked, "candidates": ["radium"]})
            assert refused.status_code == 503
            assert client.get("/api/health").json()["status"] == "ok"
        finally:
            goes_on.set()
            busy.join()


@pytest.mark.parametrize("path", ["/", "/why.svg?question=radium&answer=b", "/api/health", "/metrics"])
@pytest.mark.parametrize("site", ["same-origin", "same-site", "cross-site", "none", ""])
@pytest.mark.parametrize(
    ("mode", "dest"), [("navigate", "document"), ("navigate", "iframe"), ("no-cors", "image")]
)
def test_another_site_s_page_may_do_no_more_than_link_to_the_page(client, path, site, mode, dest):
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest} if site else {}
    foreign = site in ("same-site", "cross-site")
    allowed = not foreign or (path == "/" and dest == "document")
    assert client.get(path, headers=headers).status_code == (200 if allowed else 403)


@pytest.mark.parametrize("purpose", ["prefetch", "prefetch;prerender"])
def test_another_site_s_page_cannot_have_the_page_fetched_ahead(client, purpose):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/", headers={**headers, "sec-purpose": purpose}).status_code == 403
    assert client.get("/", headers=headers).status_code == 200


def test_another_site_s_page_cannot_search(client):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
    asked = {"question": QUESTION}
    assert client.post("/api/search", json=asked, headers=headers).status_code == 403
    assert client.post("/api/search", json=asked).status_code == 200


def test_a_page_without_a_model_of_points_has_no_dead_links(preset, tmp_path):
    words = AnswerIndex.build(None, pd.DataFrame({"answer": ANSWERS}), tmp_path / "words").folder
    with TestClient(make_app(Engine(words)), base_url=BASE) as client:
        assert len(Page(client.get("/", params={"q": QUESTION}).text).all("button")) == 1
    with TestClient(make_app(Engine(words, second=preset)), base_url=BASE) as client:
        page = Page(client.get("/", params={"q": QUESTION, "why": ANSWERS[0]}).text)
        (image,) = page.all("img")
        assert len(page.all("button")) > 1 and client.get(image["src"]).status_code == 200


def test_another_host_is_refused(client):
    assert client.get("/api/health", headers={"host": "example.org"}).status_code == 400


class Held(Engine):
    """Searches when it is let go."""

    def __init__(self, folder):
        super().__init__(folder)
        self.go = threading.Event()

    def search(self, *asked):
        assert self.go.wait(60)
        return super().search(*asked)


def ask(client):
    return client.post("/api/search", json={"question": QUESTION})


def test_too_many_at_once_are_refused_and_the_others_answered(folder):
    engine = Held(folder)
    app = make_app(engine, ServiceOptions(concurrent=1, waiting=1, seconds=60))
    with TestClient(app, base_url=BASE) as client:
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(ask(client))) for _ in range(2)]
        for thread in threads:
            thread.start()
        while "busy 2.0" not in client.get("/metrics").text:
            time.sleep(0.01)
        for _ in range(3):
            refused = ask(client)
            assert refused.status_code == 503 and "Too many requests at once" in refused.json()["detail"]
            assert refused.headers["retry-after"] == "1"
        engine.go.set()
        for thread in threads:
            thread.join()
        assert [each.status_code for each in answers] == [200, 200]
        assert ask(client).status_code == 200


def test_questions_that_wait_are_searched_together_and_fail_alone(folder):
    index, sizes, go = AnswerIndex.open(folder), [], threading.Event()

    def search(questions, k):
        sizes.append(len(questions))
        assert go.wait(60)
        table = index.search(questions, k)
        return [table[table["question"] == each]["candidate"].tolist() for each in questions]

    batches, found = Batches(search), {}

    def run(question):
        try:
            found[question] = batches(question, 2)
        except UserError as error:
            found[question] = str(error)

    questions = [QUESTION, "Where does the train go?", "What glows?", " "]
    threads = [threading.Thread(target=run, args=(each,)) for each in questions]
    threads[0].start()
    while not sizes:
        time.sleep(0.01)
    for thread in threads[1:]:
        thread.start()
    while len(batches._waiting[(2,)]) < 3:
        time.sleep(0.01)
    go.set()
    for thread in threads:
        thread.join()
    assert sizes[:2] == [1, 3] and "is empty" in found.pop(" ")
    assert found == {each: index.search(each, 2)["candidate"].tolist() for each in questions[:3]}


def test_what_takes_too_long_is_given_up(folder):
    engine = Held(folder)
    with TestClient(make_app(engine, ServiceOptions(seconds=0.05)), base_url=BASE) as client:
        refused = ask(client)
        assert refused.status_code == 503 and "took too long" in refused.json()["detail"]
        engine.go.set()


def test_a_client_that_asks_too_often_is_refused(folder):
    with TestClient(make_app(Engine(folder), ServiceOptions(per_second=0.1)), base_url=BASE) as client:
        assert [ask(client).status_code for _ in range(2)] == [200, 429]


def test_a_changed_index_is_noticed_and_a_damaged_one_is_not_taken(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("answer_ranking.ranking.service.engine._LOOK_EVERY", 0.0)
    copy = tmp_path / "index"
    shutil.copytree(folder, copy)
    with TestClient(make_app(Engine(copy)), base_url=BASE) as client:
        AnswerIndex.open(copy).add(pd.DataFrame({"answer": ["Radium was found."], "candidate_id": ["new"]}))
        assert client.get("/api/health").json()["answers"] == len(ANSWERS) + 1
        (copy / "manifest.json").write_text("{}")
        health = client.get("/api/health").json()
        assert health["status"] == "degraded" and str(tmp_path) not in health["problem"]
        found = client.post("/api/search", json={"question": QUESTION, "k": 50}).json()["answers"]
        assert "new" in [each["id"] for each in found]


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
    assert "new" not in [each.id for each in engine.search(QUESTION, 50).answers]
    go.set()
    thread.join(60)
    assert "new" in [each.id for each in engine.search(QUESTION, 50).answers]


def test_an_engine_needs_something_to_serve(folder, preset):
    with pytest.raises(UserError, match="an index or a ranker"):
        Engine()
    with TestClient(make_app(Engine(ranker=preset)), base_url=BASE) as client:
        asked = {"question": QUESTION, "candidates": ANSWERS}
        assert client.post("/api/rank", json=asked).status_code == 200
        assert "no index here" in client.post("/api/search", json={"question": "x"}).json()["detail"]
        assert client.get("/", params={"q": QUESTION}).status_code == 422


@pytest.mark.parametrize(
    ("options", "statuses"), [((), (200, 200)), (("--allowed-hosts", "answers.example"), (200, 400))]
)
def test_a_service_on_all_addresses_has_the_names_that_it_is_given(options, statuses):
    program = Path(sys.executable).with_name("answer-ranking")
    command = [program, "serve", "hyperqa_squad", "--host", "0.0.0.0", "--port", "0", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}, **pipes) as server:
        try:
            port = urlsplit(server.stdout.readline().split()[0]).port
            url = f"http://127.0.0.1:{port}/api/health"
            got = [
                httpx.get(url, headers={"Host": host}, timeout=60).status_code
                for host in ("answers.example", "other.example")
            ]
        finally:
            server.terminate()
    assert tuple(got) == statuses


def test_an_index_that_is_not_finished_is_named(folder, tmp_path):
    shutil.copytree(folder, copy := tmp_path / "index")
    (copy / "manifest.json").rename(copy / "building")
    with pytest.raises(UserError, match="is not finished"):
        serve(copy, None, "127.0.0.1", 0, (), ServiceOptions())
