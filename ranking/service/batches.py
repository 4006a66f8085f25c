"""Questions that come at the same time are searched together."""

import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pandas as pd


class Batches:
    """Collects the questions that wait while others are searched, and searches them all at once.

    One search of many questions takes little longer than that of one: the points are read once for all.

    Args:
        search: a function from questions and options to the rows found, with the column `question_id`: "q1",
            "q2" and so on, in the order of the questions.

    Example:
        >>> def search(questions, k): return pd.DataFrame({"question_id": ["q1"], "text": questions[:1]})
        >>> Batches(search)("Who?", 1)["text"].tolist()
        ['Who?']
    """

    def __init__(self, search: Callable[..., pd.DataFrame]):
        self._search = search
        self._waiting: dict[tuple, list[tuple[str, Future]]] = defaultdict(list)
        self._lock, self._one_at_a_time = threading.Lock(), threading.Lock()

    def __call__(self, question: str, *options: Any) -> pd.DataFrame:
        """Search one question, with those that wait with the same options; what fails, fails alone."""
        mine: Future = Future()
        with self._lock:
            self._waiting[options].append((question, mine))
        with self._one_at_a_time:
            if not mine.done():
                with self._lock:
                    batch = self._waiting.pop(options)
                self._answer(batch, options)
        return mine.result()

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
        rows = found.groupby("question_id").indices
        for number, (_, future) in enumerate(batch, start=1):
            future.set_result(found.iloc[rows.get(f"q{number}", [])])
