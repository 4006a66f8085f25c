"""NQ-LA: questions of Natural Questions, candidates are a page's paragraphs (Bonadiman, Moschitti 2020)."""

import json
from collections.abc import Iterable
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

# Paragraphs do not lie in each other in sound HTML; a long page in thousands of them would fill any memory.
_MOST_NESTED = 10


def read_natural_questions(lines: Iterable[str], where: str | Path) -> pd.DataFrame:
    """Read the released JSON lines of Natural Questions, in the simplified or the original form.

    The candidates are the `long_answer_candidates` that are paragraphs (their first token is `<P>`), in the
    order of the page; tokens of HTML are left out. Correct is the paragraph that an annotator chose as long
    answer. Where several annotators looked (five in the development set), a question has an answer if at
    least two of them gave one, as in the official evaluation; then all paragraphs they chose are correct.
    Questions whose long answers are tables or lists only, and pages without a paragraph, are left out. The
    table has a further column `article`, the page's address or title.
    """
    rows = TableRows(where)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        with refuse_malformed(f"{where}, line {number}", "not a question of Natural Questions"):
            record = json.loads(line)
            paragraphs, correct, has_other = _paragraphs(record, *_tokens(record))
            identifier = as_identifier(record["example_id"])
            question = " ".join(record["question_text"].split())
            article = str(record.get("document_url") or record.get("document_title") or identifier)
        if not paragraphs:
            rows.skipped["questions whose page has no paragraph"] += 1
        elif has_other and not correct:
            rows.skipped["questions whose long answer is a table or a list"] += 1
        else:
            for index, text in paragraphs.items():
                name = f"{identifier}/{index}"
                rows.add(number, identifier, question, name, text, index in correct, article=article)
    return rows.table()


def _tokens(record: dict) -> tuple[list[str], list[bool]]:
    """Give the page's tokens and which of them are HTML, in either form of the release."""
    if "document_text" in record:
        tokens = record["document_text"].split(" ")
        return tokens, [len(token) > 2 and token[0] == "<" and token[-1] == ">" for token in tokens]
    tokens = [each["token"] for each in record["document_tokens"]]
    return tokens, [bool(each["html_token"]) for each in record["document_tokens"]]


def _paragraphs(record: dict, tokens: list[str], html: list[bool]) -> tuple[dict[int, str], set[int], bool]:
    """Give the paragraphs by candidate index, those chosen, and whether something else was chosen."""
    paragraphs = {}
    left = _MOST_NESTED * len(tokens)
    for index, candidate in enumerate(record["long_answer_candidates"]):
        begin, end = candidate["start_token"], candidate["end_token"]
        if not (type(begin) is type(end) is int and 0 <= begin < end <= len(tokens)):
            raise ValueError(f"candidate {index} lies outside the page")
        if tokens[begin].upper() == "<P>":
            left -= end - begin
            if left < 0:
                raise ValueError("the paragraphs are longer than the page")
            words = [tokens[i] for i in range(begin, end) if not html[i]]
            if text := " ".join(" ".join(words).split()):
                paragraphs[index] = text
    chosen = _chosen(record)
    return paragraphs, chosen.intersection(paragraphs), not chosen.issubset(paragraphs)


def _chosen(record: dict) -> set[int]:
    """Give the candidates that annotators chose; none where fewer than two of several did."""
    annotations = record["annotations"]
    if not annotations:
        raise ValueError("there are no annotations")
    chosen = []
    for annotation in annotations:
        index = annotation["long_answer"]["candidate_index"]
        # -1 is the release's mark of no answer.
        if type(index) is not int or not -1 <= index < len(record["long_answer_candidates"]):
            raise ValueError(f"candidate_index {index!r} is none of the candidates")
        if index >= 0:
            chosen.append(index)
    return set(chosen) if len(chosen) >= min(2, len(annotations)) else set()


_TRAIN = "natural-questions/v1.0-simplified_simplified-nq-train.jsonl"
_DEV_PARTS = [f"natural-questions/nq-dev-{i:02d}.jsonl" for i in range(5)]


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    parts = [read_natural_questions(files.lines(path), path) for path in _DEV_PARTS]
    train, dev = split_by_article(read_natural_questions(files.lines(_TRAIN), _TRAIN))
    return train, dev, join_tables(parts, "nq-la, official development set")


NQ_LA = DatasetDescription(
    name="nq-la",
    title="NQ-LA",
    order_is_signal=True,
    pretokenised=True,
    source="Kwiatkowski et al. 2019, https://ai.google.com/research/NaturalQuestions/download",
    licence="CC BY-SA 3.0",
    files=known_files(_TRAIN, *_DEV_PARTS),
    read=_read,
    notes=(
        "Written against the published description of the files, which were not at hand: no count was "
        "checked. The paper has 6,230 test questions with 193k paragraphs, 55.47 % of them answered.",
        "Test is the official development set; dev is 10 % of the training questions, whole pages drawn with "
        "seed 2020. The training set fills tens of gigabytes of memory.",
        "The paragraphs stand in the page's own order, which is a fair signal.",
    ),
)
