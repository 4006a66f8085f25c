"""The FastAPI application: the page, the service and its limits."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from jinja2 import Environment, FileSystemLoader
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from answer_ranking.base.errors import DamagedFileError, UserError
from answer_ranking.ranking.service.drawings import Drawings
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.workers import Workers

_FOLDER = Path(__file__).parent
# The pair is scored once without each word, and others wait for the model meanwhile.
_MOST_EXPLAINED = 400
# A drawing of a grid has a cell for each pair of words; so many take a second or two.
_MOST_CELLS = 4_000
_MOST_ON_DISK = 50  # answers
_MOST_QUERY = 64_000  # bytes of an address behind its "?"
_LOG = logging.getLogger("uvicorn.error")
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
# A mark of punctuation counts, since the tokenizer makes a token of it.
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_DRAWING = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class RankRequest(BaseModel):
    """A question and candidate answers."""

    question: Text
    candidates: list[Text] = Field(min_length=1)
    ranker: str = ""


class SearchRequest(BaseModel):
    """A question to the index."""

    question: Text
    k: int = Field(10, ge=1)
    first_stage: str = ""
    rerank: bool = False


class ExplainRequest(BaseModel):
    """A question and an answer."""

    question: Text
    answer: Text
    ranker: str = ""
    method: str = "own"


class Answer(BaseModel):
    """An answer in its place."""

    rank: int
    score: float
    text: str
    id: str | None = None


class Answers(BaseModel):
    """Ranked answers, the best first."""

    answers: list[Answer]
    milliseconds: float
    first_stage: str = ""
    rerank: bool = False
    ranker: str = ""
    note: str = ""


class Health(BaseModel):
    """Whether all is well."""

    status: str
    problem: str
    answers: int
    rankers: list[str]
    first_stages: list[str]


def make_app(
    engine: Engine, options: ServiceOptions | None = None, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
) -> FastAPI:
    """Make the application; `hosts` are the names under which it may be called.

    Example:
        >>> from answer_ranking.ranking import Ranker
        >>> app = make_app(Engine(ranker=Ranker.from_preset("hyperqa_squad")))
        >>> app.title
        'answer-ranking'
    """
    limits = options or ServiceOptions()
    workers, kept = Workers(limits), Drawings()
    page = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True).get_template("page.html")
    registry = CollectorRegistry()
    requests = Counter("requests", "Requests by path and status.", ["path", "status"], registry=registry)
    latency = Histogram("latency_seconds", "Seconds of a request by path.", ["path"], registry=registry)
    Gauge("busy", "Requests that are worked on or wait.", registry=registry).set_function(
        lambda: workers.busy
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workers.close()

    # FastAPI's own pages of documentation load scripts from elsewhere.
    app = FastAPI(
        title="answer-ranking",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))

    @app.middleware("http")
    async def guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        start = time.perf_counter()
        try:
            if _is_foreign(request):
                raise HTTPException(403, "Another site's page must not ask this service.")
            if len(request.scope["query_string"]) > _MOST_QUERY:
                raise HTTPException(414, f"The address is longer than {_MOST_QUERY:,} bytes.")
            workers.admit(request.client.host if request.client else "")
            await _read_body(request, limits)
            response = await go_on(request)
        except HTTPException as error:
            response = _problem(error.status_code, str(error.detail), error.headers)
        except ClientDisconnect:
            response = _problem(400, "The client has gone.")
        except Exception:
            _LOG.exception("a request failed")
            response = _problem(500, "The request failed.")
        route = request.scope.get("route")
        path = getattr(route, "path", "other")
        requests.labels(path, response.status_code).inc()
        latency.labels(path).observe(time.perf_counter() - start)
        for name, value in _SAFE.items():
            response.headers.setdefault(name, value)
        return response

    @app.exception_handler(StarletteHTTPException)
    async def refused(_: Request, error: StarletteHTTPException) -> Response:
        return _problem(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        wrong = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()[:5]]
        return _problem(422, "; ".join(wrong))

    def check(texts: list[str], answers: int = 0) -> None:
        if answers > limits.most_candidates:
            raise HTTPException(422, f"At most {limits.most_candidates} answers are allowed.")
        if any(_words(text) > limits.most_words for text in texts):
            raise HTTPException(422, f"At most {limits.most_words} words of a text are allowed.")

    def check_explained(question: str, answer: str) -> None:
        check([question, answer])
        if _words(question) + _words(answer) > _MOST_EXPLAINED:
            raise HTTPException(422, f"At most {_MOST_EXPLAINED} words can be explained.")

    def check_drawn(question: str, answers: list[str], method: str) -> None:
        if method == "disk":
            check([question, *answers], len(answers))
            if len(answers) > _MOST_ON_DISK:
                raise HTTPException(422, f"At most {_MOST_ON_DISK} answers can be drawn.")
            return
        check_explained(question, answers[0])
        if not _fits_a_drawing(question, answers[0]):
            raise HTTPException(
                422,
                f"The question's words times the answer's are more than {_MOST_CELLS:,}: too many to draw.",
            )

    async def work(function: Callable[..., Any], *arguments: Any, run: Any = workers.run) -> Any:
        try:
            return await run(function, *arguments)
        except DamagedFileError as error:
            _LOG.error("%s", error)
            raise HTTPException(500, "A file of the index is damaged.") from error
        except UserError as error:
            raise HTTPException(422, str(error)) from error

    async def searched(question: str, k: int, first_stage: str, rerank: bool) -> Answers:
        check([question], k)
        start = time.perf_counter()
        found = await work(engine.search, question, k, first_stage, rerank)
        answers = [Answer(**each._asdict()) for each in found.answers]
        return Answers(
            answers=answers,
            milliseconds=1e3 * (time.perf_counter() - start),
            first_stage=first_stage,
            rerank=rerank,
            note=found.note,
        )

    async def ranked(question: str, candidates: list[str], ranker: str) -> Answers:
        check([question, *candidates], len(candidates))
        start = time.perf_counter()
        found = await work(engine.rank, question, candidates, ranker)
        answers = [Answer(rank=row.rank, score=row.score, text=row.text) for row in found.itertuples()]
        return Answers(answers=answers, milliseconds=1e3 * (time.perf_counter() - start), ranker=ranker)

    @app.post("/api/search")
    async def search(asked: SearchRequest) -> Answers:
        """Find the best answers of the index."""
        return await searched(asked.question, asked.k, asked.first_stage, asked.rerank)

    @app.post("/api/rank")
    async def rank(asked: RankRequest) -> Answers:
        """Rank the given candidates."""
        return await ranked(asked.question, asked.candidates, asked.ranker)

    @app.post("/api/explain")
    async def explain(asked: ExplainRequest) -> dict[str, Any]:
        """Say what the words of a pair do to its score."""
        check_explained(asked.question, asked.answer)
        why = await work(engine.explain, asked.question, asked.answer, asked.ranker, asked.method)
        return why.data()

    @app.get("/api/health")
    async def health() -> Health:
        """Say whether all is well; status "degraded" where a changed index cannot be opened."""
        # In no pool of the service's, so that it answers however much is asked of these.
        return Health(**await asyncio.to_thread(engine.health))

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4")

    @app.get("/why.svg", include_in_schema=False)
    async def why_svg(
        question: str, answer: Annotated[list[str], Query()], ranker: str = "", method: str = "own"
    ) -> Response:
        check_drawn(question, answer, method)
        asked = (question, tuple(answer), ranker, method)
        state = engine.state  # before it is drawn: a drawing of a later one is only made again
        drawn = kept.get((state, *asked))
        if not drawn:
            drawn = await work(engine.drawing, *asked, run=workers.draw)
            kept.put((state, *asked), drawn)
        return Response(drawn, media_type="image/svg+xml", headers=_DRAWING)

    @app.get("/", include_in_schema=False, response_class=HTMLResponse)
    async def show(
        q: str = "",
        left: str = "",
        right: str = "",
        k: Annotated[int, Query(ge=1)] = 10,
        candidates: str = "",
        why: str = "",
    ) -> HTMLResponse:
        own = [line.strip() for line in candidates.splitlines() if line.strip()]
        names = {name: name for name in engine.rankers}
        if engine.first_stages and not own:
            names = _ways_to_search(engine)
        left = left if left in names else next(iter(names), "")
        chosen = [name for name in (left, right) if name in names] or [left]
        columns, problem, reason = [], "", None
        if q.strip():
            try:
                for name in chosen:
                    found = await (ranked(q, own, name) if own else searched(q, k, *_way(name)))
                    columns.append((names.get(name, name), found))
                if why:
                    reason = await reasons(q, why)
            except HTTPException as error:
                problem = str(error.detail)
        text = page.render(
            q=q,
            left=left,
            right=right,
            k=k,
            candidates=candidates,
            names=names,
            columns=columns,
            problem=problem or engine.problem,
            why=why,
            reason=reason,
            drawing=_drawing,
            drawn=_fits_a_drawing(q, why),
            explains=bool(engine.rankers),
            near=_near(q, columns[0][1]) if columns and engine.has_disk else [],
        )
        return HTMLResponse(text, 422 if problem else 200)

    async def reasons(question: str, answer: str) -> list[tuple[str, str]]:
        """Give the summary of every ranker's reason."""
        check_explained(question, answer)
        return [
            (name, (await work(engine.explain, question, answer, name)).summary) for name in engine.rankers
        ]

    for name, kind in (("style.css", "text/css"), ("page.js", "text/javascript")):
        app.get(f"/{name}", include_in_schema=False)(_file(name, kind))
    return app


def _drawing(**values: Any) -> str:
    return "why.svg?" + urlencode(values, doseq=True)


def _near(question: str, found: Answers) -> list[str]:
    """Give the texts of the first answers, at most 20, as many as the address of their drawing can hold."""
    texts = [each.text for each in found.answers[:20]]
    while texts and len(_drawing(question=question, answer=texts, method="disk")) > _MOST_QUERY:
        texts.pop()
    return texts


def _file(name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    async def give() -> Response:
        return FileResponse(_FOLDER / name, media_type=kind)

    return give


async def _read_body(request: Request, limits: ServiceOptions) -> None:
    """Read the body; an HTTPException says before all has come that it is too large (413) or slow (408)."""
    too_large = HTTPException(413, f"The body is larger than {limits.most_bytes:,} bytes.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.most_bytes:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.most_bytes:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, "The body of the request took too long.") from None
    request._body = b"".join(parts)


def _is_foreign(request: Request) -> bool:
    """Say whether the page of another site asks, without its reader having followed a link.

    Browsers say so in headers that pages cannot set; other clients send none.
    """
    if request.headers.get("sec-fetch-site") not in ("cross-site", "same-site"):
        return False
    if "prefetch" in request.headers.get("sec-purpose", ""):
        return True  # the page asked for it, and its reader has followed nothing yet
    link = request.headers.get("sec-fetch-mode") == "navigate"
    link = link and request.headers.get("sec-fetch-dest") == "document"
    return not (link and request.method == "GET" and request.url.path == "/")


def _fits_a_drawing(question: str, answer: str) -> bool:
    return _words(question) * _words(answer) <= _MOST_CELLS


def _words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def _problem(status: int, detail: str, headers: Any = None) -> JSONResponse:
    """Answer with problem details (RFC 9457)."""
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(content, status, headers, media_type="application/problem+json")


def _ways_to_search(engine: Engine) -> dict[str, str]:
    """Name the first stages, alone and with `rerank`, as values of the page and in words."""
    names = {name: name for name in engine.first_stages}
    if engine.can_rerank:
        names |= {f"{name}+rerank": f"{name}, rerank" for name in engine.first_stages}
    return names


def _way(name: str) -> tuple[str, bool]:
    """Read a name that `_ways_to_search` gives: the first stage, and whether to re-rank."""
    first_stage, _, rerank = name.partition("+")
    return first_stage, bool(rerank)
