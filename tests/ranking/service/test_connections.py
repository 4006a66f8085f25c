"""Half heads are closed in time; whole requests on one connection are not."""

import asyncio
import time

import pytest

pytest.importorskip("uvicorn")
import uvicorn

from answer_ranking.ranking.service import connections


async def _application(scope, receive, send):
    await asyncio.sleep(0.6)  # longer than a head may take
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def _with_server(client):
    config = uvicorn.Config(
        _application, port=0, http=connections.Connection, lifespan="off", log_level="error"
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await asyncio.wait_for(client(reader, writer), 8)
    finally:
        writer.close()
        server.should_exit = True
        await task


@pytest.fixture(autouse=True)
def short_deadline(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)


@pytest.mark.parametrize("asked_before", [False, True])
def test_half_head_is_closed_though_bytes_keep_coming(asked_before):
    async def client(reader, writer):
        if asked_before:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        start, end = time.monotonic(), asyncio.create_task(reader.read())
        for byte in b"GET / HTTP/1.1\r\nHost: x\r\n" * 2:
            if end.done():
                break
            writer.write(bytes([byte]))
            await asyncio.sleep(0.1)
        assert end.done()
        assert time.monotonic() - start < 3

    asyncio.run(_with_server(client))


def test_whole_request_may_take_longer_than_its_head():
    async def client(reader, writer):
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    asyncio.run(_with_server(client))
