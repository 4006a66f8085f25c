"""The log: a line of JSON for each event, and short, whatever clients send."""

import json
import logging
import time
from datetime import UTC, datetime

ACCESS = "answer_ranking.access"
"""The logger of requests, at the level "info"."""


_SECONDS = 60.0


class Repeats(logging.Filter):
    """Lets what one line of the code says pass once a minute, with the number of those left out.

    Example:
        >>> repeats = Repeats()
        >>> record = logging.makeLogRecord({"msg": "It rains.", "lineno": 7})
        >>> repeats.filter(record), repeats.filter(record)
        (True, False)
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record passes."""
        kind = record.exc_info[0] if record.exc_info else None
        place = (record.pathname, record.lineno, kind)
        now = time.monotonic()
        last, left_out = self._seen.get(place, (float("-inf"), 0))
        if now - last < _SECONDS:
            self._seen[place] = (last, left_out + 1)
            return False
        self._seen[place] = (now, 0)
        if left_out:
            record.msg = f"{record.msg} ({left_out} more like it since the last)"
        return True


class Lines(logging.Formatter):
    """Writes a record as a line of JSON, with the facts of a request where it has them.

    Example:
        >>> record = logging.makeLogRecord({"msg": "seen", "levelname": "INFO", "request": {"status": 200}})
        >>> line = json.loads(Lines().format(record))
        >>> line["level"], line["message"], line["status"]
        ('info', 'seen', 200)
    """

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        time_of = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time_of, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "request", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up_logs(level: str) -> None:
    """Log from a level on to standard error; what the server and its event loop repeat is left out."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    repeats = Repeats()
    for name in ("uvicorn.error", "asyncio", ACCESS):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(level.upper())
        if name != ACCESS:
            log.addFilter(repeats)
