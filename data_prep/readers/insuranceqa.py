"""InsuranceQA: questions about insurance, candidates are answers of experts (Feng et al. 2015)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.base.errors import damaged
from answer_ranking.data_prep.description import DatasetDescription, known_files
from answer_ranking.data_prep.readers.rows import read_pairs
from answer_ranking.data_prep.tables import COLUMNS, numbered_lines


@dataclass(frozen=True)
class PooledQuestion:
    """One line of a question file: text or `idx_` tokens, labels of answers, the kind of insurance."""

    question: str
    correct: tuple[str, ...]
    pool: tuple[str, ...] = ()
    domain: str = ""


# The fields of the released files, in their order.
V1_TRAIN = ("question", "correct")
V1_POOL = ("correct", "question", "pool")
V2_TEXT = ("domain", "question", "correct")
V2_POOL = ("domain", "question", "correct", "pool")


def read_questions(text: str, where: str | Path, fields: Sequence[str]) -> list[PooledQuestion]:
    """Read a question file: one question a line, fields separated by tabs, labels by blanks.

    `fields` is `V1_TRAIN`, `V1_POOL`, `V2_TEXT` or `V2_POOL`. A label that a line names twice counts once.
    """
    questions = []
    for number, line in numbered_lines(text):
        parts = line.split("\t")
        if len(parts) != len(fields) or not all(map(str.strip, parts)):
            raise damaged(f"{where}, line {number}", f"not the fields {', '.join(fields)}")
        values = {"pool": "", "domain": ""} | dict(zip(fields, parts, strict=True))
        correct, pool = _distinct(values["correct"]), _distinct(values["pool"])
        questions.append(PooledQuestion(values["question"], correct, pool, values["domain"]))
    return questions


def _distinct(labels: str) -> tuple[str, ...]:
    # V1 names some correct answers twice.
    return tuple(dict.fromkeys(labels.split()))


def spell_out(tokens: str, vocabulary: Mapping[str, str], where: str | Path) -> str:
    """Turn `idx_` numbers into words, a blank between two tokens."""
    try:
        return " ".join(map(vocabulary.__getitem__, tokens.split()))
    except KeyError as error:
        what = f"{error.args[0]} is not in the vocabulary"
        raise damaged(where, what, "both files") from error


def pooled_table(
    questions: Sequence[PooledQuestion], answers: Mapping[str, str], split: str, where: str | Path
) -> pd.DataFrame:
    """Make the table of a split, in which every question's candidates hold all its correct answers.

    A pool keeps its size: a correct answer that is missing takes the place of the pool's last wrong one. A
    question without a pool has its correct answers for candidates. Candidates stand in the order of their
    labels, which says nothing about them, unlike an order in which correct answers stand first or were added.
    The texts are objects of Python that the rows share: as pandas' own strings they would be copied into each
    of a million rows.
    """
    if not questions:
        raise damaged(where, "there are no questions")
    known = {label: label for label in answers}
    columns: dict[str, list] = {name: [] for name in COLUMNS}
    for line, question in enumerate(questions, start=1):
        for label in _full_pool(question):
            if label not in known:
                what = f"no answer has the label {label}"
                raise damaged(f"{where}, line {line}", what, "both files")
            columns["candidate_id"].append(known[label])
            columns["candidate"].append(answers[label])
            columns["label"].append(int(label in question.correct))
        n_more = len(columns["label"]) - len(columns["question"])
        columns["question_id"] += [f"{split}-{line}"] * n_more
        columns["question"] += [question.question] * n_more
    return pd.DataFrame(columns, dtype=object).astype({"label": np.int64})


def _full_pool(question: PooledQuestion) -> list[str]:
    wrong = [label for label in question.pool if label not in question.correct]
    n_wrong = max(0, len(question.pool) - len(question.correct))
    pool = [*question.correct, *wrong[:n_wrong]]
    # Labels are whole numbers: of two the longer one is the larger.
    return sorted(pool, key=lambda label: (len(label), label))


def _with_texts(
    pooled: Sequence[PooledQuestion], texts: Sequence[PooledQuestion], where: str
) -> list[PooledQuestion]:
    """Give the questions of an encoded file their texts, which another file holds in the same order."""
    if len(pooled) != len(texts):
        raise damaged(where, f"{len(texts)} questions, not {len(pooled)}", "both files")
    questions = []
    for line, (one, other) in enumerate(zip(pooled, texts, strict=True), start=1):
        if (one.domain, one.correct) != (other.domain, other.correct):
            what = "another question than in the encoded file"
            raise damaged(f"{where}, line {line}", what, "both files")
        questions.append(replace(one, question=other.question))
    return questions


def _read_v2(variant: str, text_of: Callable[[str], str]) -> tuple[pd.DataFrame, ...]:
    answers = read_pairs(text_of(_V2_ANSWERS), _V2_ANSWERS)
    tables = []
    for split, path in _V2_POOLS.items():
        pooled = read_questions(text_of(path), path, V2_POOL)
        texts = read_questions(text_of(_V2_TEXTS[split]), _V2_TEXTS[split], V2_TEXT)
        questions = _with_texts(pooled, texts, _V2_TEXTS[split])
        tables.append(_split_table(questions, answers, split, path, variant))
    return tuple(tables)


def _read_v2_tokens(variant: str, text_of: Callable[[str], str]) -> tuple[pd.DataFrame, ...]:
    fields = dict.fromkeys(_V2_POOLS, V2_POOL)
    return _read_tokens(variant, text_of, _V2_VOCABULARY, _V2_TOKENS, _V2_POOLS, fields)


def _read_v1(variant: str, text_of: Callable[[str], str]) -> tuple[object, ...]:
    fields = {**dict.fromkeys(_V1_QUESTIONS, V1_POOL), "train": V1_TRAIN}
    train, dev, test1, test2 = _read_tokens(
        variant, text_of, _V1_VOCABULARY, _V1_ANSWERS, _V1_QUESTIONS, fields
    )
    return train, dev, test1, {"test2": test2}


def _read_tokens(
    variant: str,
    text_of: Callable[[str], str],
    vocabulary_path: str,
    answers_path: str,
    question_paths: Mapping[str, str],
    fields: Mapping[str, Sequence[str]],
) -> tuple[pd.DataFrame, ...]:
    vocabulary = read_pairs(text_of(vocabulary_path), vocabulary_path)
    encoded = read_pairs(text_of(answers_path), answers_path)
    answers = {label: spell_out(answer, vocabulary, answers_path) for label, answer in encoded.items()}
    tables = []
    for split, path in question_paths.items():
        questions = [
            replace(each, question=spell_out(each.question, vocabulary, path))
            for each in read_questions(text_of(path), path, fields[split])
        ]
        tables.append(_split_table(questions, answers, split, path, variant))
    return tuple(tables)


def _split_table(
    questions: Sequence[PooledQuestion], answers: Mapping[str, str], split: str, path: str, variant: str
) -> pd.DataFrame:
    if split == "train" and variant == "CORRECT":
        questions = [replace(each, pool=()) for each in questions]
    return pooled_table(questions, answers, split, path)


_ADDRESS = "https://github.com/shuzi/insuranceQA"
_LICENCE = '"provided as is and for research purpose only"'

_V2_POOLS = {
    split: f"insuranceqa/v2/InsuranceQA.question.anslabel.token.{size}.pool.solr.{name}.encoded"
    for split, size, name in (("train", 100, "train"), ("dev", 500, "valid"), ("test", 500, "test"))
}
_V2_TEXTS = {
    split: f"insuranceqa/v2/question.anslabel.en.{name}.tsv"
    for split, name in (("train", "train"), ("dev", "valid"), ("test", "test"))
}
_V2_ANSWERS = "insuranceqa/v2/label2answer.en.tsv"
_V2_TOKENS = "insuranceqa/v2/InsuranceQA.label2answer.token.encoded"
_V2_VOCABULARY = "insuranceqa/v2/vocabulary"
_V1_ANSWERS = "insuranceqa/v1/answers.label.token_idx"
_V1_VOCABULARY = "insuranceqa/v1/vocabulary"
_V1_QUESTIONS = {
    "train": "insuranceqa/v1/question.train.token_idx.label",
    **{
        split: f"insuranceqa/v1/question.{name}.label.token_idx.pool"
        for split, name in (("dev", "dev"), ("test", "test1"), ("test2", "test2"))
    },
}


_V2_NOTES = (
    "InsuranceQA V2 is not the V1 of the papers, and numbers on the two cannot be compared: V2 has 12,889 / "
    "2,000 / 2,000 questions where V1 has 12,887 / 1,000 / 1,800 and another 1,800, 27,413 answers where V1 "
    "has 24,981, one test split where V1 has two, and in its pools of 500 the wrong answers are those that a "
    "search engine finds for the question, where V1 drew them at random.",
    "The search engine's pools lack every correct answer of 408 of the 2,000 dev, 375 of the 2,000 test and "
    "4,578 of the 12,889 train questions. Here, as in V1, every pool has all of them, in the place of its "
    "last wrong answers.",
)

INSURANCEQA = DatasetDescription(
    name="insuranceqa",
    title="InsuranceQA V2",
    variants=("POOL-100", "CORRECT"),
    protocols={"pool-500": "answerable"},
    source=f"Feng et al. 2015, {_ADDRESS}; English text of the questions and answers: the field `en` of the "
    "data of https://github.com/chatopera/insuranceqa-corpus-zh",
    licence=f"{_LICENCE}; the package that carries the English text is under GPL 3.0",
    files=known_files(*_V2_POOLS.values(), *_V2_TEXTS.values(), _V2_ANSWERS),
    read=_read_v2,
    notes=_V2_NOTES,
)

INSURANCEQA_TOKENS = DatasetDescription(
    name="insuranceqa-tokens",
    title="InsuranceQA V2, released tokens",
    variants=INSURANCEQA.variants,
    protocols=INSURANCEQA.protocols,
    pretokenised=True,
    source=f"Feng et al. 2015, {_ADDRESS}",
    licence=_LICENCE,
    files=known_files(*_V2_POOLS.values(), _V2_TOKENS, _V2_VOCABULARY),
    read=_read_v2_tokens,
    notes=_V2_NOTES,
)

INSURANCEQA_V1 = DatasetDescription(
    name="insuranceqa-v1",
    title="InsuranceQA V1",
    protocols={"pool-500": "answerable"},
    pretokenised=True,
    source=f"Feng et al. 2015, {_ADDRESS}, folder V1",
    licence=_LICENCE,
    files=known_files(*_V1_QUESTIONS.values(), _V1_ANSWERS, _V1_VOCABULARY),
    read=_read_v1,
    notes=(
        "InsuranceQA V1 is the version of the papers. Its training questions come without pools: their "
        "candidates are their correct answers alone, and wrong ones come from the other questions' answers. "
        "Its pools of 500 were drawn with replacement; an answer that was drawn twice is one candidate here.",
    ),
)
