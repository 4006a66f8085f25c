"""The retrieval study: the right answer among all answers of a data set, not among given candidates.

    python reproduce/studies/retrieval.py --dataset wikiqa --record retrieval/wikiqa

Systems: BM25; HyperQA, CosineQA and QA-BiLSTM, whose nearest points are the answers; BM25 and HyperQA fused
by reciprocal ranks; and CTRN, AP-CNN and Cosinet, which re-rank the first answers of BM25 or of the fusion,
whichever is better on dev. All are trained on the same questions with the same wrong answers out of the
collection, half of them BM25's best, half drawn at random, with one setting each. Dev chooses the epoch, and
for the re-rankers the number of answers that they rank.

    python reproduce/studies/retrieval.py --dataset wikiqa --systems --ready minilm hyperqa_minilm \
        --rerank hyperqa_minilm

This trains nothing: the points of rankers that are ready, presets and the cosine of encoders of contextual
words, are searched, alone and fused with BM25; what is best on dev is re-ranked.

Measured on test, after every choice: recall@1, @10, @100 and MRR@10, by trec_eval's code; a paired
randomisation test of MRR@10 against BM25, corrected after Holm; and the milliseconds of one question at a
time. After an interruption the same command goes on. When all is trained, it only measures: run it again on
a quiet machine to time it.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.errors import UserError
from answer_ranking.base.files import locked_folder
from answer_ranking.base.ranges import check_range
from answer_ranking.data_prep import load_dataset
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.data_prep.word_vectors.encoder_folder import encoder_name, is_encoder
from answer_ranking.engine import Seed, Study, StudyRecord, TrainingData
from answer_ranking.engine.study import Condition
from answer_ranking.engine.study_record import Extent
from answer_ranking.engine.training_run import key_of, training_key
from answer_ranking.evaluation.card_metrics import RRF_CONSTANT
from answer_ranking.evaluation.records import without_paths
from answer_ranking.evaluation.retrieval_metrics import BASELINE, compare, measure
from answer_ranking.evaluation.runs import read_run, write_run
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking.model_folder import find_model
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.ranking.search.manifest import sha256_of_model
from answer_ranking.reports.studies.retrieval_page import results_table
from answer_ranking.reproduce.experiments.data_options import (
    DataHome,
    DataOptions,
    data_options_of,
)
from answer_ranking.reproduce.experiments.options import Experiment, RecordOptions
from answer_ranking.reproduce.experiments.retrieval_task import (
    FIRST,
    Task,
    content_hash,
    indexed,
    make_task,
    training_table,
)
from answer_ranking.reproduce.experiments.run import clean_command, train
from answer_ranking.reproduce.presets import scores_of

SPLITS = ("dev", "test")
HYPERQA = CATALOGUE["hyperqa"].title
FUSED = f"{BASELINE} and {HYPERQA}"
DEPTHS = (10, 30, 100)
_TIMED = 50

CHANGED: dict[str, dict[str, Any]] = {
    "hyperqa": {},
    "cosineqa": {"learning_rate": 0.3},
    "qa-bilstm": {"negatives_from": "own"},
    "ctrn": {},
    "ap-cnn": {"negatives_from": "own"},
    "cosinet": {"epochs": 3, "patience": None},  # as in its paper
}
"""The models that take part, and what differs from their own experiments."""

Systems = dict[str, Experiment]
_System = Literal[tuple(CATALOGUE[name].title for name in CHANGED)]  # type: ignore[valid-type]


@dataclass(frozen=True, kw_only=True)
class Config(RecordOptions, DataHome):
    """The options."""

    dataset: str
    """Name of the data set: wikiqa, insuranceqa or squad-sent."""
    systems: tuple[_System, ...] = get_args(_System)  # type: ignore[valid-type]
    """The models to train; BM25 needs no training."""
    ready: tuple[str, ...] = ()
    """Rankers that encode texts apart and are not trained here: presets, and encoders for their cosine."""
    rerank: tuple[str, ...] = ()
    """Presets that re-rank what the best of all first stages finds."""
    seeds: int = 3
    """How many seeds to train."""
    train_questions: int = 2000
    """At most so many questions are trained on, drawn at random."""
    dev_questions: int = 300
    """At most so many questions of dev."""
    test_questions: int = 1000
    """At most so many questions of test."""
    wrong_answers: int = 10
    """Wrong answers of each question of training."""
    epochs: int = 10
    """The most epochs; three without a better dev MAP end a training. Cosinet has the three of its paper."""
    embeddings: tuple[str, ...] = ("glove-6b-50d",)
    """Word vectors, by name or path; several are concatenated."""
    output: Path = Path("outputs")
    """Folder of models, indexes, run files and the state of unfinished trainings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        find_description(self.dataset)
        check_range(self, "train_questions", "dev_questions", "test_questions", at_least=2)
        check_range(self, "seeds", "epochs", at_least=1, at_most=1000)
        check_range(self, "wrong_answers", at_least=2)

    @property
    def most_questions(self) -> dict[str, int]:
        """How many questions are drawn at most, by split."""
        return {split: getattr(self, f"{split}_questions") for split in ("train", *SPLITS)}

    @property
    def data(self) -> dict[str, Any]:
        """The options of the data, those of all models."""
        names = ("dataset", "embeddings", "data_home")
        return {name: getattr(self, name) for name in names}


def systems(config: Config) -> tuple[Systems, Systems]:
    """State one setting of every model: those that encode texts apart, and those that re-rank."""
    apart: Systems = {}
    together: Systems = {}
    for name, changed in CHANGED.items():
        entry = CATALOGUE[name]
        if entry.title not in config.systems:
            continue
        values = {"epochs": config.epochs, "patience": 3, **changed}
        if "negatives_from" in changed:
            values["sampled_negatives"] = config.wrong_answers
        data = data_options_of(entry)(**config.data)
        stage = apart if entry.encodes_apart else together
        stage[entry.title] = Experiment.of(name, data, **values)
    return apart, together


def training_data(task: Task, config: Config, folder: Path) -> TrainingData:
    """Encode what is trained on, and what chooses the epoch."""
    tables = []
    for split in ("train", "dev"):
        index = indexed(None, task, split, folder)
        tables.append(training_table(task, split, index, config.wrong_answers))
    for_training, dev = tables
    dataset = replace(task.dataset, train=for_training, dev=dev, test=dev, further_tests={})
    return DataOptions(**config.data).encode(dataset)


def kept(
    folder: Path, name: str, asked: pd.DataFrame, answers: pd.DataFrame, make: Callable[[], pd.DataFrame]
) -> pd.DataFrame:
    """Read a ranking, or make and write it: question_id, candidate_id and rank.

    `asked` is what is ranked, the questions or their first answers; others, and other `answers`, have another
    file.
    """
    path = folder / f"{name}-{content_hash(asked)}-{content_hash(answers)}.run"
    if not path.exists():
        made = make()
        scores = -made["rank"].to_numpy(float)
        write_run(path, made["question_id"].tolist(), made["candidate_id"].tolist(), scores)
    return read_run(path)[["question_id", "candidate_id", "rank"]]


def fused_by_ranks(index: AnswerIndex, asked: pd.DataFrame) -> pd.DataFrame:
    """Add up 1 / (60 + rank) over the nearest answers and those of BM25 (Cormack et al., 2009).

    An index fuses scores. The study keeps to ranks, as it was planned.
    """
    found = pd.concat([index.search(asked, FIRST, stage) for stage in ("nearest", "bm25")])
    sums = (1 / (RRF_CONSTANT + found["rank"])).groupby([found["question_id"], found["candidate_id"]]).sum()
    table = sums.sort_values(ascending=False, kind="stable").rename("score").reset_index()
    table["rank"] = table.groupby("question_id").cumcount() + 1
    return table[table["rank"] <= FIRST]


def rerank(ranker: Ranker, first: pd.DataFrame, task: Task, split: str) -> pd.DataFrame:
    """Rank all of the first answers by a ranker."""
    pairs = first.merge(task.questions[split], how="left").merge(task.answers[split], how="left")
    scores = scores_of(ranker, pairs)
    place = first.assign(score=-scores).groupby("question_id")["score"].rank(method="first")
    return first.assign(rank=place.astype(int))


def at_depth(first: pd.DataFrame, again: pd.DataFrame, depth: int) -> pd.DataFrame:
    """Put the first `depth` answers into the new order; the others stay."""
    both = first.merge(again, on=["question_id", "candidate_id"], suffixes=("", "_again"))
    inside = both["rank"] <= depth
    key = np.where(inside, both["rank_again"], both["rank"] + FIRST)
    order = np.lexsort((key, pd.factorize(both["question_id"])[0]))
    both = both.iloc[order]
    both["rank"] = both.groupby("question_id").cumcount() + 1
    return both[["question_id", "candidate_id", "rank"]]


def milliseconds(search: Callable[[str], Any], questions: pd.Series) -> float:
    """Time one question at a time, the median; some go before."""
    times = []
    for text in [*questions[:5], *questions[:_TIMED]]:
        start = time.perf_counter()
        search(text)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[5:])


def rows_of(study: Study, conditions: Sequence[Condition], seeds: Iterable[int]) -> pd.DataFrame:
    """Measure systems; a UserError says that a training diverged."""
    frame = study.frame(conditions, list(seeds))
    diverged = frame["diverged"].dropna()
    if len(diverged):
        raise UserError(diverged.iloc[0])
    return frame


class Retrieval:
    """The systems on one task.

    A condition is a system: the `model` that is trained, how it finds answers (`stage`), and, where it
    re-ranks, the system that finds the first answers, and how many (`depth`).
    """

    def __init__(self, config: Config, task: Task, data: TrainingData | None, folder: Path):
        self.apart, self.together = systems(config)
        self._ready, self._rerank = config.ready, config.rerank
        self._task, self._training_data, self._folder = task, data, folder
        self._seeds = range(config.seeds)
        self._content = []
        for split in SPLITS:
            self._content += [content_hash(task.questions[split]), content_hash(task.answers[split])]
        self._dev, self._test = self._study("dev", "rows.jsonl"), self._study("test", "test.jsonl")

    def _study(self, split: str, rows: str) -> Study:
        measure = partial(self._measure, split)
        return Study(
            measure=measure, rows=self._folder / rows, folder=self._folder, chosen_by=f"{split}_mrr@10"
        )

    @property
    def _data(self) -> TrainingData:
        assert self._training_data is not None, "without data nothing is trained"
        return self._training_data

    def conditions(self) -> list[dict[str, Any]]:
        """Choose the re-rankers' first stage and depths on dev, then measure every system on test."""
        finders = self._finders()
        once = [each for each in finders if each.get("model") not in self.apart]
        trained = [each for each in finders if each.get("model") in self.apart]
        frames = [rows_of(self._dev, once, [0]), rows_of(self._dev, trained, self._seeds)]
        found = pd.concat(frames)
        chosen = {each["system"]: each for each in finders}
        firsts = found[found["system"].isin((BASELINE, FUSED))] if self.together else found
        first = chosen[self._dev.best(firsts, "system")]
        depths: dict[str, dict[str, Any]] = {}
        for name in (*self.together, *self._rerank):
            reranker, frame, by_depth = self._reranker(name, first)
            system, depth = reranker["system"], reranker["depth"]
            chosen[system] = reranker
            depths[system] = {"depth": depth, "dev_mrr@10_by_depth": by_depth}
            frames.append(frame)
        measured = {}
        for name, on_dev in pd.concat(frames).groupby("system", sort=False):
            on_test = rows_of(self._test, [chosen[name]], on_dev["seed"])
            measured[name] = {
                "dev": list(map(pd.DataFrame, on_dev["dev"])),
                "test": list(map(pd.DataFrame, on_test["test"])),
            }
        asked = self._task.questions["test"]["question"]
        summaries = []
        for name, row in compare(measured).items():
            timed = milliseconds(self._search(chosen[name]), asked)
            summaries.append({"system": name, **depths.get(name, {}), **row, "milliseconds": timed})
        return summaries

    def _reranker(
        self, name: str, first: dict[str, Any]
    ) -> tuple[dict[str, Any], pd.DataFrame, dict[int, float]]:
        """Choose the depth of a re-ranker; gives its condition, its rows, and the depths' scores on dev."""
        stated: dict[str, Any] = {
            "key": self._key(name),
            "system": f"{first['system']}, then {name}",
            "model": name,
        }
        stated |= {"first": first, "content": self._content}
        seeds = self._seeds if name in self.together else [0]
        frame = rows_of(self._dev, [{**stated, "depth": depth} for depth in DEPTHS], seeds)
        best = self._dev.best(frame, "depth")
        by_depth = frame["dev_mrr@10"].astype(float).groupby(frame["depth"]).mean()
        return {**stated, "depth": best}, frame[frame["depth"] == best], by_depth.to_dict()

    def _finders(self) -> list[dict[str, Any]]:
        """State BM25 and the systems that find nearest points, alone and together with BM25."""
        stated = [{"key": "bm25", "system": BASELINE, "stage": "bm25"}]
        for name in self.apart:
            key = self._key(name)
            stated.append({"key": key, "system": name, "model": name, "stage": "nearest"})
            if name == HYPERQA:
                stated.append({"key": key, "system": FUSED, "model": name, "stage": "both"})
        for name in self._ready:
            title = f"{Path(name).name}, mean cosine" if is_encoder(name) else Path(name).name
            key = self._key(name)
            stated.append({"key": key, "system": title, "model": name, "stage": "nearest"})
            stated.append({"key": key, "system": f"BM25 and {title}", "model": name, "stage": "both"})
        return [{**each, "content": self._content} for each in stated]

    def _key(self, name: str) -> str:
        """Name what a system's numbers depend on: its training, or the files of a ranker that is ready."""
        if (experiment := (self.apart | self.together).get(name)) is not None:
            return training_key(experiment.configuration, self._data)
        files = ContextualEncoder(name).key if is_encoder(name) else sha256_of_model(find_model(name))
        return key_of(name, files)

    def encoders(self) -> dict[str, str]:
        """Name the encoders that rankers read or were trained from, with the SHA-256 of their weights."""
        found = {}
        if self._training_data is not None and self._training_data.word_vectors.encoder:
            found[self._data.word_vectors.name] = self._data.word_vectors.encoder
        for name in (*self._ready, *self._rerank):
            ranker = Ranker.load(name)
            if ranker.encoder:
                found[encoder_name(ranker.vectors[0])] = ranker.encoder
        return found

    def _measure(self, split: str, condition: Condition, seed: Seed) -> dict[str, Any]:
        ranking = self._ranking(condition, seed.number, split)
        found = measure(ranking, self._task.correct[split]).to_dict("list")
        return {f"{split}_mrr@10": statistics.mean(found["mrr@10"]), split: found}

    def _ranking(self, condition: Condition, number: int, split: str) -> pd.DataFrame:
        """Rank a split's questions by a seed of a system."""
        asked = self._task.questions[split]
        if condition["system"] == BASELINE:
            return indexed(None, self._task, split, self._folder).search(asked, FIRST, "bm25")
        place = self._dev.place(condition, number)
        ranker = self._ranker(condition, number).keeping_vectors()
        if "first" in condition:
            first = condition["first"]
            given = self._ranking(first, number, split)
            again = partial(rerank, ranker, given, self._task, split)
            ranked = kept(place, f"{split}-{first['stage']}", given, self._task.answers[split], again)
            return at_depth(given, ranked, condition["depth"])
        index, stage = indexed(ranker, self._task, split, place), condition["stage"]
        find = partial(fused_by_ranks, index, asked)
        if stage != "both":
            find = partial(index.search, asked, FIRST, stage)
        return kept(place, f"{split}-{stage}", asked, self._task.answers[split], find)

    def _ranker(self, condition: Condition, number: int) -> Ranker:
        """Load the model of a seed, trained before or now, or a ranker that is ready."""
        if (name := condition["model"]) in (*self._ready, *self._rerank):
            return Ranker.load(name)
        place = self._dev.place(condition, number)
        if not (place / "model" / "vocabulary.json").exists():  # which is written last
            experiment = (self.apart | self.together)[condition["model"]]
            label = f"{condition['model']}, seed {number}"
            seed = Seed(number, place / "state.npz", condition["key"], label)
            model, _ = train(experiment, self._data, seed)
            ranker = Ranker.of_training(model, experiment.name, self._data, self._data.title)
            ranker.save(place / "model")
        return Ranker.load(place / "model")

    def _search(self, condition: Condition) -> Callable[..., pd.DataFrame]:
        """Give what finds the ten best answers of a test question, by the first seed, to be timed.

        What it asks is encoded each time, as a new question is.
        """
        if "first" in condition:
            first = self._search(condition["first"])
            return partial(first, rerank=self._ranker(condition, 0), rerank_depth=condition["depth"])
        if condition["system"] == BASELINE:
            index = indexed(None, self._task, "test", self._folder)
        else:
            place = self._dev.place(condition, 0)
            index = indexed(self._ranker(condition, 0), self._task, "test", place)
        return partial(index.search, k=10, first_stage=condition["stage"])


def _extent_of(record: Mapping[str, Any]) -> Extent:
    systems = {each["system"] for each in record["conditions"]}
    return {"seeds": record["seeds"], "questions": record["questions"]["test"], "systems": systems}


def main(config: Config) -> None:
    """Train, search, re-rank, measure, and write the record."""
    record = StudyRecord(config.record_file, {"dataset": config.dataset}, {"seeds": config.seeds}, _extent_of)
    folder = config.output / "retrieval" / config.dataset
    with locked_folder(folder):
        dataset = load_dataset(config.dataset, data_home=config.data_home)
        task = make_task(dataset, config.most_questions)
        questions = {split: len(each) for split, each in task.questions.items()}
        record = replace(record, extent={"seeds": config.seeds, "questions": questions["test"]})
        data = training_data(task, config, folder) if config.systems else None
    retrieval = Retrieval(config, task, data, folder)
    conditions = retrieval.conditions()
    print(results_table(conditions))
    systems = {each["system"] for each in conditions}
    record = replace(record, extent={**record.extent, "systems": systems})
    encoders = retrieval.encoders()
    configuration: dict[str, Any] = {"wrong_answers": config.wrong_answers}
    if config.ready or config.rerank:
        configuration |= {"ready": without_paths(config.ready), "rerank": without_paths(config.rerank)}
    for name, experiment in (retrieval.apart | retrieval.together).items():
        configuration[name] = experiment.configuration
    record.write(
        {
            "title": task.dataset.description.title,
            "dataset": task.dataset.description.name,
            "variant": task.dataset.variant,
            "embeddings": data.word_vectors.name if data else ", ".join(encoders),
            "encoders": encoders,
            "data": data.data_hash if data else content_hash(task.answers["test"]),
            "command": clean_command(),
            "seeds": config.seeds,
            "collection": {split: len(task.answers[split]) for split in SPLITS},
            "questions": questions,
            "question_ids": task.questions["test"]["question_id"].tolist(),
            "configuration": configuration,
            "conditions": conditions,
        }
    )


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
