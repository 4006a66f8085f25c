"""Questions that come at the same time are searched together."""

import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Batches:
    """Collects the questions that wait while others are searched, and searches them all at once.

    One search of many questions takes little longer than that of one: the points are read once for all.

    Args:
        search: a function from questions and options to a result for each question.

    Example:
        >>> def search(questions, k): return [[question.upper()] * k for question in questions]
        >>> Batches(search)("Who?", 2).result()
        ['WHO?', 'WHO?']
    """

    def __init__(self, search: Callable[..., list]):
        self._search = search
        self._waiting: dict[tuple, list[tuple[str, Future]]] = defaultdict(list)
        self._lock = threading.Lock()
        self._one = ThreadPoolExecutor(1, thread_name_prefix="search")

    def __call__(self, question: str, *options: Any) -> Future:
        """Search one question, with those that wait with the same options; what fails, fails alone.

        Returns its result to come, so that no thread waits for it.
        """
        mine: Future = Future()
        with self._lock:
            self._waiting[options].append((question, mine))
        self._one.submit(self._answer_all, options)
        return mine

    def _answer_all(self, options: tuple) -> None:
        with self._lock:
            waiting = self._waiting.pop(options, [])
        batch = []
        for question, future in waiting:
            if future.set_running_or_notify_cancel():  # nobody has given it up
                batch.append((question, future))
        if batch:  # An earlier call may have answered all.
            self._answer(batch, options)

    def _answer(self, batch: list[tuple[str, Future]], options: tuple) -> None:
        try:
            found = self._search([question for question, _ in batch], *options)
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:
                for one in batch:
                    self._answer([one], options)
            return
        for result, (_, future) in zip(found, batch, strict=True):
            future.set_result(result)
