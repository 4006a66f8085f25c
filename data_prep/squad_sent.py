"""SQuAD-sent: questions of SQuAD, candidates are the paragraph's sentences (Bonadiman and Moschitti 2020)."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from data_prep.data_files import DataFiles
from data_prep.description import DataFile, DatasetDescription
from data_prep.errors import UserError
from data_prep.sentences import split_sentences
from data_prep.tables import COLUMNS, check_table

_DEV_SEED = 2020
_DEV_SHARE = 0.1


def read_squad(text: str, where: str | Path, cache_home: str | Path | None = None) -> pd.DataFrame:
    """Read SQuAD's JSON, version 1.1 or 2.0, as a task of choosing the sentence that holds the answer.

    The candidates of a question are the sentences of its paragraph, in their order (see `split_sentences`).
    The one in which the answer span begins is correct. Where several annotators answered, the first one's
    span counts: the paper prints the same figure for MAP and MRR, so that it has one correct sentence per
    question. An unanswerable question of version 2.0 has no correct candidate, but counts.

    Args:
        text: the file's text.
        where: its name, for messages.
        cache_home: the cache folder, see `split_sentences`.

    Returns:
        The checked table, with a further column `article` (str), the article's title.

    Raises:
        UserError: no JSON, not in SQuAD's form, an answer that does not stand where the file says it does, or
            a question that occurs twice.

    Example:
        >>> question = {"id": "1", "question": "When?", "answers": [{"text": "noon", "answer_start": 13}]}
        >>> paragraph = {"context": "It rains. At noon.", "qas": [question]}
        >>> text = json.dumps({"data": [{"title": "Rain", "paragraphs": [paragraph]}]})
        >>> read_squad(text, "a.json", "/tmp/cache")[["candidate", "label"]].values.tolist()
        [['It rains.', 0], ['At noon.', 1]]
    """
    try:
        articles = json.loads(text)["data"]
        paragraphs = [
            (_string(article["title"]), _string(paragraph["context"]), paragraph["qas"])
            for article in articles
            for paragraph in article["paragraphs"]
        ]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{where}: not SQuAD's JSON ({error!r:.100}). Fetch the file again.") from error
    sentences = split_sentences([context for _, context, _ in paragraphs], cache_home)
    columns: dict[str, list] = {name: [] for name in (*COLUMNS, "article")}
    n_empty = 0
    number_in: dict[str, int] = {}
    for (title, context, questions), boundaries in zip(paragraphs, sentences, strict=True):
        number = number_in[title] = number_in.get(title, -1) + 1
        texts = [context[begin:end] for begin, end in boundaries]
        names = [f"{title}/{number}/{i}" for i in range(len(texts))]
        begins = np.array([begin for begin, _ in boundaries])
        try:
            asked = [
                (_string(each["id"]), " ".join(_string(each["question"]).split()), _answer(each, context))
                for each in questions
            ]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UserError(
                f"{where}, article {title!r}, paragraph {number + 1}: {error}. Fetch the file again."
            ) from error
        for identifier, question, start in asked:
            correct = -1 if start is None else int(np.searchsorted(begins, start, side="right")) - 1
            n_empty += not texts
            columns["question_id"] += [identifier] * len(texts)
            columns["question"] += [question] * len(texts)
            columns["candidate_id"] += names
            columns["candidate"] += texts
            columns["label"] += [int(i == correct) for i in range(len(texts))]
            columns["article"] += [title] * len(texts)
    article_of = dict(zip(columns["question_id"], columns["article"], strict=True))
    table = check_table(pd.DataFrame(columns, dtype=object), where, unit="pair")
    table["article"] = table["question_id"].map(article_of)
    table.attrs["questions_without_candidates"] = n_empty
    return table


def split_by_article(
    table: pd.DataFrame, share: float = _DEV_SHARE, seed: int = _DEV_SEED
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Set whole articles aside, drawn at random, until they hold a share of the questions.

    The paper sets 10 % of the training questions aside and does not say which. By article, no paragraph is
    on both sides.

    Args:
        table: with the column `article`.
        share: float in (0, 1), of the questions. Default 0.1.
        seed: int. Default 2020.

    Returns:
        The rest and the part set aside, each in its order.

    Raises:
        UserError: all questions are about one article.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"question_id": list("aabb"), "article": ["Rain"] * 2 + ["Sun"] * 2})
        >>> [len(part) for part in split_by_article(table)]
        [2, 2]
    """
    sizes = table.drop_duplicates("question_id")["article"].value_counts().sort_index()
    order = np.random.default_rng(seed).permutation(len(sizes))
    before = np.concatenate([[0], np.cumsum(sizes.to_numpy()[order])[:-1]])
    chosen = set(sizes.index[order[before < share * sizes.sum()]])
    if len(sizes) == len(chosen):
        raise UserError("all questions are about the articles that would be set aside. More are needed.")
    apart = table["article"].isin(chosen)
    rest, part = table[~apart].reset_index(drop=True), table[apart].reset_index(drop=True)
    part.attrs = {}  # what was left out of the whole is counted once, with the rest
    return rest, part


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


def _file(
    name: str, sha256: str, size: int, rebuilt: tuple[str, int] | None, variants: Sequence[str] = ()
) -> DataFile:
    substitute = DataFile(f"squad/{name}.rebuilt.json", *rebuilt) if rebuilt else None
    urls = (f"{_SITE}/{name}.json", f"{_MIRROR}/{name}.json")
    return DataFile(f"squad/{name}.json", sha256, size, urls, variants=tuple(variants), substitute=substitute)


SQUAD_SENT = DatasetDescription(
    name="squad-sent",
    title="SQuAD-sent",
    variants=("v1.1", "v2.0"),
    protocols={"answerable": "answerable"},
    order_is_signal=True,
    pretokenised=False,
    lists_correct_first=False,
    source="Rajpurkar et al. 2016 and 2018, https://rajpurkar.github.io/SQuAD-explorer/",
    licence="CC BY-SA 4.0",
    files=(
        _file(
            "train-v1.1",
            "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955",
            30288272,
            ("b2f89bc0d3c238a36a9d5d380c81e28baa617201a521112865708af432282a53", 31593593),
            ["v1.1"],
        ),
        _file(
            "train-v2.0",
            "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002",
            42123633,
            None,
            ["v2.0"],
        ),
        _file(
            "dev-v2.0",
            "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8",
            4370528,
            ("bec18e9fa2688e1fe4a4ee4f33b1b2d218eda1090cbb3ebb5d4ae12f3f073ade", 3892306),
        ),
    ),
    read=_read,
    notes=(
        "Test is the development set of v2.0, unanswerable questions included; dev is 10 % of the training "
        f"questions, whole articles drawn with seed {_DEV_SEED}. The paper trains on v2.0 (variant v2.0); "
        "v1.1, the first, has answerable questions only.",
        "Sentences by the sentencizer of spaCy's blank English pipeline. The paper's own splitter is not "
        "named beyond spaCy: it has 63,959 test sentences.",
        "Where squad/train-v1.1.rebuilt.json stands in for the official file, an answer is taken to stand "
        "where its text occurs first: for 8,249 of 87,599 questions it occurs in other sentences, too.",
        "The sentences stand in the paragraph's own order, which is a fair signal.",
    ),
)
