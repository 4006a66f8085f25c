"""The command `answer-ranking serve`: the page and the service on this machine."""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import uvicorn

from answer_ranking.data_prep import load_dataset
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.ranking.service.app import make_app
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.options import ServiceOptions

_LOCAL = ("127.0.0.1", "localhost")


def serve(source: Path | None, second: Path | None, host: str, port: int, options: ServiceOptions) -> None:
    """Serve an index, a ranker, or the bundled sample's answers, until it is stopped.

    SIGTERM finishes what is under way, for as long as a request may take.
    """
    with ExitStack() as stack:
        other = None if second is None else Ranker.load(second)
        if source is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "index"
            tables = load_dataset("sample").splits.values()
            texts = pd.concat([table[["candidate"]] for table in tables]).drop_duplicates()
            AnswerIndex.build("hyperqa_squad", texts, folder)
            engine = Engine(folder, second=other)
        elif (source / "manifest.json").exists():
            engine = Engine(source, second=other)
        else:
            engine = Engine(ranker=Ranker.load(source), second=other)
        if host not in _LOCAL:
            print(
                f"Everybody who reaches {host}:{port} can use this service, without a password. Put a proxy "
                "with access control before it.",
                file=sys.stderr,
            )
        app = make_app(engine, options, (*_LOCAL, host) if host != "0.0.0.0" else ("*",))
        print(f"http://{host}:{port}/ (stop with Ctrl-C)", flush=True)
        uvicorn.run(
            app,
            host=host,
            port=port,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=max(1, round(options.seconds)),
            timeout_keep_alive=5,
            h11_max_incomplete_event_size=64_000,
        )
