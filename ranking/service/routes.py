"""The routes of the API, and what belongs to them."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import generate_latest

from answer_ranking.ranking.service.schemas import (
    Answers,
    ExplainRequest,
    Health,
    RankRequest,
    SearchRequest,
)
from answer_ranking.ranking.service.serving import serving_of

router = APIRouter()


@router.post("/api/search")
async def search(request: Request, asked: SearchRequest) -> Answers:
    """Find the best answers of the index."""
    return await serving_of(request).search(asked)


@router.post("/api/rank")
async def rank(request: Request, asked: RankRequest) -> Answers:
    """Rank the given candidates."""
    return await serving_of(request).rank(asked.question, asked.candidates, asked.ranker)


@router.post("/api/explain")
async def explain(request: Request, asked: ExplainRequest) -> dict[str, Any]:
    """Say what the words of a pair do to its score."""
    serving = serving_of(request)
    reason = await serving.explain(asked.question, asked.answer, asked.ranker, asked.method)
    return reason.data()


@router.get("/api/health")
async def health(request: Request) -> Health:
    """Say whether all is well; status "degraded" where a changed index cannot be opened."""
    # In no pool of the service's, so that it answers however much is asked of these.
    return Health(**await asyncio.to_thread(serving_of(request).engine.health))


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Give the counts of requests in Prometheus' format."""
    text = generate_latest(serving_of(request).registry)
    return Response(text, media_type="text/plain; version=0.0.4")
