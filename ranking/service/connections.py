"""Connections with bounds that uvicorn's have not: of their number, of heads, and of slow reading."""

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

import h11
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from answer_ranking.ranking.service.limits import RESTS

HEAD_SECONDS = 10.0
MOST_WAITING = 2_048
"""Connections that wait for their clients: idle ones, half heads and half bodies."""
MOST_WORKING = 512
"""Connections whose requests are worked on, or whose clients do not read what they are sent."""
# Bytes that are read of a connection before the others have their turn; more where they are quick
# to parse.
_SMALLEST, _LARGEST = 4_096, 32_768
_FEW = 1_000  # bytes, of a small request, which waits for nothing
_SLOW = 1_024  # bytes that are read at once of a connection that has to rest
_REST = 0.2  # seconds for which a connection is not read that sends more frames of chunks than content
OF_ONE_CLIENT = 32
"""Requests of one client that are read or worked on at once; its others wait for their turns, unread."""
_NEARLY = 0.8  # of the time that a client was told to wait: clocks differ, and answers take time
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


@dataclass
class ClientTurns:
    """How many connections of a client have their turn, and those that wait for theirs."""

    taken: int = 0
    waiting: "dict[Connection, None]" = field(default_factory=dict)


class Connection(H11Protocol, asyncio.BufferedProtocol):
    """A connection that is closed where its head does not come in time, or where there are too many.

    The one that has waited the longest goes first. Bytes are read in slices, so that a client that sends
    chunks of one byte holds up nobody else. From its first bytes to its answer a request needs a turn, of
    which each client has a number: what waits for one costs nothing but its first slice.
    """

    # Of the whole process, whose descriptors they take; the one that came first is the first.
    waiting: ClassVar[dict["Connection", None]] = {}
    working: ClassVar[dict["Connection", None]] = {}
    turns: ClassVar[dict[str, ClientTurns]] = {}
    has_turn = False
    early = b""
    """What it has sent before its turn."""
    head_deadline: asyncio.TimerHandle | None = None
    is_told_to_wait = False
    comes_early_until = 0.0
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
        data = bytes(memoryview(self.slice)[:nbytes])
        if self._takes_turn():
            self._read(data)
            return
        self.early = data
        self.flow.pause_reading()
        self._own_turns().waiting[self] = None

    def _read(self, data: bytes) -> None:
        before = 0 if self.cycle is None else len(self.cycle.body)
        self.data_received(data)
        if len(data) > _FEW and self._is_tedious(before, len(data)):
            self.slice = bytearray(_SLOW)
            self.flow.rest(_REST)
        elif len(data) == len(self.slice) < _LARGEST:
            self.slice = bytearray(2 * len(data))

    def _is_tedious(self, before: int, n_bytes: int) -> bool:
        """Say whether what was read is a body of many small chunks, or one that nobody reads any more."""
        if self.conn.their_state is not h11.SEND_BODY:
            return False
        if self.cycle.response_complete:
            return any(name == b"transfer-encoding" for name, _ in self.scope["headers"])
        return len(self.cycle.body) - before < n_bytes / 2

    def _own_turns(self) -> ClientTurns:
        return self.turns.setdefault(self._address, ClientTurns())

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _takes_turn(self) -> bool:
        if not self.has_turn:
            turns = self._own_turns()
            if turns.taken >= OF_ONE_CLIENT:
                return False
            turns.taken += 1
            self.has_turn = True
        return True

    def _give_turn(self) -> None:
        """Let the next connection of the client go on."""
        turns = self._own_turns()
        turns.waiting.pop(self, None)
        turns.taken -= self.has_turn
        self.has_turn = False
        if turns.waiting and turns.taken < OF_ONE_CLIENT:
            following = next(iter(turns.waiting))
            del turns.waiting[following]
            following._takes_turn()
            self.loop.call_soon(following._read_early)
        elif not turns.taken:
            del self.turns[self._address]

    def _read_early(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()
            self._read(self.early)

    def data_received(self, data: bytes) -> None:
        if self.is_told_to_wait and self.loop.time() < self.comes_early_until:
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
        self.comes_early_until = self.loop.time() + _NEARLY * seconds
        self.loop.call_later(seconds * self.times, self._end_rest)
        self._sort()

    def _end_rest(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:  # of a request that was refused: nobody will read it
            self.transport.close()
        else:
            self._go_on()

    def _go_on(self) -> None:
        self.is_told_to_wait = False
        super().on_response_complete()
        if self._waits_for_head():  # and is not in the next request that it had sent already
            self._give_turn()
        self._sort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        self._give_turn()
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
