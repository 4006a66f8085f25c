"""QED: a sample of Natural Questions, candidates are the sentences of the long answer (Lamm et al. 2021)."""

import json
from bisect import bisect_right
from pathlib import Path

import pandas as pd

from answer_ranking.data_prep.description import DatasetDescription, known_files
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


_TRAIN = [f"qed-nq/nq-train-{part:02d}-qed.jsonlines" for part in range(6)]
_TEST = "qed-nq/qed-dev.jsonlines"


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    train = join_tables([read_qed(files(path), path) for path in _TRAIN], "qed, training parts")
    return *split_by_article(train), read_qed(files(_TEST), _TEST)


QED = DatasetDescription(
    name="qed",
    title="QED (Natural Questions)",
    order_is_signal=True,
    pretokenised=True,
    source="Lamm et al. 2021, https://github.com/google-research-datasets/QED",
    licence="none stated; Natural Questions is CC BY-SA 3.0",
    files=known_files(*_TRAIN, _TEST),
    read=_read,
    notes=(
        "The paragraph is the one that holds the answer: this is the choice of the sentence within a long "
        "answer, not NQ-LA. Train is the first public version (7,167 of the later 7,638 examples).",
        "Test is the released development set; dev is 10 % of the training questions, whole pages drawn with "
        "seed 2020. Test shares pages with train: for 97 of its 1,355 questions every sentence stands there.",
        "The sentences stand in the paragraph's own order, which is a fair signal.",
    ),
)
