"""What the routes share."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fastapi import Request
from prometheus_client import CollectorRegistry

from answer_ranking.ranking.explanation import Explanation
from answer_ranking.ranking.service.drawings import Drawer, Drawings
from answer_ranking.ranking.service.engine import Engine
from answer_ranking.ranking.service.options import ServiceOptions
from answer_ranking.ranking.service.schemas import Answers
from answer_ranking.ranking.service.texts import check_drawn, check_explained, check_texts
from answer_ranking.ranking.service.workers import Workers


@dataclass(frozen=True)
class Serving:
    """An engine that is asked within the limits: a UserError or an HTTPException refuses."""

    engine: Engine
    limits: ServiceOptions
    workers: Workers
    kept: Drawings = field(default_factory=Drawings)
    drawer: Drawer = field(default_factory=Drawer)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    client: str = ""
    """The address of who asks."""

    async def search(
        self,
        question: str,
        k: int,
        first_stage: str = "",
        rerank: bool = False,
    ) -> Answers:
        """Find the best answers of the index."""
        check_texts(self.limits, [question], k)
        start = time.perf_counter()
        if self.engine.looks_again:
            await asyncio.to_thread(self.engine.refresh)
        found = await self.workers.wait(self.client, self.engine.search, question, k, first_stage, rerank)
        found.milliseconds = 1e3 * (time.perf_counter() - start)
        return found

    async def rank(self, question: str, candidates: list[str], ranker: str = "") -> Answers:
        """Rank candidates."""
        check_texts(self.limits, [question, *candidates], len(candidates))
        start = time.perf_counter()
        found = await self.workers.run(self.client, self.engine.rank, question, candidates, ranker)
        found.milliseconds = 1e3 * (time.perf_counter() - start)
        return found

    async def explain(
        self,
        question: str,
        answer: str,
        ranker: str = "",
        method: str = "own",
    ) -> Explanation:
        """Say what the words of a pair do to its score."""
        check_explained(self.limits, question, answer)
        return await self.workers.run(self.client, self.engine.explain, question, answer, ranker, method)

    async def draw(self, question: str, answers: Sequence[str], ranker: str, method: str) -> str:
        """Draw a reason, unless its drawing is kept."""
        check_drawn(self.limits, question, answers, method)
        asked = (question, tuple(answers), ranker, method)
        # Before it is drawn: a drawing of a later one is only made again.
        state = self.engine.state
        drawn = self.kept.get((state, *asked))
        if not drawn:
            drawn = await self.workers.draw(self._draw, *asked)
            self.kept.put((state, *asked), drawn)
        return drawn

    def _draw(self, question: str, answers: tuple[str, ...], ranker: str, method: str) -> str:
        return self.drawer(self.engine.reason(question, answers, ranker, method))

    def close(self) -> None:
        """Take no more work."""
        self.workers.close()
        self.drawer.close()


def serving_of(request: Request) -> Serving:
    """Give what the application of a request serves, to its client."""
    client = request.client.host if request.client else ""
    return replace(request.app.state.serving, client=client)
