"""What is done with every response: headers that keep the page safe, and counts."""

import logging
import time

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from answer_ranking.ranking.service.limits import client_of
from answer_ranking.ranking.service.logs import ACCESS

PREFIX = "answer_ranking"
_LOG = logging.getLogger(ACCESS)

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_SAFE = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class SafeHeaders:
    """Adds the headers of safety that a response does not set itself."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SAFE.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_safely)


class Metrics:
    """Counts requests and measures their seconds, by the path of their route, and logs them."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry):
        self.app = app
        about = "Requests by path and status."
        self.requests = Counter("requests", about, ["path", "status"], PREFIX, registry=registry)
        about = "Seconds of a request by path."
        self.latency = Histogram("latency_seconds", about, ["path"], PREFIX, registry=registry)
        ProcessCollector(PREFIX, registry=registry)  # its memory and processor time

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        start = time.perf_counter()

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = getattr(scope.get("route"), "path", "other")
                seconds = time.perf_counter() - start
                self.requests.labels(path, message["status"]).inc()
                self.latency.labels(path).observe(seconds)
                _log(scope, message["status"], seconds)
            await send(message)

        await self.app(scope, receive, count)


def _log(scope: Scope, status: int, seconds: float) -> None:
    """Log a request, without its question."""
    if scope["type"] == "http" and _LOG.isEnabledFor(logging.INFO):
        facts = {
            "client": client_of(scope),
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "milliseconds": round(1e3 * seconds, 1),
        }
        _LOG.info("request", extra={"request": facts})


class Heads:
    """Answers HEAD as GET, whose body the server leaves out."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self.app(scope, receive, send)
