"""Refusals and failures, answered with problem details (RFC 9457) that say nothing of this machine."""

import logging
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from answer_ranking.base.errors import DamagedFileError, UserError

_LOG = logging.getLogger("uvicorn.error")
_SHOWN = 5  # faults of one request


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Give the details of a problem as a response."""
    phrase = HTTPStatus(status).phrase
    content = {"type": "about:blank", "title": phrase, "status": status, "detail": detail}
    return JSONResponse(content, status, headers, media_type="application/problem+json")


def explained(error: HTTPException | UserError) -> tuple[int, str]:
    """Give the status of a refusal and what its client is told."""
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, DamagedFileError):
        _LOG.error("%s", error)
        return 500, "A file of the index is damaged."
    return 422, str(error)


async def refused(_: Request, error: Exception) -> Response:
    """Answer a request that was refused."""
    assert isinstance(error, HTTPException | UserError)
    return problem(*explained(error), getattr(error, "headers", None))


async def invalid(_: Request, error: Exception) -> Response:
    """Answer a request whose values are of the wrong kind."""
    assert isinstance(error, RequestValidationError)
    wrong = []
    for each in error.errors()[:_SHOWN]:
        place = ".".join(map(str, each["loc"][1:]))
        wrong.append(f"{place}: {each['msg']}")
    return problem(422, "; ".join(wrong))


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
            await problem(500, "The request failed.")(scope, receive, send)
