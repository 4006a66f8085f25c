"""How many requests are worked on, and for how long."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import HTTPException

from answer_ranking.ranking.service.options import ServiceOptions

Result = TypeVar("Result")
_WINDOW = 10.0
_MOST_CLIENTS = 10_000


class Workers:
    """Runs work in threads, so that the event loop never waits, and refuses what is too much."""

    def __init__(self, options: ServiceOptions):
        self._options = options
        self._pool = ThreadPoolExecutor(options.concurrent, thread_name_prefix="worker")
        self._busy = 0
        self._times: dict[str, deque[float]] = defaultdict(deque)

    @property
    def busy(self) -> int:
        """How many requests are worked on or wait."""
        return self._busy

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run work in a thread; an HTTPException 503 says that too many wait, or that it takes too long.

        A thread cannot be stopped: work that is given up still counts until it ends.
        """
        if self._busy >= self._options.concurrent + self._options.waiting:
            raise HTTPException(503, "Too many requests at once. Try again.", {"Retry-After": "1"})
        self._busy += 1
        loop = asyncio.get_running_loop()
        future = self._pool.submit(work, *arguments)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._options.seconds)
        except TimeoutError:
            raise HTTPException(503, "The request took too long.", {"Retry-After": "1"}) from None

    def _done(self) -> None:
        self._busy -= 1

    def admit(self, client: str) -> None:
        """Count a client's request; an HTTPException 429 says that it sends too many."""
        allowed = self._options.per_second * _WINDOW
        if not allowed:
            return
        now = time.monotonic()
        if len(self._times) > _MOST_CLIENTS:
            self._times.clear()
        times = self._times[client]
        while times and now - times[0] > _WINDOW:
            times.popleft()
        if len(times) >= allowed:
            raise HTTPException(429, "Too many requests from this client.", {"Retry-After": "1"})
        times.append(now)

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
