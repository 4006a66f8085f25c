"""What answers the requests: an index, its ranker, and one that re-ranks."""

import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.disk import Disk
from answer_ranking.ranking.explanation import Explanation
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.first_stages import parts_of
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.ranking.search.manifest import NAME
from answer_ranking.ranking.search.results import as_json
from answer_ranking.ranking.service.batches import Batches
from answer_ranking.ranking.service.schemas import Answer, Answers, SearchRequest

_LOOK_EVERY = 1.0  # second: so often the index's manifest is looked at
MODEL, RERANKER = "model", "reranker"
_NOT_SURE = "No good answer: none is as sure as was asked for."
_UNKNOWN = "The model knows no word of the question."
_SHOWN = ("question_id", "rank", "score", "confidence", "candidate", "candidate_id")
_OWN = (*_SHOWN, "question", "first_stage")
_MOST_NEAR = 20  # answers on the disk
_EXAMPLES = 5


class Engine:
    """Searches, ranks and explains; may be called from several threads; who asks measures the time.

    A changed index is opened again. Where that fails, the old one goes on serving, and `problem` says why.

    Args:
        index: the folder of an index, or None.
        ranker: a ranker without an index; not both.
        reranker: another ranker, that re-ranks the first answers.

    Raises:
        UserError: there is neither, or a folder cannot be read.
    """

    def __init__(
        self, index: Path | None = None, ranker: Ranker | None = None, reranker: Ranker | None = None
    ):
        if (index is None) == (ranker is None):
            raise UserError("give an index or a ranker.")
        self._folder, self.problem = index, ""
        self._own, self._reranker = ranker, reranker
        self._seen = self._stamp()
        self.index = AnswerIndex.open(index) if index is not None else None
        self.examples = self.index.questions(_EXAMPLES) if self.index is not None else []
        self._looked = time.monotonic()
        self._lock = threading.Lock()
        self._together = Batches(self._search)

    def warm_up(self) -> None:
        """Do once what requests ask, so that none has to wait for what is loaded then."""
        for ranker in self.rankers.values():
            ranker.rank("Who?", ["I."])
            ranker.explain("Who?", "I.")
        if self.index is not None:
            for first_stage in self.first_stages:
                asked = SearchRequest(question="Who?", k=1, first_stage=first_stage, rerank=self.can_rerank)
                self._search([asked.question], asked)

    @property
    def rankers(self) -> dict[str, Ranker]:
        """The rankers by their names."""
        own = self._own if self.index is None else self.index.ranker
        return {name: each for name, each in ((MODEL, own), (RERANKER, self._reranker)) if each is not None}

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
            if stamp != self._seen or self.problem:
                changed = AnswerIndex.open(self._folder)
                if changed.manifest.model == self.index.manifest.model:
                    changed.ranker = self.index.ranker
                _ = changed.ranker  # Loaded here, while the one before answers.
                self.index, self._seen, self.problem = changed, stamp, ""
                self.examples = changed.questions(_EXAMPLES)
        except (UserError, OSError) as error:
            if not self.problem:
                print(f"the index has changed and cannot be opened: {error}", file=sys.stderr)
            self.problem = "The index has changed and cannot be opened. The one before is served."
        finally:
            self._looked = time.monotonic()
            self._lock.release()

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = (self._folder / NAME).stat() if self._folder else None
        except OSError:
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size)

    @property
    def first_stages(self) -> list[str]:
        """What can be asked of the index, the default first; see `AnswerIndex.first_stages`."""
        return [] if self.index is None else self.index.first_stages

    @property
    def can_rerank(self) -> bool:
        """Whether there is a re-ranker."""
        return self._reranker is not None

    def search(self, client: str, asked: SearchRequest) -> "Future[Answers]":
        """Find the best answers; see `AnswerIndex.search`. `rerank`: by the re-ranker.

        Returns at once, with the result to come. Clients take turns. The answers have the columns that are
        named, all unless any are.
        """
        if self.index is None:
            raise UserError("there is no index here: give candidates to rank.")
        stage = asked.first_stage
        if stage and not set(parts_of(stage)) <= set(self.index.manifest.first_stages):
            known = ", ".join(self.first_stages)
            raise UserError(f"first_stage must be one of {known}. Received: {stage!r:.40}")
        if asked.rerank and not self.can_rerank:
            raise UserError("there is no re-ranker here: leave rerank out.")
        # Questions of equal options are searched together.
        return self._together(client, asked.question, asked.model_copy(update={"question": ""}))

    @property
    def knows_confidence(self) -> bool:
        """Whether the index has learnt how sure its answers are."""
        return self.index is not None and self.index.manifest.confidence is not None

    def _search(self, questions: list[str], asked: SearchRequest) -> list[Answers]:
        index = self.index  # Another thread may open a changed one meanwhile.
        assert index is not None
        results = index.find(
            questions,
            asked.k,
            asked.first_stage or None,
            self._reranker if asked.rerank else None,
            where=asked.where,
            min_confidence=asked.min_confidence,
        )
        found: dict[str, Answers] = {}
        stage = asked.first_stage or index.first_stages[0]
        for number in range(1, len(questions) + 1):
            name = f"q{number}"  # as the index calls the questions
            note = _UNKNOWN if name in results.unknown else ""
            if name in results.refused:
                note = _NOT_SURE
            found[name] = Answers(
                answers=[], milliseconds=0, first_stage=stage, rerank=asked.rerank, note=note
            )
        table = results.table
        if "confidence" not in table:
            table = table.assign(confidence=None)
        # As lists: a row of a table takes pandas as long as its search.
        rows = zip(*(table[name].tolist() for name in _SHOWN), strict=True)
        for (question, *shown), further in zip(rows, _further(table, asked.columns), strict=True):
            own = dict(zip(_SHOWN[1:], shown, strict=True))
            found[question].answers.append(Answer(**own, columns=further))
        return list(found.values())

    def ranker(self, name: str = "") -> Ranker:
        """Give a ranker: "model" or "reranker"; the first by default."""
        rankers = self.rankers
        if not rankers:
            raise UserError("the index has no model: words and letters alone are compared.")
        name = name or next(iter(rankers))
        if name not in rankers:
            raise UserError(f"ranker must be one of {', '.join(rankers)}. Received: {name!r:.40}")
        return rankers[name]

    def rank(self, question: str, candidates: list[str], ranker: str = "") -> Answers:
        """Rank candidates; see `Ranker.rank`."""
        table = self.ranker(ranker).rank(question, candidates)
        answers = []
        for row in table.itertuples():
            answers.append(Answer(rank=row.rank, score=row.score, candidate=row.candidate))
        return Answers(answers=answers, milliseconds=0, ranker=ranker)

    def explain(self, question: str, answer: str, ranker: str = "", method: str = "own") -> Explanation:
        """Say why; see `Ranker.explain`."""
        return self.ranker(ranker).explain(question, answer, method)

    def disk(self, question: str, answers: Sequence[str]) -> Disk | None:
        """Place the first answers around a question; None where there are none, or no points of a ball."""
        own = self.rankers.get(MODEL)
        if not answers or own is None or not own.by_numpy:
            return None
        return own.disk(question, answers[:_MOST_NEAR])

    @property
    def titles(self) -> dict[str, str]:
        """The names of the rankers, and their titles, such as "HyperQA", of which no two are equal."""
        titles: dict[str, str] = {}
        for name, ranker in self.rankers.items():
            title = name if ranker.entry is None else ranker.entry.title
            titles[name] = f"{title} ({name})" if title in titles.values() else title
        return titles

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


def _further(table: pd.DataFrame, names: Sequence[str] | None) -> list[dict[str, Any]]:
    """Give the further columns of a table as values of JSON, row by row."""
    known = [name for name in table.columns if name not in _OWN]
    unknown = set(names or ()) - set(known)
    if unknown:
        there = ", ".join(known) or "none"
        raise UserError(f"the index has no column {min(unknown)!r:.40}: it has {there}.")
    chosen = table[known if names is None else list(dict.fromkeys(names))]
    if not len(chosen.columns):
        return [{} for _ in range(len(table))]
    return json.loads(as_json(chosen))
