"""Drawings are made in a process of their own, and the last ones are kept."""

import multiprocessing
import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from starlette.exceptions import HTTPException

from answer_ranking.ranking.disk import Disk
from answer_ranking.ranking.explanation import Explanation

_MOST = 16_000_000
"""Characters of all that is kept; the longest drawing has some 200,000."""


class Drawings:
    """Keeps drawings by what they show; of too many the one that was asked for the longest ago goes.

    Args:
        most: how many characters are kept in all.

    Example:
        >>> kept = Drawings(most=5)
        >>> for name in ("a", "b", "c"):
        ...     kept.put(name, "xx")
        >>> kept.get("a"), kept.get("c")
        ('', 'xx')
    """

    def __init__(self, most: int = _MOST):
        self._most, self._size = most, 0
        self._kept: OrderedDict[Hashable, str] = OrderedDict()

    def get(self, key: Hashable) -> str:
        """Give a drawing; empty where it is not kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key, "")

    def put(self, key: Hashable, drawing: str) -> None:
        """Keep a drawing."""
        self._size += len(drawing) - len(self._kept.pop(key, ""))
        self._kept[key] = drawing
        while self._size > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest)


class Drawer:
    """Draws in another process: Matplotlib holds the interpreter, and searches would wait for it.

    The process starts with the first drawing, and anew after it was ended. One thread may call at a time.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, reason: Explanation | Disk) -> str:
        """Draw as SVG; an HTTPException 503 says that the process was ended meanwhile."""
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)
        try:
            return self._pool.submit(_svg, reason).result()
        except BrokenProcessPool as error:
            self._pool = None
            message = "The drawing was interrupted. Try again."
            raise HTTPException(503, message, {"Retry-After": "1"}) from error

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """Prepare the process: searches go before it, and it ends with the service, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the keyboard: the service ends in its own way
    os.nice(10)
    threading.Thread(target=_end_with_the_service, daemon=True).start()


def _end_with_the_service() -> None:
    service = multiprocessing.parent_process()
    assert service is not None
    service.join()
    os._exit(0)


def _svg(reason: Explanation | Disk) -> str:
    return reason.svg()
