"""What answers the requests: an index, its ranker, and a second one."""

import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.disk import Disk
from answer_ranking.ranking.explanation import Explanation
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.first_stages import parts_of
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.ranking.service.batches import Batches
from answer_ranking.ranking.service.schemas import Answer, Answers

_LOOK_EVERY = 1.0  # second: so often the index's manifest is looked at
MODEL, SECOND = "model", "second"
_UNKNOWN = "The model knows no word of the question."


class Engine:
    """Searches, ranks and explains; may be called from several threads; who asks measures the time.

    A changed index is opened again. Where that fails, the old one goes on serving, and `problem` says why.

    Args:
        index: the folder of an index, or None.
        ranker: a ranker without an index; not both.
        second: another ranker, that re-ranks the first answers.

    Raises:
        UserError: there is neither, or a folder cannot be read.
    """

    def __init__(self, index: Path | None = None, ranker: Ranker | None = None, second: Ranker | None = None):
        if (index is None) == (ranker is None):
            raise UserError("give an index or a ranker.")
        self._folder, self.problem = index, ""
        self._own, self._second = ranker, second
        self._seen = self._stamp()
        self.index = AnswerIndex.open(index) if index is not None else None
        self._looked = time.monotonic()
        self._lock = threading.Lock()
        self._together = Batches(self._search)
        for each in self.rankers.values():  # loaded before the first request, as spaCy is
            each.tokenizer(["who"])

    @property
    def rankers(self) -> dict[str, Ranker]:
        """The rankers by their names."""
        own = self._own if self.index is None else self.index.ranker
        return {name: each for name, each in ((MODEL, own), (SECOND, self._second)) if each is not None}

    @property
    def looks_again(self) -> bool:
        """Whether it is time for `refresh`, which may take a while."""
        return time.monotonic() - self._looked >= _LOOK_EVERY

    def refresh(self) -> None:
        """Open the index again if it has changed; other threads go on with the old one meanwhile."""
        if self.index is None or self._folder is None or not self.looks_again:
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            stamp = self._stamp()  # before it is opened: a later change is seen the next time
            if stamp != self._seen:
                changed = AnswerIndex.open(self._folder)
                if changed.manifest.model == self.index.manifest.model:
                    changed.ranker = self.index.ranker
                _ = changed.ranker  # Loaded here, while the one before answers.
                self.index, self._seen, self.problem = changed, stamp, ""
        except UserError as error:
            if not self.problem:
                print(f"the index has changed and cannot be opened: {error}", file=sys.stderr)
            self.problem = "The index has changed and cannot be opened. The one before is served."
        finally:
            self._looked = time.monotonic()
            self._lock.release()

    @property
    def state(self) -> tuple[int, int] | None:
        """What changes whenever another index is served."""
        return self._seen

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = (self._folder / "manifest.json").stat() if self._folder else None
        except OSError:
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size)

    @property
    def first_stages(self) -> list[str]:
        """What can be asked of the index, the default first; see `AnswerIndex.first_stages`."""
        return [] if self.index is None else self.index.first_stages

    @property
    def can_rerank(self) -> bool:
        """Whether there is a second ranker."""
        return self._second is not None

    def search(self, question: str, k: int, first_stage: str = "", rerank: bool = False) -> "Future[Answers]":
        """Find the best answers; see `AnswerIndex.search`. `rerank`: by the second ranker.

        Returns at once, with the result to come.
        """
        if self.index is None:
            raise UserError("there is no index here: give candidates to rank.")
        if first_stage and not set(parts_of(first_stage)) <= set(self.index.manifest.first_stages):
            known = ", ".join(self.first_stages)
            raise UserError(f"first_stage must be one of {known}. Received: {first_stage!r:.40}")
        if rerank and not self.can_rerank:
            raise UserError("there is no second ranker here: leave rerank out.")
        return self._together(question, k, first_stage, rerank)

    def _search(self, questions: list[str], k: int, first_stage: str, rerank: bool) -> list[Answers]:
        assert self.index is not None
        second = self._second if rerank else None
        results = self.index.find(questions, k, first_stage or None, second)
        found: dict[str, Answers] = {}
        for number in range(1, len(questions) + 1):
            name = f"q{number}"  # as the index calls the questions
            note = _UNKNOWN if name in results.unknown else ""
            found[name] = Answers(
                answers=[], milliseconds=0, first_stage=first_stage, rerank=rerank, note=note
            )
        columns = ("question_id", "rank", "score", "candidate", "candidate_id")
        for name, rank, score, text, key in zip(
            *(results.table[column].tolist() for column in columns), strict=True
        ):
            found[name].answers.append(Answer(rank=rank, score=score, text=text, id=key))
        return list(found.values())

    def ranker(self, name: str = "") -> Ranker:
        """Give a ranker: "model" or "second"; the first by default."""
        rankers = self.rankers
        if not rankers:
            raise UserError("the index has no model: it finds answers by BM25 alone.")
        name = name or next(iter(rankers))
        if name not in rankers:
            raise UserError(f"ranker must be one of {', '.join(rankers)}. Received: {name!r:.40}")
        return rankers[name]

    def rank(self, question: str, candidates: list[str], ranker: str = "") -> Answers:
        """Rank candidates; see `Ranker.rank`."""
        table = self.ranker(ranker).rank(question, candidates)
        answers = []
        for row in table.itertuples():
            answers.append(Answer(rank=row.rank, score=row.score, text=row.text))
        return Answers(answers=answers, milliseconds=0, ranker=ranker)

    def explain(self, question: str, answer: str, ranker: str = "", method: str = "own") -> Explanation:
        """Say why; see `Ranker.explain`."""
        return self.ranker(ranker).explain(question, answer, method)

    @property
    def has_disk(self) -> bool:
        """Whether `disk` can place answers: the model is HyperQA or CosineQA."""
        own = self.rankers.get(MODEL)
        return own is not None and own.by_numpy

    def disk(self, question: str, answers: list[str]) -> Disk:
        """Place answers around the question; see `Ranker.disk`."""
        return self.ranker(MODEL).disk(question, answers)

    def reason(self, question: str, answers: tuple[str, ...], ranker: str, method: str) -> Explanation | Disk:
        """Give what is drawn: the "disk" of several answers, or another method's of the first."""
        if method == "disk":
            return self.disk(question, list(answers))
        return self.explain(question, answers[0], ranker, method)

    def health(self) -> dict[str, Any]:
        """Say whether all is well."""
        self.refresh()
        return {
            "status": "degraded" if self.problem else "ok",
            "problem": self.problem,
            "answers": 0 if self.index is None else len(self.index),
            "rankers": list(self.rankers),
            "first_stages": self.first_stages,
        }
