"""Questions that come at the same time are searched together, and clients take turns."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from answer_ranking.ranking.service.turns import Turns

_LONGEST = 0.05  # second that a search of several questions should take: so long others wait for their turn
_MOST = 64


class _Asked(NamedTuple):
    question: str
    options: tuple
    alike: str
    """The options as text: 1, 1.0 and True are equal, and filter differently."""
    answer: Future


class Batches:
    """Collects the questions that wait while others are searched, and searches several at once.

    One search of many questions takes little longer than that of one: the points are read once for all. How
    many are searched at once follows from how long the last search took. Clients take turns, whatever number
    of questions each of them asks.

    Args:
        search: a function from questions and options to a result for each question.

    Example:
        >>> def search(questions, k): return [[question.upper()] * k for question in questions]
        >>> Batches(search)("127.0.0.1", "Who?", 2).result()
        ['WHO?', 'WHO?']
    """

    def __init__(self, search: Callable[..., list]):
        self._search = search
        self._turns = Turns[_Asked]()
        self._one = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._at_once = 1

    def __call__(self, client: str, question: str, *options: Any) -> Future:
        """Search one question, with those that wait with the same options; what fails, fails alone.

        Returns its result to come, so that no thread waits for it.
        """
        mine = _Asked(question, options, repr(options), Future())
        self._turns.put(client, mine)
        self._one.submit(self._answer_next)
        return mine.answer

    def _answer_next(self) -> None:
        batch = self._next()
        if not batch:  # Earlier calls have answered all.
            return
        start = time.monotonic()
        self._answer(batch)
        is_slow = time.monotonic() - start > _LONGEST
        self._at_once = max(1, self._at_once // 2) if is_slow else min(self._at_once + 1, _MOST)

    def _next(self) -> list[_Asked]:
        """Take a question of each client in turn, again and again, while there are any like the first."""
        batch: list[_Asked] = []
        while len(batch) < self._at_once:
            asked = self._turns.take(lambda each: not batch or each.alike == batch[0].alike)
            if asked is None:
                break
            if asked.answer.set_running_or_notify_cancel():  # nobody has given it up
                batch.append(asked)
        return batch

    def _answer(self, batch: list[_Asked]) -> None:
        try:
            found = self._search([each.question for each in batch], *batch[0].options)
        except Exception as error:
            if len(batch) == 1:
                batch[0].answer.set_exception(error)
            else:
                for each in batch:
                    self._answer([each])
            return
        for result, each in zip(found, batch, strict=True):
            each.answer.set_result(result)
