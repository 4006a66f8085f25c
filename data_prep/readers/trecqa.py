"""TrecQA: questions of the TREC 8-13 tracks, candidates are newswire sentences (Wang et al. 2007)."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from answer_ranking.base.errors import UserError, damaged
from answer_ranking.data_prep.description import DatasetDescription, known_files
from answer_ranking.data_prep.readers.rows import TableRows, refuse_malformed
from answer_ranking.data_prep.tables import numbered_lines

_QUESTION = re.compile(r"<QApairs id=['\"]([^'\"]+)['\"]>$")
_BLOCKS = {"<question>": None, "<positive>": 1, "<negative>": 0}
_TAGS = {*_BLOCKS, *(tag.replace("<", "</") for tag in _BLOCKS), "</QApairs>"}


def read_pseudo_xml(text: str, where: str | Path) -> pd.DataFrame:
    """Read the jacana distribution's `TRAIN.xml`, `DEV.xml` or `TEST.xml` (Yao et al. 2013).

    It looks like XML but is not (a bare `&`, no root), so it is read line by line: `<QApairs id='1'>` opens a
    question; in `<question>`, `<positive>` and `<negative>` the first line holds the tokens, tab-separated,
    and the lines of part-of-speech tags, dependencies and entities after it are passed over.
    """
    rows = TableRows(where)
    identifier = question = block = None
    n_candidates = opened_at = 0
    source = text.split("\n")

    def fail(number: int, what: str) -> UserError:
        return damaged(f"{where}, line {number}", what)

    for number, line in enumerate(source, start=1):
        tag = line.strip()
        if block is not None:
            # In the line of the tokens, one alone could look like a tag.
            if tag == block.replace("<", "</"):
                if number == opened_at + 1:
                    raise fail(number, f"{block} is empty")
                block = None
            elif number > opened_at + 1 and tag in _TAGS:
                raise fail(number, f"{block} was not closed before {tag}")
            elif number == opened_at + 1:
                tokens = " ".join(line.split())
                if block == "<question>":
                    question = tokens
                else:
                    n_candidates += 1
                    name = f"{identifier}-{n_candidates}"
                    rows.add(number, identifier, question, name, tokens, _BLOCKS[block])
        elif opened := _QUESTION.match(tag):
            if identifier is not None:
                raise fail(number, f"question {identifier} was not closed")
            identifier, question, n_candidates = opened[1], None, 0
            rows.n_questions += 1
        elif tag in _BLOCKS:
            if identifier is None or (question is None) != (tag == "<question>"):
                raise fail(number, f"{tag} is out of place")
            block, opened_at = tag, number
        elif tag == "</QApairs>":
            identifier = None
        elif tag:
            raise fail(number, f"{tag[:40]!r} is not expected here")
    if identifier is not None:
        raise fail(len(source), f"the text ends within question {identifier}")
    return rows.table()


def read_train_all(questions: str, labels: str, identifiers: str, where: str | Path) -> pd.DataFrame:
    """Read TRAIN-ALL: texts from the JSON lines, labels from `sim.txt`, question identifiers from `id.txt`.

    The JSON lines, `{"question", "candidates": [{"sentence", "label"}]}`, carry labels too, but those of the
    file before its clean-up: 7 of 53,417 differ. The others have one line a candidate, in the same order.
    """
    label_list, identifier_list = labels.split(), identifiers.split()
    rows = TableRows(where)
    for number, line in numbered_lines(questions):
        with refuse_malformed(f"{where}, line {number}", "not a question with candidates"):
            record = json.loads(line)
            question, sentences = record["question"], [each["sentence"] for each in record["candidates"]]
        own = identifier_list[len(rows) : len(rows) + len(sentences)]
        if len(own) != len(sentences) or len(set(own)) > 1 or len(rows) + len(own) > len(label_list):
            what = "sim.txt or id.txt does not belong to it"
            raise damaged(f"{where}, line {number}", what, "all three")
        for position, sentence in enumerate(sentences, start=1):
            rows.add(number, own[0], question, f"{own[0]}-{position}", sentence, label_list[len(rows)])
    if not len(rows) == len(label_list) == len(identifier_list):
        what = f"{len(rows)} candidates but {len(label_list)} labels"
        raise damaged(where, what, "all three files")
    return rows.table()


def _read(variant: str, text_of: Callable[[str], str]) -> tuple[pd.DataFrame, ...]:
    if variant == "TRAIN":
        train = read_pseudo_xml(text_of("trecqa/TRAIN.xml"), "trecqa/TRAIN.xml")
    else:
        name = "trecqa/train-all"
        pairs = text_of(f"{name}.jsonl")
        labels, identifiers = text_of(f"{name}.sim.txt"), text_of(f"{name}.id.txt")
        train = read_train_all(pairs, labels, identifiers, f"{name}.jsonl")
    held_out = [read_pseudo_xml(text_of(path), path) for path in ("trecqa/DEV.xml", "trecqa/TEST.xml")]
    return train, *held_out


_ARCHIVE = "http://cs.jhu.edu/~xuchen/packages/jacana-qa-naacl2013-data-results.tar.bz2"


TRECQA = DatasetDescription(
    name="trecqa",
    title="TrecQA",
    variants=("TRAIN-ALL", "TRAIN"),
    protocols={"raw": "answerable", "clean": "clean"},
    pretokenised=True,
    lists_correct_first=True,
    source=f"Wang, Smith and Mitamura 2007, in the distribution of Yao et al. 2013, {_ARCHIVE}",
    licence="none stated; sentences of the TREC newswire, for research",
    files=known_files(
        *("trecqa/TRAIN.xml", "trecqa/DEV.xml", "trecqa/TEST.xml"),
        *("trecqa/train-all.jsonl", "trecqa/train-all.sim.txt", "trecqa/train-all.id.txt"),
    ),
    read=_read,
)
