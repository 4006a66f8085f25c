"""What is refused before anything works on a request: middlewares, each with one limit."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.problems import problem

MOST_QUERY = 64_000  # bytes of an address behind its "?"
_WINDOW = 10.0  # seconds
_MOST_CLIENTS = 10_000
_SMALL = 8_000  # bytes of a body


class Hosts:
    """Refuses requests under a name that is not the service's (400).

    Starlette's middleware decides; its own refusal is plain text, where all others are problem details.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]):
        self.app, self.hosts = app, list(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        known = False

        async def go_on(*_: object) -> None:
            nonlocal known
            known = True

        async def ignore(_: Message) -> None:
            return None

        await TrustedHostMiddleware(go_on, self.hosts, www_redirect=False)(scope, receive, ignore)
        app = self.app if known else problem(400, "This service is not called by that host's name.")
        await app(scope, receive, send)


class ForeignSites:
    """Refuses what the page of another site asks, unless its reader has followed a link (403).

    Browsers say so in headers that pages cannot set; other clients send none.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        app = self.app
        if scope["type"] == "http" and self._is_foreign(scope):
            app = problem(403, "Another site's page must not ask this service.")
        await app(scope, receive, send)

    def _is_foreign(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        if headers.get("sec-fetch-site") not in ("cross-site", "same-site"):
            return False
        if "prefetch" in headers.get("sec-purpose", ""):
            return True  # the page asked for it, and its reader has followed nothing yet
        mode, destination = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
        is_link = mode == "navigate" and destination == "document"
        return not (is_link and scope["method"] == "GET" and scope["path"] == "/")


class Addresses:
    """Refuses long addresses (414)."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        app = self.app
        if scope["type"] == "http" and len(scope["query_string"]) > MOST_QUERY:
            app = problem(414, f"The address is longer than {MOST_QUERY:,} bytes.")
        await app(scope, receive, send)


class Rates:
    """Refuses a client that asks too often (429)."""

    def __init__(self, app: ASGIApp, per_second: float):
        self.app, self.allowed = app, per_second * _WINDOW
        self.times: dict[str, deque[float]] = defaultdict(deque)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        app = self.app
        if scope["type"] == "http" and self.allowed:
            client = scope.get("client")
            if not self._admits(client[0] if client else ""):
                app = problem(429, "Too many requests from this client.", {"Retry-After": "1"})
        await app(scope, receive, send)

    def _admits(self, client: str) -> bool:
        now = time.monotonic()
        if len(self.times) > _MOST_CLIENTS:
            self.times.clear()
        times = self.times[client]
        while times and now - times[0] > _WINDOW:
            times.popleft()
        if len(times) >= self.allowed:
            return False
        times.append(now)
        return True


class Bodies:
    """Reads the whole body, and hands it on in one piece.

    Bounds are its size (413), its time (408), and the size of all that are there at once (503), from which
    small ones are exempt: large ones of others must not keep them out.
    """

    def __init__(self, app: ASGIApp, limits: ServiceOptions):
        self.app, self.limits = app, limits
        self.held = 0  # bytes of all bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = bytearray()
        try:
            app = await self._refusal(scope, receive, body) or self.app
            await app(scope, _replay(body, receive), send)
        finally:
            self.held -= len(body)

    async def _refusal(self, scope: Scope, receive: Receive, body: bytearray) -> ASGIApp | None:
        """Read a body; give what answers instead where it is refused."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._read(scope, receive, body)
        except TimeoutError:
            return problem(408, "The body of the request took too long.")
        except HTTPException as error:
            return problem(error.status_code, error.detail, error.headers)
        return None

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> None:
        most = self.limits.most_bytes
        too_large = HTTPException(413, f"The body is larger than {most:,} bytes.")
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise too_large
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "The client has gone.")
            part = message.get("body", b"")
            body += part
            self.held += len(part)
            if len(body) > most:
                raise too_large
            if len(body) > _SMALL and self.held > self.limits.most_bytes_at_once:
                raise HTTPException(503, "Too many large bodies. Try again.", {"Retry-After": "1"})
            more = message.get("more_body", False)


def _replay(body: bytearray, receive: Receive) -> Receive:
    """Give the body once, and after it what the connection has to say."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return replay
