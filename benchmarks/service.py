"""The service under load and faults, over the loopback interface alone.

    python benchmarks/service.py

An index of --answers halves of sentences, as in `benchmarks/search.py`, is served by `answer-ranking serve`.

1. Throughput: --clients clients, each with a connection of its own, search for --seconds: searches a second
   and their percentiles. Every answer is compared with that of the index itself.
2. Faults: --malformed malformed requests, connections that are cut, slow clients, and 500 clients at once:
   statuses are counted; a status of 500 or a dead server is a crash.
3. Mixed load for --minutes: searches, rankings, reasons and pages; the memory of the server at the end beside
   that after a tenth of the time.
4. SIGTERM while requests are under way: they are answered, and the server ends.
"""

import argparse
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from common import add_counts, arguments, milliseconds, parse, write_figures
from search import add_datasets, make_texts
from tqdm import tqdm

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.ranking.search.index import AnswerIndex

K = 10
HEADERS = {"content-type": "application/json"}
HEAD = b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
_PATHS = ("/api/search", "/api/rank", "/api/explain", "/api/../x", "/%00", "/?k=0")


def main() -> None:
    """Measure all parts and write the figures."""
    parser = arguments(__doc__, "service.json")
    add_datasets(parser)
    add_counts(
        parser,
        answers=(100_000, "answers of the index"),
        clients=(16, "clients of the throughput"),
        seconds=(60, "seconds of the throughput"),
        malformed=(10_000, "malformed requests"),
    )
    parser.add_argument("--minutes", type=float, default=30, help="of the mixed load (default: 30)")
    options = parse(parser)
    with tempfile.TemporaryDirectory() as folder:
        index, questions = make_index(Path(folder), options)
        expected = {text: index.search(text, K)["candidate_id"].tolist() for text in questions}
        service = Service(index.folder)
        try:
            figures = {"answers": options.answers, **throughput(service, expected, options)}
            print(json.dumps(figures), flush=True)
            figures["faults"] = faults(service, expected, options.malformed)
            print(json.dumps(figures["faults"]), flush=True)
            figures |= mixed(service, expected, options.minutes * 60)
            figures["crashes"] = figures["faults"].pop("crashes") + (service.process.poll() is not None)
            figures["malformed_requests"] = options.malformed
            figures |= ended(service, questions)
        finally:
            service.process.kill()
    print(json.dumps(figures))
    write_figures(options.output, figures)


def make_index(folder: Path, options: argparse.Namespace) -> tuple[AnswerIndex, list[str]]:
    """Index the answers, as many as the options say; gives questions, too."""
    make_texts(folder, options.datasets, options.answers)
    index = AnswerIndex.build("hyperqa_squad", folder / "answers.parquet", folder / "index")
    return index, json.loads((folder / "questions.json").read_text())


class Service:
    """The served index, a process of its own, which may write what it says to a log."""

    def __init__(self, index: Path, log: Path | None = None, *options: str):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        program = Path(sys.executable).with_name("answer-ranking")
        command = [program, "serve", index, "--port", self.port, *options]
        words = [str(word) for word in command]
        with ExitStack() as stack:
            said = None if log is None else stack.enter_context(log.open("w"))
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said)
        for _ in range(300):
            try:
                self.ask(self.connect(), "GET", "/api/health")
                return
            except OSError:
                time.sleep(0.2)
        raise UserError("the service has not started within a minute.")

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(
        self, client: http.client.HTTPConnection, method: str, path: str, body: Any = None
    ) -> tuple[int, bytes]:
        client.request(method, path, None if body is None else json.dumps(body), HEADERS)
        answer = client.getresponse()
        return answer.status, answer.read()

    @property
    def memory(self) -> int:
        """The resident memory in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def at_once(number: int, work: Any) -> None:
    """Run work(i) in threads, and wait for all."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ids(content: bytes) -> list[str]:
    """Give the identifiers of the answers found."""
    return [each["candidate_id"] for each in json.loads(content)["answers"]]


def throughput(
    service: Service, expected: dict[str, list[str]], options: argparse.Namespace
) -> dict[str, Any]:
    """Search with many clients; what comes must be right."""
    questions, times, wrong, statuses = list(expected), [], [0], Counter[int]()

    def client(number: int) -> None:
        connection, rng = service.connect(), random.Random(number)
        while time.monotonic() < end:
            question, start = rng.choice(questions), time.perf_counter()
            status, content = service.ask(connection, "POST", "/api/search", {"question": question, "k": K})
            times.append(time.perf_counter() - start)
            statuses[status] += 1
            wrong[0] += status == 200 and ids(content) != expected[question]

    end = time.monotonic() + 2
    at_once(options.clients, client)
    times.clear()
    statuses.clear()
    end = time.monotonic() + options.seconds
    at_once(options.clients, client)
    return {
        "clients": options.clients,
        "searches_per_second": len(times) / options.seconds,
        **milliseconds(times),
        "statuses": dict(statuses),
        "wrong_answers": wrong[0],
    }


def faults(service: Service, expected: dict[str, list[str]], number: int) -> dict[str, Any]:
    """Send what no client should, while slow clients hold connections."""
    question, rng = next(iter(expected)), random.Random(0)
    slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(50)]
    for each in slow:
        each.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
    malformed, tracebacks = _malformed(service, question, rng, number)
    _cut(service, question, rng)
    crowd = _crowd(service, question, expected[question])
    for each in slow:
        each.close()
    # A server that is alive answers this one.
    status, content = service.ask(service.connect(), "POST", "/api/search", {"question": question})
    well = status == 200 and ids(content) == expected[question]
    return {
        "malformed": dict(malformed),
        "crowd": dict(crowd),
        "tracebacks": tracebacks,
        "crashes": malformed[500] + crowd[500] + (not well),
    }


def _malformed(
    service: Service, question: str, rng: random.Random, number: int
) -> tuple[Counter[int | str], int]:
    """Send malformed requests; give their statuses and the number of tracebacks."""
    statuses, tracebacks = Counter[int | str](), 0
    for _ in tqdm(range(number), desc="malformed", leave=False, disable=None):
        body, path = _malformed_body(question, rng), rng.choice(_PATHS)
        client = service.connect()
        try:
            client.request(rng.choice(("POST", "POST", "POST", "PUT", "GET")), path, body, HEADERS)
            answer = client.getresponse()
            statuses[answer.status] += 1
            tracebacks += b"Traceback" in answer.read()
        except (OSError, http.client.HTTPException):
            statuses["cut"] += 1
        finally:
            client.close()
    return statuses, tracebacks


def _malformed_body(question: str, rng: random.Random) -> bytes:
    good = json.dumps({"question": question}).encode()
    wrong = rng.choice((None, 7, [], {"a": 1}, "", " ", "\ud800", "x" * 2_000_000))
    bodies = (
        rng.randbytes(rng.randrange(200)),
        good[: rng.randrange(len(good))],
        json.dumps({"question": wrong}).encode(),
        json.dumps({"question": question, "k": rng.choice((-1, 0, 1e99, "many", None))}).encode(),
        json.dumps({"question": question, "first_stage": "/etc/passwd"}).encode(),
        b"[" * rng.randrange(100_000),
    )
    return rng.choice(bodies)


def _cut(service: Service, question: str, rng: random.Random) -> None:
    """Cut requests in the middle."""
    good = json.dumps({"question": question}).encode()
    whole = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(good), good)
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", service.port)) as client:
            client.sendall(whole[: rng.randrange(1, len(whole) + 1)])


def _crowd(service: Service, question: str, expected: list[str]) -> Counter[int | str]:
    """Search with 500 clients at once; give the statuses of the answers."""
    statuses = Counter[int | str]()

    def one(_: int) -> None:
        client = service.connect()
        try:
            status, content = service.ask(client, "POST", "/api/search", {"question": question})
            right = status != 200 or ids(content) == expected
            statuses[status if right else "wrong"] += 1
        except (OSError, http.client.HTTPException):
            statuses["cut"] += 1
        finally:
            client.close()

    at_once(500, one)
    return statuses


def mixed(service: Service, expected: dict[str, list[str]], seconds: float) -> dict[str, Any]:
    """Use everything for a while, and look at the memory."""
    questions, statuses, memory, wrong = list(expected), Counter[int](), [], [0]
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        connection, rng = service.connect(), random.Random(number)
        while time.monotonic() < end:
            question = rng.choice(questions)
            kind = rng.choice(("search", "search", "both", "rank", "explain", "page", "reason"))
            if kind in ("search", "both"):
                body = {"question": question, "k": K, "first_stage": "both" if kind == "both" else ""}
                status, content = service.ask(connection, "POST", "/api/search", body)
                wrong[0] += status == 200 and kind == "search" and ids(content) != expected[question]
            elif kind == "rank":
                body = {"question": question, "candidates": rng.choices(questions, k=50)}
                status, _ = service.ask(connection, "POST", "/api/rank", body)
            elif kind == "explain":
                body = {"question": question, "answer": rng.choice(questions)}
                status, _ = service.ask(connection, "POST", "/api/explain", body)
            else:
                path = "/?q=Who+wrote+it%3F&left=nearest&right=bm25&compare=1"
                if kind == "reason":
                    path = "/?q=Who+wrote+it%3F&why=Ann+wrote+it."
                status, _ = service.ask(connection, "GET", path)
            statuses[status] += 1
            time.sleep(rng.uniform(0, 0.2))

    def watch(_: int) -> None:
        with tqdm(total=round(seconds), desc="mixed load", unit="s", leave=False, disable=None) as bar:
            while time.monotonic() < end:
                memory.append(service.memory)
                time.sleep(min(1.0, seconds / 100))
                bar.update(round(seconds - max(end - time.monotonic(), 0)) - bar.n)

    at_once(9, lambda number: watch(number) if number == 8 else client(number))
    tenth = max(len(memory) // 10, 1)
    before, after = np.mean(memory[tenth : 2 * tenth]), np.mean(memory[-tenth:])
    return {
        "mixed_seconds": seconds,
        "mixed_statuses": dict(statuses),
        "mixed_wrong_answers": wrong[0],
        "memory_bytes": int(after),
        "memory_growth": float(after / before - 1),
    }


def ended(service: Service, questions: list[str]) -> dict[str, Any]:
    """End the server while it works."""
    statuses = Counter[int | str]()

    def one(number: int) -> None:
        if number == 0:
            time.sleep(0.05)
            service.process.send_signal(signal.SIGTERM)
            return
        try:
            body = {"question": questions[number % len(questions)], "k": 500}
            statuses[service.ask(service.connect(), "POST", "/api/search", body)[0]] += 1
        except (OSError, http.client.HTTPException):
            statuses["refused"] += 1

    start = time.monotonic()
    at_once(9, one)
    service.process.wait(30)
    return {"sigterm_seconds": time.monotonic() - start, "sigterm_statuses": dict(statuses)}


if __name__ == "__main__":
    run_command(main)
