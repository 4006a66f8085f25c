"""How many requests are worked on, and for how long."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import HTTPException

from answer_ranking.ranking.service.options import ServiceOptions

Result = TypeVar("Result")
# A drawing takes a processor for a second; a second one at once would slow down the searches beside it.
_DRAWN_AT_ONCE, _MOST_DRAWINGS = 1, 3


class Workers:
    """Runs work in threads, so that the event loop never waits, and refuses what is too much."""

    def __init__(self, options: ServiceOptions):
        self._options = options
        self._pool = ThreadPoolExecutor(options.concurrent, thread_name_prefix="worker")
        self._drawer = ThreadPoolExecutor(_DRAWN_AT_ONCE, thread_name_prefix="drawer")
        self._busy = self._drawings = 0

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
        return await self._wait(self._pool.submit(work, *arguments), self._done)

    async def draw(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a drawing in a thread of its own, beside all other work; else as `run`."""
        if self._drawings >= _MOST_DRAWINGS:
            raise HTTPException(503, "Too many drawings at once. Try again.", {"Retry-After": "1"})
        self._drawings += 1
        return await self._wait(self._drawer.submit(work, *arguments), self._drawn)

    async def _wait(self, future: "Future[Result]", done: Callable[[], None]) -> Result:
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(done))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._options.seconds)
        except TimeoutError:
            raise HTTPException(503, "The request took too long.", {"Retry-After": "1"}) from None

    def _done(self) -> None:
        self._busy -= 1

    def _drawn(self) -> None:
        self._drawings -= 1

    def close(self) -> None:
        """Take no more work."""
        for pool in (self._pool, self._drawer):
            pool.shutdown(wait=False, cancel_futures=True)
