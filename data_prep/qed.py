"""QED: a sample of Natural Questions, candidates are the sentences of the long answer (Lamm et al. 2021)."""

import json
from pathlib import Path

import pandas as pd

from data_prep.data_files import DataFiles
from data_prep.description import DataFile, DatasetDescription, github_urls
from data_prep.errors import UserError
from data_prep.squad_sent import split_by_article
from data_prep.tables import COLUMNS, check_table, join_tables

_NO_SENTENCES = "questions about a paragraph without sentence boundaries"
_NO_TEXT = "sentences without text"


def read_qed(text: str, where: str | Path) -> pd.DataFrame:
    """Read QED's JSON lines, the released development set or the first public version of the training set.

    The candidates are the sentences of the paragraph, cut at the file's own `sentence_starts`. A sentence in
    which a short answer of Natural Questions lies is correct; of an answer that crosses sentences, the one
    in which it begins. Answers of several annotators, and of several spans, all count. Where the sentences
    begin only behind the answer (headings, tables), or the file does not say where it lies, none is correct.

    Args:
        text: the file's text.
        where: its name, for messages.

    Returns:
        The checked table, with a further column `article` (str), the page's title. `attrs["skipped"]` counts
        what was left out: questions about paragraphs (tables) that the file does not divide into sentences,
        and sentences of white space only.

    Raises:
        UserError: a line is not of this form.

    Example:
        >>> line = {"example_id": 1, "title_text": "Rain", "question_text": "when",
        ...     "answer_spans": [[13, 17]], "paragraph_text": "It rains. At noon.",
        ...     "sentence_starts": [0, 10]}
        >>> read_qed(json.dumps(line), "a.jsonlines")[["candidate", "label"]].values.tolist()
        [['It rains.', 0], ['At noon.', 1]]
    """
    columns: dict[str, list] = {name: [] for name in (*COLUMNS, "article")}
    lines: list[int] = []
    skipped: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            paragraph, starts = record["paragraph_text"], record["sentence_starts"]
            if not starts:
                skipped[_NO_SENTENCES] = skipped.get(_NO_SENTENCES, 0) + 1
                continue
            if starts != sorted(set(starts)) or starts[0] < 0 or starts[-1] > len(paragraph):
                raise ValueError("sentence_starts do not fit the paragraph")
            if "answer_spans" in record:
                begins = [begin for begin, _ in record["answer_spans"]]
            else:
                begins = [span["start"] for answer in record["original_nq_answers"] for span in answer]
            begins = [begin for begin in begins if begin != -1]  # the file's word for "not found"
            if any(not 0 <= begin < len(paragraph) for begin in begins):
                raise ValueError("an answer lies outside the paragraph")
            correct = {sum(start <= begin for start in starts) - 1 for begin in begins}
            sentences = [
                " ".join(paragraph[begin:end].split())
                for begin, end in zip(starts, [*starts[1:], len(paragraph)], strict=True)
            ]
            identifier, question = str(record["example_id"]), " ".join(record["question_text"].split())
            title = str(record["title_text"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(
                f"{where}, line {number}: not an example of QED ({error!r:.100}). Fetch the file again."
            ) from error
        for i, sentence in enumerate(sentences):
            if not sentence:
                skipped[_NO_TEXT] = skipped.get(_NO_TEXT, 0) + 1
                continue
            row = (identifier, question, f"{identifier}/{i}", sentence, int(i in correct), title)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
            lines.append(number)
    article_of = dict(zip(columns["question_id"], columns["article"], strict=True))
    table = check_table(pd.DataFrame(columns, dtype=object), where, lines)
    table["article"] = table["question_id"].map(article_of)
    table.attrs["skipped"] = skipped
    return table


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    *train_paths, test_path = (file.path for file in QED.files)
    parts = [read_qed(files(path), path) for path in train_paths]
    article = pd.concat([part["article"] for part in parts], ignore_index=True)
    train = join_tables(parts, "qed, training parts").assign(article=article)
    return *split_by_article(train), read_qed(files(test_path), test_path)


_REPOSITORY = "google-research-datasets/QED"
_FIRST = (_REPOSITORY, "71e19e085640a2032c803a839d716f0a1b526bff")
_RELEASE = (_REPOSITORY, "ec6951575cd21fa00a700654bfa2f1a7d2b644db")


def _file(name: str, sha256: str, size: int, commit: tuple[str, str] = _FIRST) -> DataFile:
    return DataFile(f"qed-nq/{name}", sha256, size, github_urls(*commit, name))


QED = DatasetDescription(
    name="qed",
    title="QED (Natural Questions)",
    variants=("",),
    protocols={"answerable": "answerable"},
    order_is_signal=True,
    pretokenised=True,
    lists_correct_first=False,
    source="Lamm et al. 2021, https://github.com/google-research-datasets/QED",
    licence="none stated; Natural Questions is CC BY-SA 3.0",
    files=(
        _file(
            "nq-train-00-qed.jsonlines",
            "92d88b54ff01a14ddeb7ad4f33581b3a2e087aa4d3ff0232181665abb372b843",
            2812863,
        ),
        _file(
            "nq-train-01-qed.jsonlines",
            "170d6ef4b9b87c44e1dfdd6ab618b97aeb1df1eae01f203210aaa4b36ec7baaf",
            1499983,
        ),
        _file(
            "nq-train-02-qed.jsonlines",
            "ee4f3da291accad9d3178a3199fb81925bdecf01c45597966ccafb6d3b08c658",
            1436446,
        ),
        _file(
            "nq-train-03-qed.jsonlines",
            "f0734f94c1956461c5b3e921077a7591b3507155dc3ee3d443c9adc970f189d3",
            337901,
        ),
        _file(
            "nq-train-04-qed.jsonlines",
            "6615b5dbea9d0ffda94bc69aca1e8190fde4ccc9bd4e690f7c1cd372b5d5f6c3",
            1562076,
        ),
        _file(
            "nq-train-05-qed.jsonlines",
            "e87752deb72b359cc67bfc3b104d774f254df76514d2d2b671b6f7ea15cd15e7",
            1197856,
        ),
        _file(
            "qed-dev.jsonlines",
            "2ea322b71a333023380c3954083b81af2d5670c8ac47ddec58c843233895c429",
            2244232,
            _RELEASE,
        ),
    ),
    read=_read,
    notes=(
        "The paragraph is the one that holds the answer: this is the choice of the sentence within a long "
        "answer, not NQ-LA. Train is the first public version (7,167 of the later 7,638 examples).",
        "Test is the released development set; dev is 10 % of the training questions, whole pages drawn with "
        "seed 2020.",
        "The sentences stand in the paragraph's own order, which is a fair signal.",
    ),
)
