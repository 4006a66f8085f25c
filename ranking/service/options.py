"""The options of the service; imports little, so that the command line reads them quickly."""

from dataclasses import dataclass
from typing import Literal

from answer_ranking.base.ranges import check_range


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """What a request may ask for, and how many at once; a UserError names a number that is out of range."""

    most_bytes: int = 1_000_000
    """The largest body of a request, in bytes; more is refused with 413."""
    most_bytes_at_once: int = 32_000_000
    """The bytes of all bodies that are there or announced at once; larger than 8,000 bytes, more are refused
    with 503."""
    most_candidates: int = 1_000
    """The most candidates or answers of a request; more is refused with 422."""
    most_words: int = 2_000
    """The most words of one text, as the model reads it: marks of punctuation, parts of words, and characters
    of scripts without blanks are words, too; more is refused with 422."""
    concurrent: int = 16
    """How many requests are worked on at once; others wait."""
    waiting: int = 256
    """How many requests may wait; more are refused with 503."""
    per_second: float = 0.0
    """How many requests a second one client may send, over ten seconds; more are refused with 429. 0: any."""
    seconds: float = 10.0
    """How long a request may take, its waiting included; then it is given up with 503."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    """What is logged, a line of JSON each, on standard error: from info on, every request."""

    def __post_init__(self) -> None:
        check_range(self, "most_bytes", at_least=1_000)
        check_range(self, "most_bytes_at_once", at_least=self.most_bytes)
        check_range(self, "most_candidates", "most_words", "concurrent", at_least=1)
        check_range(self, "waiting", "per_second", at_least=0)
        check_range(self, "seconds", above=0)
