"""Refusals and failures, answered with problem details (RFC 9457) that say nothing of this machine."""

import logging
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from answer_ranking.base.errors import DamagedFileError, UserError
from answer_ranking.ranking.pages import render

_LOG = logging.getLogger("uvicorn.error")
_SHOWN = 5  # faults of one request


class Problem:
    """The details of a problem: a page for a browser, JSON for others."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None):
        self.status, self.detail, self.headers = status, detail, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.response(scope)(scope, receive, send)

    def response(self, scope: Scope) -> Response:
        """Give the answer to a request."""
        phrase = HTTPStatus(self.status).phrase
        if "text/html" in Headers(scope=scope).get("accept", ""):
            root = f"{scope.get('root_path', '')}/"
            page = render("error.html", title=phrase, status=self.status, detail=self.detail, root=root)
            return HTMLResponse(page, self.status, self.headers)
        content = {"type": "about:blank", "title": phrase, "status": self.status, "detail": self.detail}
        return JSONResponse(content, self.status, self.headers, media_type="application/problem+json")


def explained(error: HTTPException | UserError) -> tuple[int, str]:
    """Give the status of a refusal and what its client is told."""
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, DamagedFileError):
        _LOG.error("%s", error)
        return 500, "A file of the index is damaged."
    return 422, str(error)


async def refused(request: Request, error: Exception) -> Response:
    """Answer a request that was refused."""
    assert isinstance(error, HTTPException | UserError)
    return Problem(*explained(error), getattr(error, "headers", None)).response(request.scope)


async def invalid(request: Request, error: Exception) -> Response:
    """Answer a request whose values are of the wrong kind."""
    assert isinstance(error, RequestValidationError)
    if request.method == "POST" and "json" not in request.headers.get("content-type", "").lower():
        what = "Send JSON, with the header content-type: application/json."
        return Problem(415, what).response(request.scope)
    wrong = []
    for each in error.errors()[:_SHOWN]:
        place = ".".join(map(str, each["loc"][1:]))
        what = each["msg"]
        if each["type"] == "json_invalid":
            place, what = f"character {place}", f"not JSON: {each['ctx']['error']}"
        elif each["type"] == "extra_forbidden":
            what = "no such field"
        wrong.append(f"{place or 'body'}: {what}")
    return Problem(422, "; ".join(wrong)).response(request.scope)


class Failures:
    """Answers a request that failed with status 500; the log says why."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        started = False

        async def note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, note)
        except Exception:
            if started or scope["type"] != "http":
                raise
            _LOG.exception("a request failed")
            await Problem(500, "The request failed.")(scope, receive, send)
