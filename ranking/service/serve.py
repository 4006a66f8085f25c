"""The command `answer-ranking serve`: the page and the service on this machine."""

import gc
import os
import socket
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import pandas as pd
import uvicorn
from threadpoolctl import threadpool_limits

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import raise_file_limit
from answer_ranking.data_prep import load_dataset
from answer_ranking.ranking.model_folder import names_encoder, preset_names
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.ranking.search.manifest import BUILDING, NAME
from answer_ranking.ranking.service.app import make_app
from answer_ranking.ranking.service.connections import Connection
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.logs import set_up_logs
from answer_ranking.ranking.service.options import ServiceOptions

_LOCAL = ("127.0.0.1", "localhost", "::1")
_EVERY = ("0.0.0.0", "::")
_QUEUE = 1_024  # connections that may wait to be accepted
_ACCEPTED = 32  # so many are accepted before requests have their turn again
_DESCRIPTORS = 4_096  # more than these and the most connections that may be open


def serve(
    source: Path | None,
    reranker: Path | None,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    options: ServiceOptions,
) -> None:
    """Serve an index, a ranker, or the bundled sample's answers, until it is stopped.

    `hosts` are further names under which it may be called; without any, a service on all addresses may be
    called by any name. SIGTERM finishes what is under way, for as long as a request may take.
    """
    for name in hosts:
        if "*" in name.removeprefix("*.") and name != "*":
            raise UserError(f"--allowed-hosts has * alone, or in front, as *.example.org. Received: {name}")
    with ExitStack() as stack:
        bound = stack.enter_context(_bound(host, port))
        other = None if reranker is None else Ranker.load(reranker)
        if source is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "index"
            AnswerIndex.build("hyperqa_squad", _sample(), folder, search=["answer"])
            engine = Engine(folder, reranker=other)
        elif any((source / name).exists() for name in (NAME, BUILDING)):
            engine = Engine(source, reranker=other)
        else:
            engine = Engine(ranker=_loaded(source), reranker=other)
        engine.warm_up()
        address = f"{_in_address(host)}:{bound.getsockname()[1]}"
        if host not in _LOCAL:
            print(
                f"Everybody who reaches {address} can use this service, without a password. Put a proxy with "
                "access control before it.",
                file=sys.stderr,
            )
        any_name = host in _EVERY and not hosts
        names = ("*",) if any_name else tuple(map(_in_address, (*_LOCAL, host, *hosts)))
        app = make_app(engine, options, names)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=max(1, round(options.seconds)),
            http=Connection,
            ws="none",
            timeout_keep_alive=5,
            h11_max_incomplete_event_size=128_000,  # longer addresses than are allowed are told so
            backlog=_ACCEPTED,
        )
        set_up_logs(options.log_level)
        _leave_processors()
        # What is loaded stays: looking through it for garbage would stop all requests for half a second.
        gc.collect()
        gc.freeze()
        raise_file_limit(_DESCRIPTORS)
        print(f"http://{address}/ (stop with Ctrl-C)", flush=True)
        with suppress(KeyboardInterrupt):  # the way in which it is stopped
            _Server(config).run(sockets=[bound])


class _Server(uvicorn.Server):
    """A server whose queue is longer than what asyncio, which has one number for both, accepts at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or []:
            each.listen(_QUEUE)


def _loaded(source: Path) -> Ranker:
    if source.exists() or str(source) in preset_names() or names_encoder(source):
        return Ranker.load(source)
    known = ", ".join(preset_names())
    raise UserError(
        f"{source} not found. Give the folder of an index or of a model, one of "
        f"{known}, or an encoder such as minilm."
    )


def _sample() -> pd.DataFrame:
    """Give the answers of the bundled sample, the right ones with their questions."""
    texts = pd.concat(load_dataset("sample").splits.values())
    texts["question"] = texts["question"].where(texts["label"] == 1, None)
    return texts[["question", "candidate"]].drop_duplicates("candidate")


def _leave_processors() -> None:
    """Leave processors to the other threads while one searches.

    A product of matrices takes all of them, and where these are busy it takes ten times as long; and a thread
    that computes gives the interpreter back after five milliseconds, for which every request would wait at
    every step.
    """
    threadpool_limits(max(1, (os.cpu_count() or 1) // 2))
    sys.setswitchinterval(0.0005)


def _in_address(host: str) -> str:
    """Write a host as addresses have it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def _bound(host: str, port: int) -> socket.socket:
    """Bind the address; a UserError says that it is in use, or no address of this machine."""
    if not 0 <= port <= 65_535:
        raise UserError(f"port must be at least 0 and at most 65535. Received: {port}")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # Of a name with several addresses, such as localhost, that of IPv4.
        family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(_QUEUE)  # whoever reads the address may call at once
        except OSError:
            bound.close()
            raise
    except (OSError, UnicodeError) as error:  # a label of the host is empty or too long
        raise UserError(
            f"cannot serve at {_in_address(host)}:{port} ({error}). Give another --host or --port."
        ) from error
    return bound
