"""What is refused before anything works on a request."""

import asyncio
import threading
import time
from contextlib import suppress
from itertools import count
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")

from fastapi import HTTPException

from answer_ranking.ranking.service import limits
from answer_ranking.ranking.service import workers as service_workers
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.limits import Bodies, Rates
from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.workers import Workers

QUESTION = "Who discovered radium?"


def test_a_body_without_a_length_is_bounded_too(client):
    parts = (b"x" * 1_000 for _ in range(100))
    assert client.post("/api/search", content=parts).status_code == 413


async def _answer(app, receive, client="a", announced=0):
    """Ask an application without a server; give the status of its answer."""
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"content-length", str(announced).encode())] if announced else []
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "client": (client, 1)}
    await app(scope, receive, send)
    return sent[0]["status"]


def test_a_body_that_does_not_come_is_given_up():
    async def receive():
        await asyncio.sleep(60)

    slow = Bodies(None, ServiceOptions(seconds=0.01))
    assert asyncio.run(_answer(slow, receive)) == 408


def test_large_bodies_are_bounded_over_all_requests():
    async def ask():
        async def app(scope, receive, send):
            await receive()
            await send({"status": 200})

        async def whole(size):
            async def receive():
                return {"type": "http.request", "body": b"x" * size}

            return await _answer(bodies, receive)

        bodies = Bodies(app, ServiceOptions(most_bytes=100_000, most_bytes_at_once=100_000))

        async def unfinished():
            if bodies.held:
                await asyncio.sleep(60)
            return {"type": "http.request", "body": b"x" * 60_000, "more_body": True}

        held = asyncio.create_task(_answer(bodies, unfinished, client="b"))
        await asyncio.sleep(0.01)
        during = [await whole(size) for size in (5_000, 30_000, 60_000)]
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
        return [*during, await whole(60_000)]

    assert asyncio.run(ask()) == [200, 200, 503, 200]


def test_a_body_that_is_announced_is_refused_unread_and_leaves_half_to_others():
    async def app(scope, receive, send):
        await send({"status": 200})

    async def ask():
        bodies = Bodies(app, ServiceOptions(most_bytes=100_000, most_bytes_at_once=400_000))
        halves = []
        for _ in range(2):
            halves.append(asyncio.create_task(_answer(bodies, asyncio.Event().wait, "b", 100_000)))
        await asyncio.sleep(0.01)
        statuses = []
        for client, announced in (("b", 100_000), ("c", 100_000), ("c", 100_001)):
            unread = asyncio.create_task(_answer(bodies, asyncio.Event().wait, client, announced))
            done, _ = await asyncio.wait([unread], timeout=0.1)
            statuses.append(unread.result() if done else "is read")
            unread.cancel()
        for half in halves:
            half.cancel()
        await asyncio.gather(*halves, return_exceptions=True)
        return [*statuses, bodies.held]

    assert asyncio.run(ask()) == [503, "is read", 413, 0]


def test_a_client_that_asks_too_often_is_refused_for_a_while(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def app(scope, receive, send):
        await send({"status": 200})

    rates = Rates(app, per_second=0.3)

    def ask_four_times():
        return [asyncio.run(_answer(rates, None)) for _ in range(4)]

    assert ask_four_times() == [200, 200, 200, 429]
    now[0] = 10.1
    assert ask_four_times() == [200, 200, 200, 429]


@pytest.mark.parametrize("path", ["/", "/api/health"])
@pytest.mark.parametrize("site", ["same-origin", "same-site", "cross-site", ""])
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


LONG_WORD = "x" * 99_000  # the tokenizer cuts it into 198


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("search", {"question": "长" * 2_001}, "2000 words of a text"),
        ("search", {"question": "\ufdfa" * 700}, "2000 words of a text"),  # NFKC makes four words of it
        ("rank", {"question": QUESTION, "candidates": ["a", "长" * 2_001]}, "2000 words of a text"),
        ("explain", {"question": QUESTION, "answer": "长" * 399}, "400 words can be explained"),
        ("explain", {"question": f"{LONG_WORD} who is", "answer": f"{LONG_WORD} he is."}, "400 words can be"),
    ],
)
def test_words_are_counted_as_the_model_reads_them(folder, served, path, body, said):
    with served(Engine(folder)) as client:
        refused = client.post(f"/api/{path}", json=body)
        assert refused.status_code == 422 and said in refused.json()["detail"]


def test_another_host_is_refused(client):
    refused = client.get("/api/health", headers={"host": "example.org"})
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"


class Held(Engine):
    """Ranks when it is let go."""

    def __init__(self, folder):
        super().__init__(folder)
        self.go = threading.Event()

    def rank(self, *asked):
        assert self.go.wait(60)
        return super().rank(*asked)


def ask(client):
    return client.post("/api/rank", json={"question": QUESTION, "candidates": ["radium"]})


def test_too_many_at_once_are_refused_and_the_others_answered(folder, served):
    engine = Held(folder)
    with served(engine, concurrent=1, waiting=1, seconds=60) as client:
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(ask(client))) for _ in range(2)]
        for thread in threads:
            thread.start()
        while "answer_ranking_busy 2.0" not in client.get("/metrics").text:
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


def test_one_client_leaves_room_for_another():
    workers, go_on = Workers(ServiceOptions(concurrent=8, waiting=6)), threading.Event()

    async def ask():
        async def statuses(client, number):
            asked = [asyncio.create_task(workers.run(client, go_on.wait, 60)) for _ in range(number)]
            refused, _ = await asyncio.wait(asked, timeout=0.1)
            assert all(each.exception().status_code == 503 for each in refused)
            tasks.extend(asked)
            return number - len(refused)

        tasks = []
        let_in = [await statuses("many", 20), await statuses("other", 1), await statuses("third", 1)]
        go_on.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return let_in

    many, other, third = asyncio.run(ask())
    assert 4 <= many < 12 and (other, third) == (1, 1)
    workers.close()


def test_many_requests_of_one_client_are_let_in_and_another_does_not_wait_for_them():
    workers, done = Workers(ServiceOptions(concurrent=4)), []

    async def ask(client):
        await workers.run(client, time.sleep, 0.01)
        done.append(client)

    async def ask_all():
        many = [asyncio.create_task(ask("proxy")) for _ in range(64)]
        await asyncio.sleep(0.03)
        before = len(done)
        await asyncio.gather(ask("other"), *many)
        return before

    before = asyncio.run(ask_all())
    assert done.count("proxy") == 64 and done.index("other") - before < 16
    workers.close()


def test_who_comes_back_at_once_does_not_keep_out_who_waits():
    workers = Workers(ServiceOptions(concurrent=4, waiting=0))

    async def come_back(client):
        while True:
            with suppress(HTTPException):
                await workers.run(client, time.sleep, 0.01)
            await asyncio.sleep(0)

    async def wait_and_ask(client):
        for _ in range(60):
            try:
                return await workers.run(client, time.sleep, 0)
            except HTTPException:
                await asyncio.sleep(0.05)
        raise AssertionError("kept out")

    async def ask():
        busy = [asyncio.create_task(come_back(f"client {number}")) for number in range(8)]
        await asyncio.sleep(1.1)  # all of them have been let in lately
        await asyncio.gather(*(wait_and_ask(f"other {number}") for number in range(3)))
        for each in busy:
            each.cancel()

    asyncio.run(ask())
    workers.close()


def test_fewer_are_let_in_while_all_have_to_wait_long(monkeypatch):
    now, number = [0.0], count()
    monkeypatch.setattr(service_workers, "time", SimpleNamespace(monotonic=lambda: now[0]))
    workers = Workers(ServiceOptions(concurrent=2, waiting=30))

    def work(seconds):
        now[0] += seconds

    async def let_in(seconds):
        asked = [workers.run(f"client {next(number)}", work, seconds) for _ in range(40)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        return sum(not isinstance(each, HTTPException) for each in found)

    async def ask():
        return [[await let_in(seconds) for _ in range(60)] for seconds in (0, 1, 0)]

    quick, slow, again = asyncio.run(ask())
    assert quick[0] == 4 and 8 < quick[-1] <= 32
    assert slow[-1] == 2 and again[-1] > 8
    workers.close()


def test_what_takes_too_long_is_given_up(folder, served):
    engine = Held(folder)
    with served(engine, seconds=0.05) as client:
        refused = ask(client)
        assert refused.status_code == 503 and "took too long" in refused.json()["detail"]
        engine.go.set()


def test_a_client_that_asks_too_often_is_refused(folder, served):
    with served(Engine(folder), per_second=0.1) as client:
        assert [ask(client).status_code for _ in range(2)] == [200, 429]


def test_health_is_told_while_all_workers_work(folder, served):
    engine, works, goes_on = Engine(folder), threading.Event(), threading.Event()
    engine.rank = lambda *asked: works.set() or goes_on.wait(60)
    with served(engine, concurrent=1, waiting=0) as client:
        busy = threading.Thread(target=ask, args=(client,))
        busy.start()
        try:
            assert works.wait(30)
            refused = client.post("/api/search", json={"question": QUESTION})
            page = client.get("/", params={"q": QUESTION})
            assert (refused.status_code, page.status_code, page.headers["retry-after"]) == (503, 503, "1")
            assert client.get("/api/health").json()["status"] == "ok"
        finally:
            goes_on.set()
            busy.join()


def test_reasons_hold_up_neither_searches_nor_health(folder, served):
    engine, goes_on, statuses = Engine(folder), threading.Event(), []

    def explain(number):
        asked = {"question": QUESTION, "answer": f"radium {number}"}
        statuses.append(client.post("/api/explain", json=asked).status_code)

    with served(engine, concurrent=1, waiting=1) as client:
        engine.explain = lambda *asked: goes_on.wait(60)
        asking = [threading.Thread(target=explain, args=(number,)) for number in range(12)]
        try:
            for thread in asking:
                thread.start()
            # Nine are refused, since one is found and two may wait.
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
