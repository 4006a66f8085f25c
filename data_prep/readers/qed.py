"""QED: a sample of Natural Questions, candidates are the sentences of the long answer (Lamm et al. 2021)."""

import json
from bisect import bisect_right
from pathlib import Path

import pandas as pd

from answer_ranking.data_prep.dataset import github_urls
from answer_ranking.data_prep.description import DataFile, DatasetDescription
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.readers.rows import (
    TableRows,
    as_identifier,
    join_tables,
    refuse_malformed,
    split_by_article,
)
from answer_ranking.data_prep.tables import numbered_lines


def read_qed(text: str, where: str | Path) -> pd.DataFrame:
    """Read QED's JSON lines, the released development set or the first public version of the training set.

    The candidates are the sentences of the paragraph, cut at the file's own `sentence_starts`. A sentence in
    which a short answer of Natural Questions lies is correct; of an answer that crosses sentences, the one
    in which it begins. Answers of several annotators, and of several spans, all count. Where the sentences
    begin only behind the answer (headings, tables), or the file does not say where it lies, none is correct.
    The table has a further column `article`, the page's title.
    """
    rows = TableRows(where)
    for number, line in numbered_lines(text):
        with refuse_malformed(f"{where}, line {number}", "not an example of QED"):
            record = json.loads(line)
            if not record["sentence_starts"]:
                rows.skipped["questions about a paragraph without sentence boundaries"] += 1
                continue
            sentences, correct = _sentences(record)
            identifier = as_identifier(record["example_id"])
            question = " ".join(record["question_text"].split())
            title = str(record["title_text"])
        for i, sentence in enumerate(sentences):
            if sentence:
                name = f"{identifier}/{i}"
                rows.add(number, identifier, question, name, sentence, i in correct, article=title)
            else:
                rows.skipped["sentences without text"] += 1
    return rows.table()


def _sentences(record: dict) -> tuple[list[str], set[int]]:
    """Give the paragraph's sentences, and the numbers of those in which an answer begins."""
    paragraph, starts = record["paragraph_text"], record["sentence_starts"]
    if starts != sorted(set(starts)) or starts[0] < 0 or starts[-1] > len(paragraph):
        raise ValueError("sentence_starts do not fit the paragraph")
    if "answer_spans" in record:
        begins = [begin for begin, _ in record["answer_spans"]]
    else:
        begins = [span["start"] for answer in record["original_nq_answers"] for span in answer]
    begins = [begin for begin in begins if begin != -1]  # the file's word for "not found"
    if any(not 0 <= begin < len(paragraph) for begin in begins):
        raise ValueError("an answer lies outside the paragraph")
    ends = [*starts[1:], len(paragraph)]
    sentences = [" ".join(paragraph[begin:end].split()) for begin, end in zip(starts, ends, strict=True)]
    return sentences, {bisect_right(starts, begin) - 1 for begin in begins}


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    *train_paths, test_path = (file.path for file in QED.files)
    train = join_tables([read_qed(files(path), path) for path in train_paths], "qed, training parts")
    return *split_by_article(train), read_qed(files(test_path), test_path)


_FIRST = "71e19e085640a2032c803a839d716f0a1b526bff"
_RELEASE = "ec6951575cd21fa00a700654bfa2f1a7d2b644db"


def _file(part: str, sha256: str, size: int, commit: str = _FIRST) -> DataFile:
    urls = github_urls("google-research-datasets/QED", commit, f"{part}.jsonlines")
    return DataFile(f"qed-nq/{part}.jsonlines", sha256, size, urls)


QED = DatasetDescription(
    name="qed",
    title="QED (Natural Questions)",
    order_is_signal=True,
    pretokenised=True,
    source="Lamm et al. 2021, https://github.com/google-research-datasets/QED",
    licence="none stated; Natural Questions is CC BY-SA 3.0",
    files=(
        _file("nq-train-00-qed", "92d88b54ff01a14ddeb7ad4f33581b3a2e087aa4d3ff0232181665abb372b843", 2812863),
        _file("nq-train-01-qed", "170d6ef4b9b87c44e1dfdd6ab618b97aeb1df1eae01f203210aaa4b36ec7baaf", 1499983),
        _file("nq-train-02-qed", "ee4f3da291accad9d3178a3199fb81925bdecf01c45597966ccafb6d3b08c658", 1436446),
        _file("nq-train-03-qed", "f0734f94c1956461c5b3e921077a7591b3507155dc3ee3d443c9adc970f189d3", 337901),
        _file("nq-train-04-qed", "6615b5dbea9d0ffda94bc69aca1e8190fde4ccc9bd4e690f7c1cd372b5d5f6c3", 1562076),
        _file("nq-train-05-qed", "e87752deb72b359cc67bfc3b104d774f254df76514d2d2b671b6f7ea15cd15e7", 1197856),
        _file(
            "qed-dev", "2ea322b71a333023380c3954083b81af2d5670c8ac47ddec58c843233895c429", 2244232, _RELEASE
        ),
    ),
    read=_read,
    notes=(
        "The paragraph is the one that holds the answer: this is the choice of the sentence within a long "
        "answer, not NQ-LA. Train is the first public version (7,167 of the later 7,638 examples).",
        "Test is the released development set; dev is 10 % of the training questions, whole pages drawn with "
        "seed 2020. Test shares pages with train: for 97 of its 1,355 questions every sentence stands there.",
        "The sentences stand in the paragraph's own order, which is a fair signal.",
    ),
)
