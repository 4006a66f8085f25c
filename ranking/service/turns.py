"""Whose turn it is: each client's next request, whatever number of them each has."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """Requests that wait, of which each client's first one is taken in turn.

    Safe to use from several threads.

    Example:
        >>> turns = Turns[int]()
        >>> for client, item in (("a", 1), ("a", 2), ("b", 3)):
        ...     turns.put(client, item)
        >>> [turns.take(), turns.take(), turns.take(), turns.take()]
        [1, 3, 2, None]
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Item]] = {}  # by client, the next one first
        self._lock = threading.Lock()

    def put(self, client: str, item: Item) -> None:
        """Let a request wait behind those of its client."""
        with self._lock:
            self._waiting.setdefault(client, deque()).append(item)

    def take(self, fits: Callable[[Item], bool] | None = None) -> Item | None:
        """Take the first request that fits of the clients' first ones; its client's next turn is the last.

        None: there is none.
        """
        with self._lock:
            fitting = (name for name, items in self._waiting.items() if fits is None or fits(items[0]))
            client = next(fitting, None)
            if client is None:
                return None
            items = self._waiting.pop(client)
            taken = items.popleft()
            if items:
                self._waiting[client] = items
            return taken
