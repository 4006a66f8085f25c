"""The log stays short, whatever clients send."""

import logging
import time


class Repeats(logging.Filter):
    """Lets what one line of the code says pass once a minute, with the number of those left out.

    Example:
        >>> repeats = Repeats()
        >>> record = logging.makeLogRecord({"msg": "It rains.", "lineno": 7})
        >>> repeats.filter(record), repeats.filter(record)
        (True, False)
    """

    def __init__(self, seconds: float = 60.0):
        super().__init__()
        self.seconds = seconds
        self._seen: dict[tuple, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record passes."""
        kind = record.exc_info[0] if record.exc_info else None
        place = (record.pathname, record.lineno, kind)
        now = time.monotonic()
        last, left_out = self._seen.get(place, (float("-inf"), 0))
        if now - last < self.seconds:
            self._seen[place] = (last, left_out + 1)
            return False
        self._seen[place] = (now, 0)
        if left_out:
            record.msg = f"{record.msg} ({left_out} more like it since the last)"
        return True


def shorten_logs() -> None:
    """Filter what the server and its event loop say."""
    repeats = Repeats()
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(repeats)
