"""SQuAD-sent: questions of SQuAD, candidates are the paragraph's sentences (Bonadiman and Moschitti 2020)."""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas as pd

from answer_ranking.base.files import cache_folder, cached_arrays
from answer_ranking.data_prep.description import DatasetDescription, known_files
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.readers.rows import TableRows, refuse_malformed, split_by_article

# Raise it when the rule of `split_sentences` changes, so that no older cache is read.
_FORMAT = 2


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


def split_sentences(
    texts: Sequence[str], cache_home: str | Path | None = None
) -> list[list[tuple[int, int]]]:
    """Find the sentences of texts with the `sentencizer` of spaCy's blank English pipeline.

    It ends a sentence behind `.`, `!`, `?` and their like in other scripts, wherever the tokenizer makes
    them a token of their own, and so needs no model package. The outcome is kept in the cache under the
    texts' checksum and spaCy's version: SQuAD's 20,000 paragraphs take half a minute.

    Returns, for every text, the begin and end of its sentences in characters, without the white space around
    them. A text of white space only has none.
    """
    distinct = list(dict.fromkeys(texts))
    key = hashlib.sha256(json.dumps([_FORMAT, version("spacy"), distinct]).encode()).hexdigest()[:32]
    path = cache_folder(cache_home) / "sentences" / f"{key}.npz"

    def make() -> dict[str, np.ndarray]:
        found = _find(distinct)
        boundaries = np.array(list(chain.from_iterable(found)), np.int64).reshape(-1, 2)
        return {"boundaries": boundaries, "counts": np.array(list(map(len, found)), np.int64)}

    def restore(arrays: dict[str, np.ndarray]) -> dict[str, list[tuple[int, int]]]:
        pairs = map(tuple, arrays["boundaries"].tolist())
        counts = arrays["counts"].tolist()
        return {text: list(islice(pairs, n)) for text, n in zip(distinct, counts, strict=True)}

    of_text = cached_arrays(path, make, restore)
    return [of_text[text] for text in texts]


def _find(texts: list[str]) -> list[list[tuple[int, int]]]:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = max([pipeline.max_length, *map(len, texts)])
    found = []
    for text, doc in zip(texts, pipeline.pipe(texts), strict=True):
        pairs = []
        for sentence in doc.sents:
            begin, end = sentence.start_char, sentence.end_char
            inner = text[begin:end]
            if inner.strip():
                pairs.append((begin + len(inner) - len(inner.lstrip()), begin + len(inner.rstrip())))
        found.append(pairs)
    return found


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    train_path = f"squad/train-{variant}.json"
    train, dev = split_by_article(read_squad(files(train_path), train_path))
    return train, dev, read_squad(files("squad/dev-v2.0.json"), "squad/dev-v2.0.json")


SQUAD_SENT = DatasetDescription(
    name="squad-sent",
    title="SQuAD-sent",
    variants=("v1.1", "v2.0"),
    order_is_signal=True,
    source="Rajpurkar et al. 2016 and 2018, https://rajpurkar.github.io/SQuAD-explorer/",
    licence="CC BY-SA 4.0",
    files=known_files("squad/train-v1.1.json", "squad/train-v2.0.json", "squad/dev-v2.0.json"),
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
