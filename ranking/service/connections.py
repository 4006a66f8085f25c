"""Connections with bounds that uvicorn's have not: of their number, of heads, and of slow reading."""

import asyncio
import time
from typing import ClassVar

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from answer_ranking.ranking.service.limits import RESTS

HEAD_SECONDS = 10.0
MOST_WAITING = 512
"""Connections that wait for their clients: idle ones, half heads and half bodies."""
MOST_WORKING = 512
"""Connections whose requests are worked on, or whose clients do not read what they are sent."""
# Bytes that are read of a connection before the others have their turn; more where they are quick
# to parse.
_SMALLEST, _LARGEST = 4_096, 32_768
_SLOW = 0.001  # seconds that bytes take to read where they are many small chunks
_FEW = 1_000  # bytes, of a small request, which waits for nothing
# So many times as long as it took, and at most so many seconds, such a connection is not read.
_REST, _LONGEST_REST = 10, 0.1
_MOST_TIMES = 8  # as long as a client was told to wait, if it never does


class Flow(FlowControl):
    """The flow of a connection that may have to rest."""

    rests = False

    def rest(self, seconds: float) -> None:
        """Read nothing for a while, whatever the request asks for."""
        self.rests = True
        self.pause_reading()
        asyncio.get_running_loop().call_later(seconds, self._wake)

    def _wake(self) -> None:
        self.rests = False
        self.resume_reading()

    def resume_reading(self) -> None:
        """Read on, unless the connection rests."""
        if not self.rests:
            super().resume_reading()


class Connection(H11Protocol, asyncio.BufferedProtocol):
    """A connection that is closed where its head does not come in time, or where there are too many.

    The one that has waited the longest goes first. Bytes are read in slices, so that a client that sends
    chunks of one byte holds up nobody else.
    """

    # Of the whole process, whose descriptors they take; the one that came first is the first.
    waiting: ClassVar[dict["Connection", None]] = {}
    working: ClassVar[dict["Connection", None]] = {}
    head_deadline: asyncio.TimerHandle | None = None
    is_told_to_wait = False
    times = 1
    """How many times as long it rests as it is told to wait: it doubles when it does not wait."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow: Flow = Flow(transport)
        self.slice = bytearray(_SMALLEST)
        self._sort()

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.slice

    def buffer_updated(self, nbytes: int) -> None:
        start = time.thread_time()  # waiting for the interpreter is no fault of the client's
        self.data_received(bytes(memoryview(self.slice)[:nbytes]))
        took = time.thread_time() - start
        if took > _SLOW and nbytes > _FEW:
            self.slice = bytearray(_SMALLEST)
            self.flow.rest(min(_REST * took, _LONGEST_REST))
        elif nbytes == len(self.slice) < _LARGEST:
            self.slice = bytearray(2 * nbytes)

    def data_received(self, data: bytes) -> None:
        if self.is_told_to_wait:
            self.is_told_to_wait = False
            self.times = min(2 * self.times, _MOST_TIMES)
        super().data_received(data)
        self._sort()

    def on_response_complete(self) -> None:
        seconds = self.scope["state"].get(RESTS, 0.0)
        if not seconds:
            self.times = 1
            self._go_on()
            return
        # Until it goes on, what the client has sent already waits, too.
        self.is_told_to_wait = True
        self.loop.call_later(seconds * self.times, self._go_on)
        self._sort()

    def _go_on(self) -> None:
        self.is_told_to_wait = False
        super().on_response_complete()
        self._sort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def _sort(self) -> None:
        """Note whether it waits for its client; close the first of too many."""
        if self.transport.is_closing():
            return
        self._watch_head()
        waits = self._waits_for_head() or self.cycle.more_body
        kind, most = (self.waiting, MOST_WAITING) if waits else (self.working, MOST_WORKING)
        if self in kind:
            return
        self._leave_kinds()
        kind[self] = None
        if len(kind) > most:
            first = next(iter(kind))
            first._leave()
            first.transport.abort()

    def _waits_for_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch_head(self) -> None:
        if not self._waits_for_head():
            self._stop_watching()
        elif self.head_deadline is None:  # further bytes of a head give it no more time
            self.head_deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _leave(self) -> None:
        self._stop_watching()
        self._leave_kinds()

    def _leave_kinds(self) -> None:
        self.waiting.pop(self, None)
        self.working.pop(self, None)

    def _stop_watching(self) -> None:
        if self.head_deadline is not None:
            self.head_deadline.cancel()
            self.head_deadline = None
