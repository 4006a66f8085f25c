"""Drawings are made in a process of their own, and the last ones are kept."""

import multiprocessing
import os
import signal
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from starlette.exceptions import HTTPException

from answer_ranking.ranking.disk import Disk
from answer_ranking.ranking.explanation import Explanation, svg_of

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

    The process starts with the first drawing unless `start` is called before, which takes the seconds that
    Matplotlib needs. It starts anew after it was ended. One thread may call at a time.
    """

    def __init__(self) -> None:
        self._process: BaseProcess | None = None

    def start(self) -> None:
        """Start the process; this returns at once."""
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_draw, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def __call__(self, reason: Explanation | Disk) -> str:
        """Draw as SVG; an HTTPException 503 says that the process was ended meanwhile."""
        if self._process is None:
            self.start()
        try:
            self._pipe.send(reason)
            drawn = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process = None
            message = "The drawing was interrupted. Try again."
            raise HTTPException(503, message, {"Retry-After": "1"}) from error
        if isinstance(drawn, Exception):
            raise drawn
        return drawn

    def close(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()


def _draw(pipe: Connection) -> None:
    """Draw what comes through the pipe, which is closed when the service ends, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the keyboard: the service ends in its own way
    os.nice(10)  # searches go first
    from answer_ranking.evaluation.figures import new_figure

    svg_of(new_figure(1, 1.0, 1.0)[0], "")  # Matplotlib and its fonts are there before the first drawing
    with suppress(EOFError, BrokenPipeError):
        while True:
            reason = pipe.recv()
            try:
                drawn = reason.svg()
            except Exception as error:
                drawn = error
            pipe.send(drawn)
