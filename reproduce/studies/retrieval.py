"""The retrieval study: the right answer among all answers of a data set, not among given candidates.

    python reproduce/studies/retrieval.py --dataset wikiqa --record retrieval/wikiqa

Systems: BM25; HyperQA, CosineQA and QA-BiLSTM, whose nearest points are the answers; BM25 and HyperQA fused
by reciprocal ranks; and CTRN, AP-CNN and Cosinet, which re-rank the first answers of BM25 or of the fusion,
whichever is better on dev. All are trained on the same questions with the same wrong answers out of the
collection, half of them BM25's best, half drawn at random, with one setting each. Dev chooses the epoch, and
for the re-rankers the number of answers that they rank.

Measured on test: recall@1, @10, @100 and MRR@10, by trec_eval's code; a paired randomisation test of MRR@10
against BM25, corrected after Holm; and the milliseconds of one question at a time. After an interruption the
same command goes on. When all is trained, it only measures: run it again on a quiet machine to time it.
"""

import hashlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.files import check_writable, held_folder
from answer_ranking.data_prep import Dataset, load_dataset
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.engine import TrainingData
from answer_ranking.evaluation.records import record_path, refuse_fewer_seeds, save_study
from answer_ranking.evaluation.runs import read_run, write_run
from answer_ranking.evaluation.studies.retrieval import BASELINE, compare, measure, results_table
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.reproduce.experiments import attentive_pooling, cosinet, ctrn, hyperqa
from answer_ranking.reproduce.experiments.options import RESULTS, DataOptions, Experiment
from answer_ranking.reproduce.experiments.run import Run, clean_command, encode
from answer_ranking.reproduce.presets import scores_of
from answer_ranking.training.options import check_range

SPLITS = ("dev", "test")
APART = ("squad-sent",)
"""Data sets whose splits have a collection each; the others have one of the texts of all splits."""
FUSION = "BM25 and HyperQA"
FIRST = 100
DEPTHS = (10, 30, 100)
_TIMED = 50

Systems = dict[str, tuple[Callable[..., Any], Experiment]]


_System = Literal["HyperQA", "CosineQA", "QA-BiLSTM", "CTRN", "AP-CNN", "Cosinet"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """The options."""

    dataset: str
    """Name of the data set: wikiqa, insuranceqa or squad-sent."""
    systems: tuple[_System, ...] = get_args(_System)
    """The models to train; BM25 needs no training."""
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
    data_home: Path | None = None
    """Folder of the data sets; else QA_DATA_HOME, else the user's cache."""
    record: str | None = None
    """Keep the numbers under this name, such as retrieval/wikiqa."""
    results: Path = RESULTS
    """With --record: folder of the numbers."""

    def __post_init__(self) -> None:
        find_description(self.dataset)
        check_range(self, "train_questions", "dev_questions", "test_questions", at_least=2)
        check_range(self, "seeds", "epochs", at_least=1, at_most=1000)
        check_range(self, "wrong_answers", at_least=2)


@dataclass(frozen=True)
class Task:
    """Questions, and the collections in which their answers are to be found, by split."""

    dataset: Dataset
    answers: dict[str, pd.DataFrame]  # candidate_id, candidate
    questions: dict[str, pd.DataFrame]  # question_id, question
    correct: dict[str, dict[str, dict[str, int]]]  # as pytrec_eval has it: question, answer, 1


def systems(config: Config) -> tuple[Systems, Systems]:
    """State one setting of every model: those that encode texts apart, and those that re-rank."""
    data = DataOptions(dataset=config.dataset, embeddings=config.embeddings, data_home=config.data_home)
    scaled, crossed = attentive_pooling.ScaledData(**vars(data)), ctrn.CTRNData(**vars(data))
    fit = {"epochs": config.epochs, "patience": 3}
    own = {"negatives_from": "own", "sampled_negatives": config.wrong_answers}
    apart: Systems = {
        "HyperQA": (hyperqa.train, hyperqa.hyperqa(data, **fit)),
        "CosineQA": (hyperqa.train, hyperqa.cosineqa(data, learning_rate=0.3, **fit)),
        "QA-BiLSTM": (
            attentive_pooling.train,
            attentive_pooling.attentive_pooling("qa-bilstm", scaled, **own, **fit),
        ),
    }
    together: Systems = {
        "CTRN": (ctrn.train, ctrn.ctrn("ctrn", crossed, **fit)),
        "AP-CNN": (
            attentive_pooling.train,
            attentive_pooling.attentive_pooling("ap-cnn", scaled, **own, **fit),
        ),
        "Cosinet": (cosinet.train, cosinet.cosinet("cosinet", data)),
    }
    apart, together = (
        {name: of_name for name, of_name in each.items() if name in config.systems}
        for each in (apart, together)
    )
    return apart, together


def make_task(config: Config) -> Task:
    """Draw the questions that have a correct answer; equal texts are one answer of a collection."""
    dataset = load_dataset(config.dataset, data_home=config.data_home)
    tables = {name: dataset.splits[name] for name in ("train", *SPLITS)}
    texts = {name: table["candidate"].unique() for name, table in tables.items()}
    if config.dataset not in APART:
        texts = dict.fromkeys(tables, pd.unique(np.concatenate(list(texts.values()))))
    answers, questions, correct = {}, {}, {}
    for name, table in tables.items():
        ids = [f"a{number}" for number in range(1, len(texts[name]) + 1)]
        answers[name] = pd.DataFrame({"candidate_id": ids, "candidate": texts[name]})
        right = table[table["label"] == 1]
        asked = right[["question_id", "question"]].drop_duplicates("question_id")
        most = getattr(config, f"{name}_questions")
        drawn = np.random.default_rng(0).permutation(len(asked))[:most]
        questions[name] = asked.iloc[np.sort(drawn)].reset_index(drop=True)
        right = right[right["question_id"].isin(questions[name]["question_id"])]
        number = pd.Index(texts[name]).get_indexer(right["candidate"])
        correct[name] = {question: {} for question in questions[name]["question_id"]}
        for question, place in zip(right["question_id"], number, strict=True):
            correct[name][question][ids[place]] = 1
    return Task(dataset, answers, questions, correct)


def content_hash(table: pd.DataFrame) -> str:
    """Name the content of a table: what is made from another one has another file."""
    return hashlib.sha256(pd.util.hash_pandas_object(table, index=False).to_numpy()).hexdigest()[:12]


def indexed(ranker: Ranker | None, task: Task, split: str, folder: Path) -> AnswerIndex:
    """Open the index of a split's collection, or build it, or go on with building it."""
    answers = task.answers[split]
    folder /= f"index-{split if task.dataset.description.name in APART else 'all'}-{content_hash(answers)}"
    if (folder / "manifest.json").exists():
        return AnswerIndex.open(folder)
    return AnswerIndex.build(ranker, answers, folder)


def training_table(task: Task, split: str, index: AnswerIndex, number: int) -> pd.DataFrame:
    """Give each question its correct answers and wrong ones of the collection: BM25's best and others."""
    rng, rows = np.random.default_rng(0), []
    ids, texts = (task.answers[split][name].to_numpy(object) for name in ("candidate_id", "candidate"))
    text_of = dict(zip(ids, texts, strict=True))
    best = index.search(task.questions[split], FIRST, "bm25").groupby("question_id")["candidate_id"].agg(list)
    for question in task.questions[split].itertuples():
        right = task.correct[split][question.question_id]
        hard = [each for each in best.get(question.question_id, []) if each not in right][: number // 2]
        taken = {*right, *hard}
        drawn = rng.choice(ids, min(number + len(taken), len(ids)), replace=False)
        drawn = [each for each in drawn if each not in taken][: number - len(hard)]
        rows += [(question.question_id, question.question, each, text_of[each], 1) for each in right]
        rows += [(question.question_id, question.question, each, text_of[each], 0) for each in hard + drawn]
    return pd.DataFrame(rows, columns=["question_id", "question", "candidate_id", "candidate", "label"])


def training_data(task: Task, config: Config, folder: Path) -> TrainingData:
    """Encode what is trained on, and what chooses the epoch."""
    tables = {
        split: training_table(task, split, indexed(None, task, split, folder), config.wrong_answers)
        for split in ("train", "dev")
    }
    dataset = replace(task.dataset, train=tables["train"], dev=tables["dev"], test=tables["dev"])
    options = DataOptions(dataset=config.dataset, embeddings=config.embeddings, data_home=config.data_home)
    return encode(replace(dataset, further_tests={}), options)


def trained(system: str, systems: Systems, data: TrainingData, config: Config) -> Iterator[Path]:
    """Train the seeds of a model, or take up what was trained; gives the folder of each seed."""
    train, experiment = systems[system]
    experiment = experiment.changed(output=config.output / "retrieval", seeds=config.seeds)
    run = Run("retrieval", experiment, data)
    for number in run.seeds:
        with run.seed(number) as seed:
            folder = run.folder / f"seed-{number}"
            if not (folder / "model" / "vocabulary.json").exists():  # which is written last
                model, _ = train(experiment, data, seed)
                Ranker(model, data.vocabulary, name=data.title, vectors=experiment.data.sources).save(
                    folder / "model"
                )
        yield folder


def kept(folder: Path, name: str, asked: pd.DataFrame, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Read a ranking, or make and write it: question_id, candidate_id and rank.

    `asked` is what is ranked, the questions or their first answers; another one has another file.
    """
    path = folder / f"{name}-{content_hash(asked)}.run"
    if not path.exists():
        made = make()
        write_run(
            path, made["question_id"].tolist(), made["candidate_id"].tolist(), -made["rank"].to_numpy(float)
        )
    return read_run(path)[["question_id", "candidate_id", "rank"]]


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
    return both.assign(rank=both.groupby("question_id").cumcount() + 1)[
        ["question_id", "candidate_id", "rank"]
    ]


def milliseconds(search: Callable[[str], Any], questions: pd.Series) -> float:
    """Time one question at a time, the median; some go before."""
    times = []
    for text in [*questions[:5], *questions[:_TIMED]]:
        start = time.perf_counter()
        search(text)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[5:])


@dataclass(frozen=True)
class System:
    """What a system found, by split a ranking per seed (BM25 has one), and how it finds the best ten."""

    rankings: dict[str, list[pd.DataFrame]]
    search: Callable[[str], pd.DataFrame]
    chosen: dict[str, Any] = field(default_factory=dict)

    def of_seed(self, split: str, number: int) -> pd.DataFrame:
        """Give the ranking of a seed."""
        return self.rankings[split][number % len(self.rankings[split])]


def by_words(task: Task, folder: Path) -> System:
    """Find answers by BM25."""
    indexes = {split: indexed(None, task, split, folder) for split in SPLITS}
    found = {split: [index.search(task.questions[split], FIRST, "bm25")] for split, index in indexes.items()}
    return System(found, partial(indexes["test"].search, k=10, first_stage="bm25"))


def by_points(name: str, apart: Systems, task: Task, data: TrainingData, config: Config) -> dict[str, System]:
    """Find the nearest points of a model, and, for HyperQA, the fusion with BM25."""
    stages = {name: "nearest"} | ({FUSION: "both"} if name == "HyperQA" else {})
    found: dict[str, System] = {}
    for place in trained(name, apart, data, config):
        ranker = Ranker.load(place / "model")
        indexes = {split: indexed(ranker, task, split, place) for split in SPLITS}
        for each, stage in stages.items():
            search = partial(indexes["test"].search, k=10, first_stage=stage)
            system = found.setdefault(each, System({split: [] for split in SPLITS}, search))
            for split, index in indexes.items():
                asked = task.questions[split]
                find = partial(index.search, asked, FIRST, stage)
                system.rankings[split].append(kept(place, f"{split}-{stage}", asked, find))
    return found


def by_reranking(
    name: str, together: Systems, first: System, stage: str, task: Task, data: TrainingData, config: Config
) -> System:
    """Re-rank the first answers of another system, as many of them as is best on dev."""
    by_depth: dict[int, dict[str, list[pd.DataFrame]]] = {d: {s: [] for s in SPLITS} for d in DEPTHS}
    search = None
    for number, place in enumerate(trained(name, together, data, config)):
        ranker = Ranker.load(place / "model")
        search = search or partial(first.search, rerank=ranker)
        for split in SPLITS:
            given = first.of_seed(split, number)
            again = kept(place, f"{split}-{stage}", given, partial(rerank, ranker, given, task, split))
            for depth in DEPTHS:
                by_depth[depth][split].append(at_depth(given, again, depth))
    on_dev = {depth: mrr(each["dev"], task, "dev") for depth, each in by_depth.items()}
    depth = max(on_dev, key=on_dev.__getitem__)
    assert search is not None
    chosen = {"depth": depth, "dev_mrr@10_by_depth": on_dev}
    return System(by_depth[depth], partial(search, rerank_depth=depth), chosen)


def main(config: Config) -> None:
    """Train, search, re-rank, measure, and write the record."""
    path = record_path(config.results, config.record) if config.record else None
    if path:
        check_writable(path.parent)
        refuse_fewer_seeds(path, config.dataset, config.seeds)
    folder = config.output / "retrieval" / config.dataset
    with held_folder(folder):
        task = make_task(config)
        data = training_data(task, config, folder)
        apart, together = systems(config)
        found = {BASELINE: by_words(task, folder)}
        for name in apart:
            found |= by_points(name, apart, task, data, config)
            print(f"done: {name}", flush=True)
        firsts = [name for name in (BASELINE, FUSION) if name in found]
        on_dev = {name: mrr(found[name].rankings["dev"], task, "dev") for name in firsts}
        first = max(on_dev, key=on_dev.__getitem__)
        for name in together:
            stage = "bm25" if first == BASELINE else "fused"
            title = f"{first}, then {name}"
            found[title] = by_reranking(name, together, found[first], stage, task, data, config)
            print(f"done: {title}", flush=True)
        measured = {
            name: {
                split: [measure(each, task.correct[split]) for each in rankings]
                for split, rankings in system.rankings.items()
            }
            for name, system in found.items()
        }
        asked = task.questions["test"]["question"]
        conditions = [
            {"system": name, **found[name].chosen, **row}
            | {"milliseconds": milliseconds(found[name].search, asked)}
            for name, row in compare(measured).items()
        ]
    print(results_table(conditions))
    if path:
        refuse_fewer_seeds(path, config.dataset, config.seeds)
        save_study(record(task, config, data, apart | together, conditions), path)
        print(f"wrote {path}")


def mrr(rankings: list[pd.DataFrame], task: Task, split: str) -> float:
    """Average MRR@10 over the seeds."""
    return statistics.mean(measure(each, task.correct[split])["mrr@10"].mean() for each in rankings)


def record(
    task: Task,
    config: Config,
    data: TrainingData,
    systems: Systems,
    conditions: list[dict[str, Any]],
) -> dict[str, Any]:
    """Collect what a reader needs to repeat the study."""
    return {
        "title": task.dataset.description.title,
        "dataset": task.dataset.description.name,
        "variant": task.dataset.variant,
        "embeddings": data.word_vectors.name,
        "data": data.data_hash,
        "command": clean_command(),
        "seeds": config.seeds,
        "collection": {split: len(task.answers[split]) for split in SPLITS},
        "questions": {split: len(each) for split, each in task.questions.items()},
        "question_ids": task.questions["test"]["question_id"].tolist(),
        "configuration": {
            "wrong_answers": config.wrong_answers,
            **{name: experiment.configuration for name, (_, experiment) in systems.items()},
        },
        "conditions": conditions,
    }


if __name__ == "__main__":
    run_command(lambda: main(tyro.cli(Config, description=__doc__)))
