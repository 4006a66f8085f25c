"""The FastAPI application: the page, the service and its limits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from prometheus_client import Gauge
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.service import page, routes
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.limits import Addresses, Bodies, ForeignSites, Hosts, Patience, Rates
from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.problems import Failures, invalid, refused
from answer_ranking.ranking.service.responses import PREFIX, Heads, Metrics, SafeHeaders
from answer_ranking.ranking.service.serving import Serving
from answer_ranking.ranking.service.workers import Workers


def make_app(
    engine: Engine,
    options: ServiceOptions | None = None,
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost"),
) -> FastAPI:
    """Make the application; `hosts` are the names under which it may be called.

    Example:
        >>> from answer_ranking.ranking import Ranker
        >>> app = make_app(Engine(ranker=Ranker.from_preset("hyperqa_squad")))
        >>> app.title
        'answer-ranking'
    """
    limits = options or ServiceOptions()
    serving = Serving(engine, limits, Workers(limits))
    busy = Gauge("busy", "Requests that are worked on or wait.", namespace=PREFIX, registry=serving.registry)
    busy.set_function(lambda: serving.workers.busy)
    # FastAPI's own pages of documentation load scripts from elsewhere.
    app = FastAPI(
        title="answer-ranking",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=_lifespan,
        middleware=[  # the first is the outermost
            Middleware(Metrics, serving.registry),
            Middleware(SafeHeaders),
            Middleware(Patience),
            Middleware(Failures),
            Middleware(Hosts, hosts),
            Middleware(ForeignSites),
            Middleware(Addresses),
            Middleware(Rates, limits.per_second),
            Middleware(Bodies, limits),
            Middleware(Heads),
        ],
    )
    app.state.serving = serving
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(UserError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.include_router(routes.router)
    app.include_router(page.router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.serving.workers.close()
