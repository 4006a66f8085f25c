"""What the retrieval study searches: collections of answers, questions, and a training table of both."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.data_prep import Dataset
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.search.index import AnswerIndex
from answer_ranking.ranking.search.manifest import NAME

APART = ("squad-sent",)
"""Data sets whose splits have a collection each; the others have one of the texts of all splits."""
FIRST = 100
"""How many answers a search gives."""


@dataclass(frozen=True)
class Task:
    """Questions, and the collections in which their answers are to be found, by split."""

    dataset: Dataset
    answers: dict[str, pd.DataFrame]  # candidate_id, candidate
    questions: dict[str, pd.DataFrame]  # question_id, question
    correct: dict[str, dict[str, dict[str, int]]]  # as pytrec_eval has it: question, answer, 1


def make_task(dataset: Dataset, most: Mapping[str, int]) -> Task:
    """Draw at most so many questions of a split, each with a correct answer.

    Equal texts are one answer of a collection.
    """
    every = pd.concat([dataset.splits[name]["candidate"] for name in most]).unique()
    answers, questions, correct = {}, {}, {}
    for name, n_questions in most.items():
        table = dataset.splits[name]
        texts = table["candidate"].unique() if dataset.description.name in APART else every
        ids = [f"a{number}" for number in range(1, len(texts) + 1)]
        answers[name] = pd.DataFrame({"candidate_id": ids, "candidate": texts})
        questions[name], correct[name] = draw_questions(table, answers[name], n_questions)
    return Task(dataset, answers, questions, correct)


def draw_questions(
    table: pd.DataFrame, answers: pd.DataFrame, most: int
) -> tuple[pd.DataFrame, dict[str, dict[str, int]]]:
    """Draw questions with a correct answer; gives them, and the correct answers of a collection."""
    right = table[table["label"] == 1]
    questions = right[["question_id", "question"]].drop_duplicates("question_id")
    drawn = np.random.default_rng(0).permutation(len(questions))[:most]
    questions = questions.iloc[np.sort(drawn)].reset_index(drop=True)
    found = right[["question_id", "candidate"]].merge(answers, how="left", on="candidate")
    correct: dict[str, dict[str, int]] = {question: {} for question in questions["question_id"]}
    for question, answer in zip(found["question_id"], found["candidate_id"], strict=True):
        if question in correct:
            correct[question][answer] = 1
    return questions, correct


def content_hash(table: pd.DataFrame) -> str:
    """Name the content of a table: what is made from another one has another file."""
    rows = pd.util.hash_pandas_object(table, index=False).to_numpy()
    return hashlib.sha256(rows).hexdigest()[:12]


def indexed(ranker: Ranker | None, task: Task, split: str, folder: Path) -> AnswerIndex:
    """Open the index of a split's collection, or build it, or go on with building it."""
    answers = task.answers[split]
    collection = split if task.dataset.description.name in APART else "all"
    folder /= f"index-{collection}-{content_hash(answers)}"
    if (folder / NAME).exists():
        index = AnswerIndex.open(folder)
        if ranker is not None:
            index.ranker = ranker
        return index
    return AnswerIndex.build(ranker, answers, folder)


def training_table(task: Task, split: str, index: AnswerIndex, number: int) -> pd.DataFrame:
    """Give each question its correct answers and wrong ones of the collection: BM25's best and others."""
    rng, rows = np.random.default_rng(0), []
    asked, answers = task.questions[split], task.answers[split]
    text_of = answers.set_index("candidate_id")["candidate"].to_dict()
    ids = answers["candidate_id"].to_numpy(object)
    best = index.search(asked, FIRST, "bm25").groupby("question_id")["candidate_id"].agg(list)
    for question in asked.itertuples():
        right = task.correct[split][question.question_id]
        wrong = [each for each in best.get(question.question_id, []) if each not in right]
        hard = wrong[: number // 2]
        taken = {*right, *hard}
        drawn = rng.choice(ids, min(number + len(taken), len(ids)), replace=False)
        others = [each for each in drawn if each not in taken][: number - len(hard)]
        for each in (*right, *hard, *others):
            label = int(each in right)
            rows.append((question.question_id, question.question, each, text_of[each], label))
    return pd.DataFrame(rows, columns=["question_id", "question", "candidate_id", "candidate", "label"])
