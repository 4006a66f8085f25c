"""Ways of searching an FAQ, compared on the questions that were held back from training."""

import json
import shlex
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from answer_ranking.base.errors import UserError, say
from answer_ranking.base.files import decode_text, read_content
from answer_ranking.data_prep import Dataset
from answer_ranking.evaluation import paired_randomisation_test
from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.ranking.model_folder import preset_names
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.refusals import Refusals, measure_refusals
from answer_ranking.ranking.search.confidence import Confidence
from answer_ranking.ranking.search.first_stages import entries_of, parts_of
from answer_ranking.ranking.search.index import AnswerIndex

TRAINED = "trained"
"""The name of the model that was trained on the table, beside those of the presets."""
_POINTS, _RERANKER = "hyperqa_squad", "cosinet_squad"
_WORDS = ("bm25", "ngrams", "ngrams+bm25")
_MEANINGS = ("both", "ngrams+both")
_DEPTHS = (10, 30)
_FIELDS = (("answer",), ("question", "answer"))
_FOUND = 10
"""A right answer counts among the first so many, as in MRR@10."""
_MOST_QUESTIONS = 500


@dataclass(frozen=True)
class Pipeline:
    """A way of searching: what the index is made of, what searches it, and what re-ranks what was found."""

    first_stage: str
    search: tuple[str, ...] = ("answer",)
    """The columns in which words and letters are looked for."""
    model: str = ""
    """Whose points are searched: "trained", a preset, or "" for none."""
    rerank: str = ""
    """Which model re-ranks: "trained", a preset, or "" for none."""
    rerank_depth: int = 0

    def index_options(self) -> dict[str, Any]:
        """Give the arguments of `AnswerIndex.build` that this pipeline needs."""
        return {
            "search": list(self.search),
            "first_stages": parts_of(self.first_stage),
            "default_stage": self.first_stage,
        }

    def model_of(self, folder: Path) -> Path | None:
        """Give the model of the points, `folder` being that of the training."""
        return _model(self.model, folder) if self.model else None

    def search_options(self, folder: Path) -> str:
        """Give the options of `answer-ranking search` that ask this pipeline in the index built for it."""
        if not self.rerank:
            return ""
        rerank, depth = str(_model(self.rerank, folder)), str(self.rerank_depth)
        return shlex.join(["--rerank", rerank, "--rerank-depth", depth])

    @property
    def title(self) -> str:
        """The pipeline in a table."""
        title = f"{self.first_stage} in {' + '.join(self.search)}"
        if self.model:
            title += f", points of {self.model}"
        if self.rerank:
            title += f", first {self.rerank_depth} re-ranked by {self.rerank}"
        return title


def _model(name: str, folder: Path) -> Path:
    return folder / "model" if name == TRAINED else Path(name)


def read_pipeline(folder: Path) -> tuple[Pipeline, Confidence | None]:
    """Read the best pipeline from the folder that a training left, and its confidence, if it learnt any.

    A UserError says that the folder holds none, or that its file is damaged.
    """
    path = folder / "result.json"
    if not path.is_file():
        raise UserError(f"{path} not found. Give the folder that `answer-ranking train` left.")
    try:
        result = json.loads(decode_text(read_content(path), path))
        facts = result.get("pipeline")
        if facts is None:
            raise UserError(f"{path} names no pipeline: the table of that training was not an FAQ.")
        pipeline = Pipeline(**{**facts, "search": tuple(facts["search"])})
        entries_of(parts_of(pipeline.first_stage))
        for name in (pipeline.model, pipeline.rerank):
            if name not in ("", TRAINED, *preset_names()):
                raise ValueError(f"{name!r:.40} is no model")
        learnt = result.get("confidence")
        confidence = Confidence.read(learnt) if learnt else None
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}). Train again.") from error
    return pipeline, confidence


@dataclass(frozen=True)
class PipelineComparison:
    """What the pipelines find; the best on dev is the first.

    `measured` has a row per pipeline: `dev` and `test`, the mean reciprocal rank of the right answer among
    the first ten; `p1`, P@1 on test; `p`, a paired randomisation test on test against the first; `ms`, the
    milliseconds a question.
    """

    pipelines: tuple[Pipeline, ...]
    measured: pd.DataFrame
    n_answers: int
    n_questions: Mapping[str, int]
    refusals: Refusals | None = None
    """What the best one answers if unsure answers are left out; None where nothing could be learnt."""

    @property
    def best(self) -> Pipeline:
        """The pipeline that dev chooses."""
        return self.pipelines[0]

    def as_json(self) -> dict[str, Any]:
        """Give what `result.json` keeps."""
        return {
            "pipeline": asdict(self.best),
            "pipelines": json.loads(self.measured.to_json(orient="records")),
            **(self.refusals.as_json() if self.refusals else {}),
        }

    def verdict(self) -> str:
        """Say which pipeline to use, in a sentence."""
        first = self.measured.iloc[0]
        equal = int((self.measured["p"].iloc[1:] >= SIGNIFICANT).sum())
        return (
            f"Search with {self.best.title}: dev chooses it, and on {self.n_questions['test']} questions of "
            f"test it has an MRR@10 of {first['test']:.3f} among {self.n_answers:,} answers; {equal} of the "
            f"other {len(self.measured) - 1} may be as good (p at least {SIGNIFICANT})."
        )

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows, the best on dev first."""
        rows = []
        for pipeline, row in zip(self.pipelines, self.measured.itertuples(), strict=True):
            p = "" if np.isnan(row.p) else f"{row.p:.3g}"
            means = [f"{value:.3f}" for value in (row.dev, row.test, row.p1)]
            rows.append([pipeline.title, *means, p, f"{row.ms:.1f}"])
        return ["pipeline", "MRR@10, dev", "MRR@10, test", "P@1, test", "p", "ms"], rows


def compare_pipelines(dataset: Dataset, trained: Ranker) -> PipelineComparison:
    """Compare ways of searching all answers of an FAQ for those of the questions of dev and test.

    The answers of all tables are indexed, the questions of the training table beside theirs; those of dev
    and test are asked, up to 500 each. Dev chooses; test is scored once.
    """
    answers = indexed_answers(dataset)
    asked = {name: _questions(dataset.splits[name]) for name in ("dev", "test")}
    rankers = {
        _POINTS: Ranker.from_preset(_POINTS),
        _RERANKER: Ranker.from_preset(_RERANKER),
        TRAINED: trained,
    }
    points = [_POINTS, TRAINED] if _gives_points(trained) else [_POINTS]
    measured: dict[Pipeline, dict[str, pd.DataFrame]] = {}
    with tempfile.TemporaryDirectory() as folder:
        indexes: dict[tuple[str, tuple[str, ...]], AnswerIndex] = {}
        for name in points:
            for fields in _FIELDS:
                place = Path(folder) / f"{name}-{len(fields)}"
                indexes[name, fields] = AnswerIndex.build(rankers[name], answers, place, search=fields)
        pipelines = list(_first_stages(points, indexes[_POINTS, _FIELDS[0]].manifest.first_stages))
        with tqdm(
            desc="pipelines", unit="pipeline", total=len(pipelines) + 4, leave=False, disable=None
        ) as bar:
            for pipeline in pipelines:
                measured[pipeline] = _measure(pipeline, indexes, rankers, asked)
                bar.update()
            for pipeline in _rerankings(_best(measured), rankers):
                measured[pipeline] = _measure(pipeline, indexes, rankers, asked)
                bar.update()
        refusals = _refusals(_best(measured), answers, rankers, asked, Path(folder) / "best")
    sizes = {name: len(questions) for name, questions in asked.items()}
    return replace(_comparison(measured, len(answers), sizes), refusals=refusals)


def indexed_answers(dataset: Dataset) -> pd.DataFrame:
    """Give every pair of train, and the answers of dev and test that train lacks without their questions."""
    own = _correct(dataset.train)[["question", "candidate"]].drop_duplicates()
    others = pd.concat([_correct(dataset.dev), _correct(dataset.test)])["candidate"].drop_duplicates()
    others = others[~others.isin(own["candidate"])]
    rows = pd.concat([own, pd.DataFrame({"question": None, "candidate": others})], ignore_index=True)
    return rows.rename(columns={"candidate": "answer"})


def _correct(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["label"] == 1]


def _questions(table: pd.DataFrame) -> dict[str, set[str]]:
    """Give the texts of questions, drawn ones where there are many, and the right answers of each."""
    correct = _correct(table)
    right = correct.groupby("question", sort=False)["candidate"].agg(set)
    if len(right) > _MOST_QUESTIONS:
        right = right.sample(_MOST_QUESTIONS, random_state=0)
    return right.to_dict()


def _gives_points(ranker: Ranker) -> bool:
    return ranker.entry is not None and ranker.entry.encodes_apart


def _first_stages(points: Sequence[str], built: Sequence[str]) -> Iterator[Pipeline]:
    """Name what the first stages that an index has can find; one of very many answers has not all."""

    def is_built(name: str) -> bool:
        return set(parts_of(name)) <= set(built)

    for fields in _FIELDS:
        for name in filter(is_built, _WORDS):
            yield Pipeline(name, fields)
    for model in points:
        yield Pipeline("nearest", model=model)
        for fields in _FIELDS:
            for name in filter(is_built, _MEANINGS):
                yield Pipeline(name, fields, model)


def _rerankings(found: Pipeline, rankers: Mapping[str, Ranker]) -> Iterator[Pipeline]:
    """Re-rank what the best first stage finds, by each model that reads question and answer together."""
    for name, ranker in rankers.items():
        if not _gives_points(ranker):
            for depth in _DEPTHS:
                yield Pipeline(found.first_stage, found.search, found.model, name, depth)


def _refusals(
    best: Pipeline,
    answers: pd.DataFrame,
    rankers: Mapping[str, Ranker],
    asked: Mapping[str, Mapping[str, set[str]]],
    place: Path,
) -> Refusals | None:
    index = AnswerIndex.build(rankers.get(best.model), answers, place, **best.index_options())
    options: dict[str, Any] = {}
    if best.rerank:
        options = {"rerank": rankers[best.rerank], "rerank_depth": best.rerank_depth}
    try:
        return measure_refusals(index, asked["dev"], asked["test"], **options)
    except UserError as error:
        say(str(error))
        return None


def _measure(
    pipeline: Pipeline,
    indexes: Mapping[tuple[str, tuple[str, ...]], AnswerIndex],
    rankers: Mapping[str, Ranker],
    asked: Mapping[str, Mapping[str, set[str]]],
) -> dict[str, pd.DataFrame]:
    index = indexes[pipeline.model or _POINTS, pipeline.search]
    rerank = rankers[pipeline.rerank] if pipeline.rerank else None
    measured = {}
    for name, right in asked.items():
        questions = list(right)
        start = time.perf_counter()
        found = index.find(questions, _FOUND, pipeline.first_stage, rerank, pipeline.rerank_depth or _FOUND)
        ms = 1000 * (time.perf_counter() - start) / len(questions)
        measured[name] = _reciprocal_ranks(found.table, right).assign(ms=ms)
    return measured


def _reciprocal_ranks(found: pd.DataFrame, right: Mapping[str, set[str]]) -> pd.DataFrame:
    """Give 1 / the place of the first right answer of each question, 0 for none; a text counts once."""
    reciprocal = dict.fromkeys(right, 0.0)
    found = found.drop_duplicates(["question", "candidate"])
    for question, candidates in found.groupby("question", sort=False)["candidate"]:
        for place, candidate in enumerate(candidates, start=1):
            if candidate in right[question]:
                reciprocal[question] = 1 / place
                break
    return pd.DataFrame({"rr": reciprocal.values()}, index=list(reciprocal))


def _best(measured: Mapping[Pipeline, Mapping[str, pd.DataFrame]]) -> Pipeline:
    """Choose by dev; of equal ones the first, which needs less."""
    return max(measured, key=lambda pipeline: measured[pipeline]["dev"]["rr"].mean())


def _comparison(
    measured: Mapping[Pipeline, Mapping[str, pd.DataFrame]], n_answers: int, n_questions: Mapping[str, int]
) -> PipelineComparison:
    best = _best(measured)
    order = sorted(measured, key=lambda each: (each != best, -measured[each]["dev"]["rr"].mean()))
    reference = measured[best]["test"]["rr"]
    rows = []
    for pipeline in order:
        dev, test = measured[pipeline]["dev"], measured[pipeline]["test"]
        rows.append(
            {
                "pipeline": pipeline.title,
                "dev": dev["rr"].mean(),
                "test": test["rr"].mean(),
                "p1": (test["rr"] == 1).mean(),
                "p": np.nan if pipeline == best else paired_randomisation_test(test["rr"], reference),
                "ms": test["ms"].mean(),
            }
        )
    return PipelineComparison(tuple(order), pd.DataFrame(rows), n_answers, n_questions)
