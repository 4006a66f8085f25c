"""The subcommand `answer-ranking serve`."""

from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import OmitArgPrefixes, Positional

from answer_ranking.ranking.service.options import ServiceOptions


def serve(
    source: Positional[Annotated[Path | None, tyro.conf.arg(metavar="INDEX_OR_MODEL")]] = None,
    rerank: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    allowed_hosts: tuple[str, ...] = (),
    *,
    limits: OmitArgPrefixes[ServiceOptions],
) -> None:
    """Serve a page and an API: ask, see the answers, and see why. Nothing is loaded from elsewhere.

    Args:
        source: the folder of an index or of a model, a preset such as hyperqa_squad, or an encoder such as
            minilm; unless given, the answers of the bundled sample.
        rerank: another model, which can re-rank the first answers, such as cosinet_squad.
        host: the address to listen at. Any other than 127.0.0.1, ::1 and localhost accepts every client that
            can reach it.
        port: the port to listen at; 0 for any that is free.
        allowed_hosts: further names under which clients call the service, such as that of a proxy; with host
            0.0.0.0 or :: any name will do, unless some are given here.
    """
    from answer_ranking.ranking.service.serve import serve as run

    run(source, rerank, host, port, allowed_hosts, limits)
