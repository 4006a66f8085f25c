"""What is refused before anything works on a request: middlewares, each with one limit."""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.problems import Problem

RESTS = "rests"
"""In the state of a request: how many seconds its connection is not read after the answer."""
MOST_QUERY = 64_000  # bytes of an address behind its "?"
_WINDOW = 10.0  # seconds
_MOST_CLIENTS = 10_000
_SMALL = 8_000  # bytes of a body


def client_of(scope: Scope) -> str:
    """Give the address of who asks; "" where it is not known."""
    client = scope.get("client")
    return client[0] if client else ""


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
        app = self.app if known else Problem(400, "This service is not called by that host's name.")
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
            app = Problem(403, "Another site's page must not ask this service.")
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
            app = Problem(414, f"The address is longer than {MOST_QUERY:,} bytes.")
        await app(scope, receive, send)


class Rates:
    """Refuses a client that asks too often (429)."""

    def __init__(self, app: ASGIApp, per_second: float):
        self.app, self.allowed = app, per_second * _WINDOW
        self.times: dict[str, deque[float]] = defaultdict(deque)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        app = self.app
        if scope["type"] == "http" and self.allowed and not self._admits(client_of(scope)):
            app = Problem(429, "Too many requests from this client.", {"Retry-After": "1"})
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


class Patience:
    """Holds clients to what they are told: who is to come again later is not heard before.

    It notes that in the state, for the connection (`connections.Connection`).
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope.setdefault("state", {})[RESTS] = float(Headers(scope=message).get("retry-after", "0"))
            await send(message)

        await self.app(scope, receive, note)


class Bodies:
    """Reads the whole body, and hands it on in one piece.

    Bounds are its size (413), its time (408), and the size of all that are there or announced (503), from
    which small ones are exempt: large ones of others must not keep them out. One client gets at most half.
    """

    def __init__(self, app: ASGIApp, limits: ServiceOptions):
        self.app, self.limits = app, limits
        self.held = 0  # bytes of all bodies, as far as they are there or announced
        self.of_client: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        body = _Body(client_of(scope), int(declared) if declared.isdigit() else 0)
        try:
            app = await self._refusal(receive, body) or self.app
            await app(scope, _replay(body.content, receive), send)
        finally:
            self._hold(body, 0)

    async def _refusal(self, receive: Receive, body: "_Body") -> ASGIApp | None:
        """Read a body; give what answers instead where it is refused."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._read(receive, body)
        except TimeoutError:
            return Problem(408, "The body of the request took too long.")
        except HTTPException as error:
            return Problem(error.status_code, error.detail, error.headers)
        return None

    async def _read(self, receive: Receive, body: "_Body") -> None:
        self._count(body)  # what is announced is refused before it is read
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "The client has gone.")
            body.content += message.get("body", b"")
            self._count(body)
            more = message.get("more_body", False)

    def _count(self, body: "_Body") -> None:
        most, size = self.limits.most_bytes, max(body.announced, len(body.content))
        if size > most:
            raise HTTPException(413, f"The body is larger than {most:,} bytes.")
        self._hold(body, size)
        if size > _SMALL and self._is_too_much(body):
            raise HTTPException(503, "Too many large bodies. Try again.", {"Retry-After": "1"})

    def _hold(self, body: "_Body", size: int) -> None:
        change = size - body.counted
        self.held += change
        self.of_client[body.client] += change
        if not self.of_client[body.client]:
            del self.of_client[body.client]
        body.counted = size

    def _is_too_much(self, body: "_Body") -> bool:
        """Say whether there is no room, or its client's other bodies leave less than they take."""
        free = self.limits.most_bytes_at_once - self.held
        others = self.of_client[body.client] - body.counted
        return free < 0 or others > free


@dataclass
class _Body:
    client: str
    announced: int
    counted: int = 0
    content: bytearray = field(default_factory=bytearray)


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
