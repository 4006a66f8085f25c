"""SQuAD-sent: questions of SQuAD, candidates are the paragraph's sentences (Bonadiman and Moschitti 2020)."""

import json
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from answer_ranking.data_prep.description import DataFile, DatasetDescription
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.readers.rows import TableRows, refuse_malformed, split_by_article
from answer_ranking.data_prep.readers.sentences import split_sentences


def read_squad(text: str, where: str | Path, cache_home: str | Path | None = None) -> pd.DataFrame:
    """Read SQuAD's JSON, version 1.1 or 2.0, as a task of choosing the sentence that holds the answer.

    The candidates of a question are the sentences of its paragraph, in their order (see `split_sentences`).
    The one in which the answer span begins is correct. Where several annotators answered, the first one's
    span counts: the paper prints the same figure for MAP and MRR, so that it has one correct sentence per
    question. An unanswerable question of version 2.0 has no correct candidate, but counts. The table has a
    further column `article`, the article's title.
    """
    with refuse_malformed(where, "not SQuAD's JSON"):
        paragraphs = [
            (_string(article["title"]), _string(paragraph["context"]), paragraph["qas"])
            for article in json.loads(text)["data"]
            for paragraph in article["paragraphs"]
        ]
    sentences = split_sentences([context for _, context, _ in paragraphs], cache_home)
    rows = TableRows(where, unit="pair")
    number_in: Counter[str] = Counter()
    for (title, context, questions), boundaries in zip(paragraphs, sentences, strict=True):
        number = number_in[title]
        number_in[title] += 1
        texts = [context[begin:end] for begin, end in boundaries]
        begins = [begin for begin, _ in boundaries]
        place = f"{where}, article {title!r}, paragraph {number + 1}"
        with refuse_malformed(place, "not SQuAD's questions"):
            asked = [
                (_string(each["id"]), " ".join(_string(each["question"]).split()), _answer(each, context))
                for each in questions
            ]
        for identifier, question, start in asked:
            rows.n_questions += 1
            correct = -1 if start is None else bisect_right(begins, start) - 1
            for i, sentence in enumerate(texts):
                name = f"{title}/{number}/{i}"
                rows.add(None, identifier, question, name, sentence, i == correct, article=title)
    return rows.table()


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a text")
    return value


def _answer(record: dict, context: str) -> int | None:
    """Say where the first annotator's answer begins, and check that it stands there."""
    if not record["answers"]:
        return None
    answer, start = _string(record["answers"][0]["text"]), record["answers"][0]["answer_start"]
    if not isinstance(start, int) or start < 0 or context[start : start + len(answer)] != answer:
        raise ValueError(f"the answer of question {record['id']!r} does not stand at {start!r:.40}")
    return start


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    train_path = f"squad/train-{variant}.json"
    train, dev = split_by_article(read_squad(files(train_path), train_path))
    return train, dev, read_squad(files("squad/dev-v2.0.json"), "squad/dev-v2.0.json")


_SITE = "https://rajpurkar.github.io/SQuAD-explorer/dataset"
_MIRROR = "https://raw.githubusercontent.com/rajpurkar/SQuAD-explorer/master/dataset"


def _file(name: str, sha256: str, size: int, **others: Any) -> DataFile:
    urls = (f"{_SITE}/{name}.json", f"{_MIRROR}/{name}.json")
    return DataFile(f"squad/{name}.json", sha256, size, urls, **others)


def _rebuilt(name: str, sha256: str, size: int) -> DataFile:
    return DataFile(f"squad/{name}.rebuilt.json", sha256, size)


SQUAD_SENT = DatasetDescription(
    name="squad-sent",
    title="SQuAD-sent",
    variants=("v1.1", "v2.0"),
    order_is_signal=True,
    source="Rajpurkar et al. 2016 and 2018, https://rajpurkar.github.io/SQuAD-explorer/",
    licence="CC BY-SA 4.0",
    files=(
        _file(
            "train-v1.1",
            sha256="3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955",
            size=30288272,
            variants=("v1.1",),
            substitute=_rebuilt(
                "train-v1.1", "b2f89bc0d3c238a36a9d5d380c81e28baa617201a521112865708af432282a53", 31593593
            ),
        ),
        _file(
            "train-v2.0",
            sha256="68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002",
            size=42123633,
            variants=("v2.0",),
        ),
        _file(
            "dev-v2.0",
            sha256="80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8",
            size=4370528,
            substitute=_rebuilt(
                "dev-v2.0", "bec18e9fa2688e1fe4a4ee4f33b1b2d218eda1090cbb3ebb5d4ae12f3f073ade", 3892306
            ),
        ),
    ),
    read=_read,
    notes=(
        "Test is the development set of v2.0, unanswerable questions included; dev is 10 % of the training "
        "questions, whole articles drawn with seed 2020. The paper trains on v2.0 (variant v2.0); "
        "v1.1, the first, has answerable questions only.",
        "Sentences by the sentencizer of spaCy's blank English pipeline. The paper's own splitter is not "
        "named beyond spaCy: it has 63,959 test sentences.",
        "Where squad/train-v1.1.rebuilt.json stands in for the official file, an answer is taken to stand "
        "where its text occurs first: for 8,214 of 87,599 questions it occurs in other sentences, too. On "
        "dev-v1.1, whose positions are known, that rule is wrong for 289 of 10,570.",
        "The sentences stand in the paragraph's own order, which is a fair signal.",
    ),
)
