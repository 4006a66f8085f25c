"""The drawings that were asked for last."""

from collections import OrderedDict
from collections.abc import Hashable

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
