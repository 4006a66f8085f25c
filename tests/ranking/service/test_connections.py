"""Clients that wait, or send little at a time, are in nobody's way."""

import asyncio
import time
from contextlib import suppress

import pytest

pytest.importorskip("uvicorn")
import uvicorn

from answer_ranking.ranking.service import connections
from answer_ranking.ranking.service.limits import RESTS

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _application(scope, receive, send):
    if scope["path"] == "/slow":
        await asyncio.sleep(0.6)  # longer than a head may take
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/later":
        scope["state"][RESTS] = 0.5
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


def _run(client):
    """Run a client, which is given a function that connects, beside a server."""

    async def run():
        protocol = connections.Connection
        config = uvicorn.Config(_application, port=0, http=protocol, lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        writers = []

        async def connect(said=b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(writer)
            writer.write(said)
            return reader, writer

        try:
            await asyncio.wait_for(client(connect), 30)
        finally:
            for writer in writers:
                writer.close()
            server.should_exit = True
            await task
        assert not protocol.waiting and not protocol.working and not protocol.turns

    asyncio.run(run())


@pytest.fixture(autouse=True)
def short_deadline(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)


@pytest.mark.parametrize("asked_before", [False, True])
def test_half_head_is_closed_though_bytes_keep_coming(asked_before):
    async def client(connect):
        reader, writer = await connect()
        if asked_before:
            writer.write(REQUEST)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        start, end = time.monotonic(), asyncio.create_task(reader.read())
        for byte in REQUEST[:-2] * 2:
            if end.done():
                break
            writer.write(bytes([byte]))
            await asyncio.sleep(0.1)
        assert end.done()
        assert time.monotonic() - start < 3

    _run(client)


def test_whole_request_may_take_longer_than_its_head():
    async def client(connect):
        reader, writer = await connect()
        for _ in range(2):
            writer.write(REQUEST.replace(b"/ ", b"/slow "))
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    _run(client)


@pytest.mark.parametrize("at_once", [True, False])
def test_who_is_to_come_later_is_not_heard_before(at_once, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)

    async def client(connect):
        later = REQUEST.replace(b"/ ", b"/later ")
        reader, writer = await connect(later + REQUEST if at_once else later)
        await reader.readuntil(b"ok")
        start = time.monotonic()
        if not at_once:
            writer.write(REQUEST)
        other, _ = await connect(REQUEST)
        await other.readuntil(b"ok")
        soon = time.monotonic() - start
        await reader.readuntil(b"ok")
        assert soon < 0.4 < time.monotonic() - start

    _run(client)


def test_who_does_not_wait_waits_twice_as_long_the_next_time(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)

    async def client(connect):
        later = REQUEST.replace(b"/ ", b"/later ")
        reader, writer = await connect(later)
        await reader.readuntil(b"ok")
        seconds = []
        for path in (later, REQUEST, later, REQUEST):
            start = time.monotonic()
            writer.write(path)
            await reader.readuntil(b"ok")
            seconds.append(time.monotonic() - start)
        # The second one was heard late, too; once a request is answered, all begins anew.
        assert 0.4 < seconds[0] < 0.9 < seconds[1] and seconds[2] < 0.4 < seconds[3] < 0.9

    _run(client)


@pytest.mark.parametrize("half", [b"", BODY + b"1\r\nx\r\n"])
def test_the_connection_that_has_waited_the_longest_makes_room(monkeypatch, half):
    monkeypatch.setattr(connections, "MOST_WAITING", 3)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)

    async def client(connect):
        held = []
        for _ in range(5):
            held.append(await connect(half))
            await asyncio.sleep(0.05)
        for reader, _ in held[:2]:
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        reader, _ = await connect(REQUEST)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        assert len(connections.Connection.waiting) == 3

    _run(client)


def test_chunks_of_one_byte_do_not_hold_up_others():
    async def client(connect):
        many, _ = await connect(BODY + b"1\r\nx\r\n" * 4_000 + b"0\r\n\r\n")
        reader, writer = await connect()
        answered = asyncio.create_task(many.readuntil(b"ok"))
        for _ in range(30):
            writer.write(REQUEST)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        assert not answered.done()
        await answered

    _run(client)


def test_one_client_has_a_number_of_requests_at_once_and_all_have_their_turn(monkeypatch):
    monkeypatch.setattr(connections, "OF_ONE_CLIENT", 2)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)

    async def client(connect):
        held = [await connect(REQUEST[:-2]) for _ in range(3)]  # two have their turns
        await asyncio.sleep(0.1)
        for _, writer in held:
            writer.write(REQUEST[-2:])
        for reader, writer in held:
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            writer.write(REQUEST)
        for reader, _ in held:
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    _run(client)


def test_who_leaves_without_an_answer_gives_back_its_turn(monkeypatch):
    monkeypatch.setattr(connections, "OF_ONE_CLIENT", 1)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)

    async def client(connect):
        _, leaves = await connect(REQUEST[:-2])
        await asyncio.sleep(0.1)
        reader, _ = await connect(REQUEST)
        answered = asyncio.create_task(reader.readuntil(b"ok"))
        await asyncio.sleep(0.2)
        assert not answered.done()
        leaves.close()
        assert (await answered).startswith(b"HTTP/1.1 200")

    _run(client)
