"""An attack on the service, over the loopback interface alone: what another client sees of it.

    python benchmarks/attack.py

An index of --answers halves of sentences, as in `benchmarks/search.py`, is served by
`answer-ranking serve --rerank cosinet_squad`. A client in a process of its own searches it again and again,
with short pauses, for --seconds in peace and for as long under each attack:

- `half_heads`: --heads connections that send half the head of a request, and come again when they are closed;
- `half_bodies`: --bodies connections that send most of a large body;
- `chunks`: --chunked connections that send bodies in chunks of one byte;
- `reasons`: --askers clients that ask for the page with the reasons of long texts, each another one;
- `one_client`: --clients connections of one client, that search all the time;
- `clients`: --clients clients that search all the time, each from an address of its own.

All attackers have other addresses than the client that is watched, and none comes later where it is told to.
The figures are the client's searches, their median and 99th percentile, and what it was refused; the
largest memory of the service, beside that before the first attack; the load of the machine; and the size of
the log.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from common import add_counts, arguments, milliseconds, parse, write_figures
from search import add_datasets
from service import HEAD, HEADERS, K, Service, make_index

from answer_ranking.base.command import run_command

PAUSE = 0.02  # seconds between the searches of the client that is watched
COMES_BACK = 2.0  # seconds, at most, after which an attacker connects again
BODY = 900_000  # bytes, of the 1,000,000 that are announced and allowed
WORDS = 38  # in a question and an answer to be explained: as many as a grid shows
REASONS = count()
ATTACKS = ("half_heads", "half_bodies", "chunks", "reasons", "one_client", "clients")

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Attack = Callable[[Reader, Writer, list[str]], Coroutine[Any, Any, None]]


def main() -> None:
    """Measure peace and all attacks, and write the figures."""
    options = _options()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        index, questions = make_index(Path(folder), options)
        log = Path(folder) / "log"
        service = Service(index.folder, log, "--rerank", "cosinet_squad")
        try:
            figures = asyncio.run(attacked(service, questions, options))
        finally:
            service.process.kill()
        figures["log_bytes"] = log.stat().st_size
    print(json.dumps(figures))
    write_figures(options.output, figures)


def _options() -> argparse.Namespace:
    parser = arguments(__doc__, "attack.json")
    add_datasets(parser)
    add_counts(
        parser,
        answers=(100_000, "answers of the index"),
        seconds=(20, "seconds of peace and of each attack"),
        heads=(2_000, "connections with half a head"),
        bodies=(2_000, "connections with half a body"),
        chunked=(4, "connections with chunks of one byte"),
        askers=(4, "clients that ask for reasons"),
        clients=(300, "clients that search"),
    )
    about = "attacks to measure (default: all)"
    parser.add_argument("--only", nargs="+", choices=ATTACKS, help=about)
    return parse(parser)


async def attacked(service: Service, questions: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Watch a client in peace and under each attack."""
    attacks: dict[str, tuple[Attack | None, int, int]] = {  # what, how often, from how many addresses
        "peace": (None, 0, 1),
        "half_heads": (half_head, options.heads, 1),
        "half_bodies": (half_body, options.bodies, 1),
        "chunks": (chunks_of_one_byte, options.chunked, 1),
        "reasons": (reasons, options.askers, 1),
        "one_client": (searches, options.clients, 1),
        "clients": (searches, options.clients, options.clients),
    }
    if options.only:
        attacks = {name: attacks[name] for name in ("peace", *options.only)}
    shown: dict[str, Any] = {}
    memory = 0
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as watcher:
        for name, (attack, number, addresses) in attacks.items():
            attackers = []
            for each in range(number):
                assert attack is not None
                address = f"127.1.{each % addresses // 250}.{each % addresses % 250 + 1}"
                attackers.append(asyncio.create_task(again(attack, address, service.port, questions)))
            await asyncio.sleep(1)
            loop = asyncio.get_running_loop()
            watched = loop.run_in_executor(watcher, watch, service.port, questions, options.seconds)
            largest = await _largest_memory(service, watched)
            memory = memory or largest
            shown[name] = {
                "number": number,
                **await watched,
                "memory_ratio": largest / memory,
                "load": os.getloadavg()[0],
            }
            print(name, json.dumps(shown[name]), flush=True)
            for attacker in attackers:
                attacker.cancel()
            await asyncio.gather(*attackers, return_exceptions=True)
    return {"answers": options.answers, "attacks": shown, "memory_bytes": memory}


async def _largest_memory(service: Service, until: asyncio.Future) -> int:
    largest = 0
    while not until.done():
        largest = max(largest, service.memory)
        await asyncio.sleep(0.2)
    return largest


def watch(port: int, questions: list[str], seconds: float) -> dict[str, Any]:
    """Search for a while, as any client does: opens again what is closed, comes later when it is told to."""
    times: list[float] = []
    refused: Counter[str] = Counter()
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    end = time.monotonic() + seconds
    for number in count():
        body = json.dumps({"question": questions[number % len(questions)], "k": K})
        start = time.perf_counter()
        try:
            client.request("POST", "/api/search", body, HEADERS)
            answer = client.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            refused[type(error).__name__] += 1
            client.close()
        else:
            if answer.status == 200:
                times.append(time.perf_counter() - start)
            else:
                refused[str(answer.status)] += 1
                time.sleep(float(answer.headers.get("Retry-After", 0)))
        if time.monotonic() > end:
            break
        time.sleep(PAUSE)
    return {"searches": len(times), **(milliseconds(times) if times else {}), "refused": dict(refused)}


async def again(attack: Attack, address: str, port: int, questions: list[str]) -> None:
    """Attack over one connection; where it is closed, over the next."""
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
            try:
                await attack(reader, writer, questions)
            finally:
                writer.close()
        await asyncio.sleep(random.uniform(0, COMES_BACK))


async def half_head(reader: Reader, writer: Writer, _: list[str]) -> None:
    """Send half a head."""
    writer.write(HEAD)
    await reader.read()


async def half_body(reader: Reader, writer: Writer, _: list[str]) -> None:
    """Send most of a body."""
    writer.write(HEAD + b"Content-Length: 1000000\r\n\r\n" + b" " * BODY)
    await writer.drain()
    await reader.read()


async def chunks_of_one_byte(reader: Reader, writer: Writer, _: list[str]) -> None:
    """Send a body in chunks of one byte until the service has enough."""
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while not reader.at_eof():
        writer.write(b"1\r\n \r\n" * 10_000)
        await writer.drain()


async def reasons(reader: Reader, writer: Writer, _: list[str]) -> None:
    """Ask for reasons that nobody has asked for."""
    while True:
        writer.write(f"GET {_page_of_reasons()} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await _answer(reader)


async def searches(reader: Reader, writer: Writer, questions: list[str]) -> None:
    """Search."""
    for question in questions:
        body = json.dumps({"question": question, "k": K}).encode()
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await _answer(reader)


async def _answer(reader: Reader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    _, _, rest = head.lower().partition(b"content-length: ")
    await reader.readexactly(int(rest.split()[0]))


def _page_of_reasons() -> str:
    """Give the address of the page with the reasons of two long texts."""
    question = f"radium {next(REASONS)} " + "word " * (WORDS - 2)
    return "/?" + urlencode({"q": question, "why": "radium " * WORDS})


if __name__ == "__main__":
    run_command(main)
