"""Pipelines tried on the questions of an FAQ."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError, say
from answer_ranking.ranking.pipeline import Pipeline
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.refusals import Questions, Refusals, measure_refusals
from answer_ranking.ranking.search.first_stages import Entry, entries_of, parts_of
from answer_ranking.ranking.search.first_stages.fusion import FUSED, Fusion, Part
from answer_ranking.ranking.search.first_stages.protocol import Searcher
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.ranking.search.results import Candidates, Results

_FOUND = 10
"""A right answer counts among the first so many, as in MRR@10."""
_TIMED = 100
"""On so many questions an encoder is timed."""

Measured: TypeAlias = dict[str, pd.DataFrame]
"""What a pipeline finds, for each split: a row per question, the reciprocal rank `rr`, the time `ms`, and the
size of an index of this pipeline alone, `mb`."""
_Place: TypeAlias = tuple[str, tuple[str, ...]]
"""The index of a model's points by a first stage, or, without a model, that of the words of some columns."""


class OwnQuestions(NamedTuple):
    """An index's own questions, asked word for word, and those whose first answer is right."""

    asked: int = 0
    found: int = 0


class PipelineTrials:
    """Measures pipelines on the answers and questions of an FAQ; what they share is searched once.

    Args:
        answers: the columns `question` and `answer`.
        asked: for each split, its questions, and the right answers of each.
        rankers: those that give points, and those that re-rank, by their names.
        folder: where indexes are built.
    """

    def __init__(
        self,
        answers: pd.DataFrame,
        asked: Mapping[str, Questions],
        rankers: Mapping[str, Ranker],
        folder: Path,
    ):
        self._answers, self._asked, self._rankers, self._folder = answers, asked, dict(rankers), folder
        self._indexes: dict[_Place, AnswerIndex] = {}
        self._searched: dict[tuple[str, _Place, str], tuple[_Found, float]] = {}
        self._encoding_ms: dict[str, float] = {}

    @property
    def word_stages(self) -> list[str]:
        """The first stages that an index without a model has."""
        return self._index("", ("answer",)).manifest.first_stages

    def measure(self, pipeline: Pipeline) -> Measured:
        """Search for the questions of every split."""
        rerank = self._rankers[pipeline.rerank] if pipeline.rerank else None
        texts = self._answers["answer"].to_numpy(object)
        measured = {}
        for split, right in self._asked.items():
            questions = list(right)
            found, ms = self._search(pipeline, split)
            ranked = [texts[rows].tolist() for rows in found.rows]
            if rerank is not None:
                _reranked(rerank, questions[0], ranked[0])  # What is loaded at first use costs once.
                start = time.perf_counter()
                ranked = [_reranked(rerank, *each) for each in zip(questions, ranked, strict=True)]
                ms += 1000 * (time.perf_counter() - start) / len(questions)
            reciprocal = [_reciprocal_rank(*each) for each in zip(ranked, right.values(), strict=True)]
            values = {"rr": reciprocal, "ms": ms, "mb": self._megabytes(pipeline)}
            measured[split] = pd.DataFrame(values, index=questions)
        return measured

    def build(self, pipeline: Pipeline) -> AnswerIndex:
        """Build the index of a pipeline."""
        ranker, place = self._rankers.get(pipeline.model), self._folder / "built"
        return AnswerIndex.build(ranker, self._answers, place, **pipeline.index_options())

    def own_questions(self, index: AnswerIndex, pipeline: Pipeline, right: Questions) -> OwnQuestions:
        """Count the questions that stand in the index whose first answer is right."""
        found = index.find(list(right), k=1, **self._reranking(pipeline)).table
        is_right = [row.candidate in right[row.question] for row in found.itertuples()]
        return OwnQuestions(len(right), sum(is_right))

    def refusals(self, index: AnswerIndex, pipeline: Pipeline) -> Refusals | None:
        """Measure what an index had better not answer; None where nothing can be learnt."""
        try:
            options = self._reranking(pipeline)
            return measure_refusals(index, self._asked["dev"], self._asked["test"], **options)
        except UserError as error:
            say(str(error))
            return None

    def _reranking(self, pipeline: Pipeline) -> dict[str, Any]:
        """Give the options of a search in the index of a pipeline."""
        if not pipeline.rerank:
            return {}
        return {"rerank": self._rankers[pipeline.rerank], "rerank_depth": pipeline.rerank_depth}

    def _index(self, model: str, parts: tuple[str, ...]) -> AnswerIndex:
        """Build an index of a model's points by a first stage, or of words and letters of some columns."""
        key = (model, parts)
        if key not in self._indexes:
            if model:
                self._keep_vectors(model)
            place = self._folder / f"index-{len(self._indexes)}"
            options: dict[str, Any] = {"first_stages": parts} if model else {"search": parts}
            ranker = self._rankers.get(model)
            self._indexes[key] = AnswerIndex.build(ranker, self._answers, place, **options)
        return self._indexes[key]

    def _search(self, pipeline: Pipeline, split: str) -> tuple[Candidates, float]:
        """Find what an index of this pipeline finds, and the milliseconds a question."""
        parts, total = [], 0.0
        for entry in entries_of(parts_of(pipeline.first_stage)):
            found, ms = self._found(entry.name, _place(pipeline, entry), split)
            parts.append(Part(found, entry.lowest))
            total += ms
        searcher = parts[0].searcher if len(parts) == 1 else Fusion(parts)
        total += self._encoding_ms.get(pipeline.model, 0)
        depth = max(pipeline.rerank_depth, _FOUND)
        return searcher.search(list(self._asked[split]), depth, None), total

    def _megabytes(self, pipeline: Pipeline) -> float:
        """Add up the files of an index of this pipeline alone, without those of its model."""
        total = 0
        for entry in entries_of(parts_of(pipeline.first_stage)):
            sizes = self._index(*_place(pipeline, entry)).file_sizes()
            total += sizes[entry.name]
        return (total + sizes["texts"]) / 1e6

    def _found(self, stage: str, key: _Place, split: str) -> "tuple[_Found, float]":
        """Search by one first stage, once for all pipelines that have it."""
        if (stage, key, split) not in self._searched:
            index, questions = self._index(*key), list(self._asked[split])
            start = time.perf_counter()
            results = index.find(questions, FUSED, stage)
            ms = 1000 * (time.perf_counter() - start) / len(questions)
            self._searched[stage, key, split] = _Found(questions, results), ms
        return self._searched[stage, key, split]

    def _keep_vectors(self, name: str) -> None:
        """Encode no text twice from now on; before, time what a new question costs."""
        ranker = self._rankers[name]
        if not ranker.is_contextual or name in self._encoding_ms:
            return
        some = list(self._asked["dev"])[:_TIMED]
        ranker.encode_query(some[:1])  # TensorFlow starts.
        start = time.perf_counter()
        ranker.encode_query(some)
        self._encoding_ms[name] = 1000 * (time.perf_counter() - start) / len(some)
        ranker = self._rankers[name] = ranker.keeping_vectors()
        for asked in self._asked.values():  # So that no search that is timed encodes them.
            ranker.encode_query(list(asked))


def _place(pipeline: Pipeline, entry: Entry) -> _Place:
    """Name the index in which a pipeline has one of its first stages."""
    return (pipeline.model, (entry.name,)) if entry.needs_model else ("", pipeline.search)


class _Found(Searcher):
    """What a first stage has found for some questions, in the place of its searcher."""

    def __init__(self, questions: Sequence[str], results: Results):
        number = pd.Series(range(len(questions)), index=questions)[results.table["question"]].to_numpy()
        ends = np.cumsum(np.bincount(number, minlength=len(questions)))[:-1]
        scores = results.table["score"].to_numpy()
        self._rows, self._scores = np.split(results.rows, ends), np.split(scores, ends)

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None) -> Candidates:
        rows, scores = [each[:k] for each in self._rows], [each[:k] for each in self._scores]
        return Candidates(rows, scores, np.zeros(len(questions), bool))


def _reranked(ranker: Ranker, question: str, texts: Sequence[str]) -> list[str]:
    return ranker.rank(question, texts, k=_FOUND)["candidate"].tolist() if texts else []


def _reciprocal_rank(ranked: Sequence[str], right: set[str]) -> float:
    """Give 1 / the place of the first right answer, 0 for none; a text that stands twice counts once."""
    for place, text in enumerate(dict.fromkeys(ranked), start=1):
        if text in right:
            return 1 / place
    return 0.0
