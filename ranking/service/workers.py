"""How many requests are worked on, and for how long."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from fastapi import HTTPException

from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.turns import Turns

Result = TypeVar("Result")
# Reasons take long, and searches go first: after one, the next waits twice as long as it took.
_EXPLAINED_AT_ONCE, _MOST_EXPLANATIONS, _REST = 1, 3, 2.0
# A request that takes longer, its waiting included, shows that too many were let in.
_SOON = 0.2  # seconds
_FEWER, _MORE = 0.9, 0.1  # times as many, and so many more
_FEWEST = 4
_LATELY = 1.0  # second, as long as the refused are told to wait
_MOST_CLIENTS = 10_000


class _Job(NamedTuple):
    work: Callable[[], Any]
    result: Future


class Workers:
    """Runs work in threads, so that the event loop never waits, and refuses what is too much.

    Clients take turns, so that one with many requests, such as a proxy, makes nobody wait but itself; of what
    is free it gets no more than it leaves. How many clients are let in follows from how long their requests
    took: whoever is let in is answered soon. Where some are refused, half of the room is for clients that
    nobody has let in lately.
    """

    def __init__(self, options: ServiceOptions):
        self._options = options
        self._most = options.concurrent + options.waiting
        self._limit = min(2.0 * options.concurrent, self._most)  # clients at once
        self._turns = Turns[_Job]()
        self._pool = ThreadPoolExecutor(options.concurrent, thread_name_prefix="worker")
        self._explainer = ThreadPoolExecutor(_EXPLAINED_AT_ONCE, thread_name_prefix="explainer")
        self._busy = self._explanations = 0
        self._explains_again = 0.0
        self._of_client: Counter[str] = Counter()
        self._let_in: dict[str, float] = {}
        self._refused = -_LATELY

    @property
    def busy(self) -> int:
        """How many requests are worked on or wait."""
        return self._busy

    async def run(self, client: str, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a client's work in a thread; an HTTPException 503 says that it is too much, or takes too long.

        A thread cannot be stopped: work that is given up still counts until it ends.
        """
        return await self.wait(client, self._begin, client, partial(work, *arguments))

    def _begin(self, client: str, work: Callable[[], Any]) -> Future:
        job = _Job(work, Future())
        self._turns.put(client, job)
        self._pool.submit(self._do_next)
        return job.result

    def _do_next(self) -> None:
        job = self._turns.take()
        if job is None or not job.result.set_running_or_notify_cancel():
            return
        try:
            job.result.set_result(job.work())
        except BaseException as error:
            job.result.set_exception(error)

    async def wait(self, client: str, begin: "Callable[..., Future[Result]]", *arguments: Any) -> Result:
        """Begin a client's work, and wait for it without a thread; else as `run`."""
        start = time.monotonic()
        if not self._has_room(client, start):
            self._refused = start
            raise HTTPException(503, "Too many requests at once. Try again.", {"Retry-After": "1"})
        future = begin(*arguments)
        self._busy += 1
        self._of_client[client] += 1
        self._let_in[client] = start
        # Of a client that asks several things at once, each waits for those before it.
        soon = start + _SOON * self._of_client[client]
        return await self._wait(future, lambda: self._done(client, soon))

    def _has_room(self, client: str, now: float) -> bool:
        if len(self._let_in) > _MOST_CLIENTS:
            self._let_in.clear()
        own, free = self._of_client[client], self._most - self._busy
        if free < 1 or own > free:
            return False
        if own:
            return True
        places = self._limit - len(self._of_client)
        # Where some are refused, who comes back at once would keep out those who wait as they are told.
        is_crowded = now - self._refused < _LATELY
        if is_crowded and now - self._let_in.get(client, -_LATELY) < _LATELY:
            places -= self._limit // 2
        return places >= 1

    async def explain(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Find a reason in a thread of its own, beside all other work; else as `run`."""
        if self._explanations >= _MOST_EXPLANATIONS:
            raise HTTPException(503, "Too many reasons at once. Try again.", {"Retry-After": "1"})
        self._explanations += 1
        return await self._wait(self._explainer.submit(self._find_reason, work, *arguments), self._explained)

    def _find_reason(self, work: Callable[..., Result], *arguments: Any) -> Result:
        time.sleep(max(0.0, self._explains_again - time.monotonic()))
        start = time.monotonic()
        try:
            return work(*arguments)
        finally:
            end = time.monotonic()
            self._explains_again = end + _REST * (end - start)

    async def _wait(self, future: "Future[Result]", done: Callable[[], None]) -> Result:
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(done))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._options.seconds)
        except TimeoutError:
            raise HTTPException(503, "The request took too long.", {"Retry-After": "1"}) from None

    def _done(self, client: str, soon: float) -> None:
        # In peace nothing is learnt about how many are too many.
        is_full = len(self._of_client) > self._limit / 2
        self._busy -= 1
        self._of_client[client] -= 1
        if not self._of_client[client]:
            del self._of_client[client]
        is_late = time.monotonic() > soon
        limit = self._limit * _FEWER if is_late else self._limit + _MORE * is_full
        self._limit = min(max(limit, min(_FEWEST, self._options.concurrent)), self._most)

    def _explained(self) -> None:
        self._explanations -= 1

    def close(self) -> None:
        """Take no more work."""
        for pool in (self._pool, self._explainer):
            pool.shutdown(wait=False, cancel_futures=True)
