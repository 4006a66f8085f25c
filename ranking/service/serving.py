"""What the routes share."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fastapi import Request
from prometheus_client import CollectorRegistry

from answer_ranking.ranking.explanation import Explanation
from answer_ranking.ranking.pages import render
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.limits import client_of
from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.schemas import Answers, SearchRequest
from answer_ranking.ranking.service.texts import check_explained, check_texts, may_be_long, tokens_of
from answer_ranking.ranking.service.workers import Workers


@dataclass(frozen=True)
class Serving:
    """An engine that is asked within the limits: a UserError or an HTTPException refuses.

    Words are counted quickly before anything works on a request, and where it is worked on as a ranker reads
    them.
    """

    engine: Engine
    limits: ServiceOptions
    workers: Workers
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    client: str = ""
    """The address of who asks."""

    async def search(self, asked: SearchRequest) -> Answers:
        """Find the best answers of the index."""
        check_texts(self.limits, [asked.question], asked.k)
        start = time.perf_counter()
        if self.engine.looks_again:
            await asyncio.to_thread(self.engine.refresh)
        if may_be_long(self.limits, asked.question):
            await self.workers.run(self.client, self._check_question, asked.question)
        found = await self.workers.wait(self.client, self.engine.search, self.client, asked)
        found.milliseconds = 1e3 * (time.perf_counter() - start)
        return found

    def _check_question(self, question: str) -> None:
        for ranker in self.engine.rankers.values():
            check_texts(self.limits, [question], count=tokens_of(ranker))

    async def rank(self, question: str, candidates: list[str], ranker: str) -> Answers:
        """Rank candidates."""
        check_texts(self.limits, [question, *candidates], len(candidates))
        start = time.perf_counter()
        found = await self.workers.run(self.client, self._rank, question, candidates, ranker)
        found.milliseconds = 1e3 * (time.perf_counter() - start)
        return found

    def _rank(self, question: str, candidates: list[str], ranker: str) -> Answers:
        check_texts(self.limits, [question, *candidates], count=tokens_of(self.engine.ranker(ranker)))
        return self.engine.rank(question, candidates, ranker)

    async def explain(self, question: str, answer: str, ranker: str, method: str) -> Explanation:
        """Say what the words of a pair do to its score."""
        check_explained(self.limits, question, answer)
        return await self.workers.explain(self._explain, question, answer, ranker, method)

    def _explain(self, question: str, answer: str, ranker: str, method: str) -> Explanation:
        check_explained(self.limits, question, answer, tokens_of(self.engine.ranker(ranker)))
        return self.engine.explain(question, answer, ranker, method)

    async def reasons(self, question: str, answer: str, others: Sequence[str]) -> str:
        """Write why an answer is where it is, as a part of the page."""
        check_explained(self.limits, question, answer)
        return await self.workers.explain(self._reasons, question, answer, others)

    def _reasons(self, question: str, answer: str, others: Sequence[str]) -> str:
        engine = self.engine
        for ranker in engine.rankers.values():
            check_explained(self.limits, question, answer, tokens_of(ranker))
        reasons = {title: engine.explain(question, answer, name) for name, title in engine.titles.items()}
        return render("reasons.html", reasons=reasons, disk=engine.disk(question, others), chosen=answer)


def serving_of(request: Request) -> Serving:
    """Give what the application of a request serves, to its client."""
    return replace(request.app.state.serving, client=client_of(request.scope))
