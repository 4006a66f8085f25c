"""NQ-LA: questions of Natural Questions, candidates are a page's paragraphs (Bonadiman, Moschitti 2020)."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from data_prep.data_files import DataFiles
from data_prep.description import DataFile, DatasetDescription
from data_prep.errors import UserError
from data_prep.squad_sent import split_by_article
from data_prep.tables import COLUMNS, check_table, join_tables

_OTHER_ANSWER = "questions whose long answer is a table or a list"
_NO_PARAGRAPH = "questions whose page has no paragraph"


def read_natural_questions(lines: Iterable[str], where: str | Path) -> pd.DataFrame:
    """Read the released JSON lines of Natural Questions, in the simplified or the original form.

    The candidates are the `long_answer_candidates` that are paragraphs (their first token is `<P>`), in the
    order of the page; tokens of HTML are left out. Correct is the paragraph that an annotator chose as long
    answer. Where several annotators looked (five in the development set), a question has an answer if at
    least two of them gave one, as in the official evaluation; then all paragraphs they chose are correct.
    Questions whose long answers are tables or lists only, and pages without a paragraph, are left out.

    Args:
        lines: one JSON object each; read one by one, for the released files are larger than memory.
        where: the file's name, for messages.

    Returns:
        The checked table, with a further column `article` (str), the page's address or title.
        `attrs["skipped"]` counts the questions that were left out, by reason.

    Raises:
        UserError: a line is not of either form, or there is no question.

    Example:
        >>> line = {"example_id": 1, "question_text": "who", "document_url": "u",
        ...     "document_text": "<P> I do . </P> <P> You . </P>", "annotations": [{"long_answer":
        ...     {"start_token": 0, "end_token": 5, "candidate_index": 0}}], "long_answer_candidates": [
        ...     {"start_token": 0, "end_token": 5, "top_level": True},
        ...     {"start_token": 5, "end_token": 9, "top_level": True}]}
        >>> read_natural_questions([json.dumps(line)], "a.jsonl")[["candidate", "label"]].values.tolist()
        [['I do .', 1], ['You .', 0]]
    """
    columns: dict[str, list] = {name: [] for name in (*COLUMNS, "article")}
    numbers: list[int] = []
    skipped: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            tokens, html = _tokens(record)
            paragraphs, correct, has_other = _paragraphs(record, tokens, html)
            identifier, question = str(record["example_id"]), " ".join(record["question_text"].split())
            if record["example_id"] is None:
                raise ValueError("example_id is null")
            article = str(record.get("document_url") or record.get("document_title") or identifier)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise UserError(
                f"{where}, line {number}: not a question of Natural Questions ({error!r:.100}). "
                "Fetch the file again."
            ) from error
        if not paragraphs or (has_other and not correct):
            reason = _NO_PARAGRAPH if not paragraphs else _OTHER_ANSWER
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        columns["question_id"] += [identifier] * len(paragraphs)
        columns["question"] += [question] * len(paragraphs)
        columns["candidate_id"] += [f"{identifier}/{index}" for index in paragraphs]
        columns["candidate"] += paragraphs.values()
        columns["label"] += [int(index in correct) for index in paragraphs]
        columns["article"] += [article] * len(paragraphs)
        numbers += [number] * len(paragraphs)
    article_of = dict(zip(columns["question_id"], columns["article"], strict=True))
    table = check_table(pd.DataFrame(columns, dtype=object), where, numbers)
    table["article"] = table["question_id"].map(article_of)
    table.attrs["skipped"] = skipped
    return table


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
    for index, candidate in enumerate(record["long_answer_candidates"]):
        begin, end = int(candidate["start_token"]), int(candidate["end_token"])
        if not 0 <= begin < end <= len(tokens):
            raise ValueError(f"candidate {index} lies outside the page")
        if tokens[begin].upper() == "<P>":
            words = [tokens[i] for i in range(begin, end) if not html[i]]
            if text := " ".join(" ".join(words).split()):
                paragraphs[index] = text
    annotations = record["annotations"]
    if not annotations:
        raise ValueError("there are no annotations")
    chosen = [each["long_answer"]["candidate_index"] for each in annotations]
    for index in chosen:
        # -1 is the release's mark of no answer.
        if type(index) is not int or not -1 <= index < len(record["long_answer_candidates"]):
            raise ValueError(f"candidate_index {index!r} is none of the candidates")
    chosen = [index for index in chosen if index >= 0]
    if len(chosen) < min(2, len(annotations)):
        chosen = []
    return paragraphs, {index for index in chosen if index in paragraphs}, bool(set(chosen) - set(paragraphs))


_TRAIN = "natural-questions/v1.0-simplified_simplified-nq-train.jsonl"
_DEV_PARTS = [f"natural-questions/nq-dev-{i:02d}.jsonl" for i in range(5)]


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    parts = [read_natural_questions(files.lines(path), path) for path in _DEV_PARTS]
    article = pd.concat([part["article"] for part in parts], ignore_index=True)
    test = join_tables(parts, "nq-la, official development set").assign(article=article)
    train, dev = split_by_article(read_natural_questions(files.lines(_TRAIN), _TRAIN))
    return train, dev, test


NQ_LA = DatasetDescription(
    name="nq-la",
    title="NQ-LA",
    variants=("",),
    protocols={"answerable": "answerable"},
    order_is_signal=True,
    pretokenised=True,
    lists_correct_first=False,
    source="Kwiatkowski et al. 2019, https://ai.google.com/research/NaturalQuestions/download",
    licence="CC BY-SA 3.0",
    files=tuple(DataFile(path) for path in (_TRAIN, *_DEV_PARTS)),
    read=_read,
    notes=(
        "Written against the published description of the files, which were not at hand: no count was "
        "checked. The paper has 6,230 test questions with 193k paragraphs, 55.47 % of them answered.",
        "Test is the official development set; dev is 10 % of the training questions, whole pages drawn with "
        "seed 2020. The training set fills tens of gigabytes of memory.",
        "The paragraphs stand in the page's own order, which is a fair signal.",
    ),
)
