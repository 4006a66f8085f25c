"""TrecQA: questions of the TREC 8-13 tracks, candidates are newswire sentences (Wang et al. 2007)."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from data_prep.description import DataFile, DatasetDescription, github_urls
from data_prep.errors import UserError
from data_prep.files import decode_text, read_content
from data_prep.tables import check_table

_QUESTION = re.compile(r"<QApairs id=['\"]([^'\"]+)['\"]>$")
_BLOCKS = {"<question>": None, "<positive>": 1, "<negative>": 0}


def read_pseudo_xml(text: str, where: str | Path) -> pd.DataFrame:
    r"""Read the jacana distribution's `TRAIN.xml`, `DEV.xml` or `TEST.xml` (Yao et al. 2013).

    It looks like XML but is not (a bare `&`, no root), so it is read line by line: `<QApairs id='1'>` opens a
    question; in `<question>`, `<positive>` and `<negative>` the first line holds the tokens, tab-separated,
    and the lines of part-of-speech tags, dependencies and entities after it are passed over.

    Args:
        text: the file's text.
        where: its name, for messages.

    Returns:
        The checked table. A question without candidates has no row; `attrs["questions_without_candidates"]`
        counts them.

    Raises:
        UserError: the file does not have this form or ends within a question.

    Example:
        >>> lines = ["<QApairs id='1'>", "<question>", "Who\t?", "</question>", "<positive>", "I\t."]
        >>> lines += ["</positive>", "</QApairs>"]
        >>> table = read_pseudo_xml("\n".join(lines), "a.xml")
        >>> table[["question_id", "question", "candidate", "label"]].values.tolist()
        [['1', 'Who ?', 'I .', 1]]
    """
    rows: list[tuple[str, str, str, str, int]] = []
    lines: list[int] = []
    n_questions = 0
    identifier = question = block = None
    n_candidates = 0
    source = text.split("\n")

    def fail(number: int, what: str) -> UserError:
        return UserError(f"{where}, line {number}: {what}. The file is damaged: fetch it again.")

    for number, line in enumerate(source, start=1):
        tag = line.strip()
        if block is not None:
            # Inside a block only its own end counts: a token could look like a tag.
            if tag == block.replace("<", "</"):
                block = None
            elif source[number - 2].strip() == block:
                tokens = " ".join(line.split())
                if block == "<question>":
                    question = tokens
                else:
                    n_candidates += 1
                    rows.append(
                        (identifier, question, f"{identifier}-{n_candidates}", tokens, _BLOCKS[block])
                    )
                    lines.append(number)
        elif opened := _QUESTION.match(tag):
            if identifier is not None:
                raise fail(number, f"question {identifier} was not closed")
            identifier, question, n_candidates = opened[1], None, 0
            n_questions += 1
        elif tag in _BLOCKS:
            if identifier is None or (question is None) != (tag == "<question>"):
                raise fail(number, f"{tag} is out of place")
            block = tag
        elif tag == "</QApairs>":
            identifier = None
        elif tag:
            raise fail(number, f"{tag[:40]!r} is not expected here")
    if identifier is not None:
        raise fail(len(source), f"the text ends within question {identifier}")
    columns = ["question_id", "question", "candidate_id", "candidate", "label"]
    table = check_table(pd.DataFrame(rows, columns=columns, dtype=object), where, lines)
    table.attrs["questions_without_candidates"] = n_questions - table["question_id"].nunique()
    return table


def read_train_all(questions: str, labels: str, identifiers: str, where: str | Path) -> pd.DataFrame:
    """Read TRAIN-ALL: texts from the JSON lines, labels from `sim.txt`, question identifiers from `id.txt`.

    The JSON lines carry labels too, but those of the file before its clean-up: 7 of 53,417 differ.

    Args:
        questions: JSON lines `{"question", "candidates": [{"sentence", "label"}]}`.
        labels: one label a line, one line a candidate, in the same order.
        identifiers: one question identifier a line, one line a candidate.
        where: the JSON lines' name, for messages.

    Returns:
        The checked table.

    Raises:
        UserError: a line is malformed, or the three do not fit together.

    Example:
        >>> line = '{"question": "Who ?", "candidates": [{"sentence": "I .", "label": 0}]}'
        >>> read_train_all(line, "1", "7", "train.jsonl")["label"].tolist()
        [1]
    """
    label_list, identifier_list = labels.split(), identifiers.split()
    rows: list[tuple[str, str, str, str, str]] = []
    lines: list[int] = []
    for number, line in enumerate(questions.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            question, sentences = record["question"], [each["sentence"] for each in record["candidates"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(
                f"{where}, line {number}: not a question with candidates. Fetch the file again."
            ) from error
        own = identifier_list[len(rows) : len(rows) + len(sentences)]
        if len(own) != len(sentences) or len(set(own)) > 1 or len(rows) + len(own) > len(label_list):
            raise UserError(
                f"{where}, line {number}: sim.txt or id.txt does not belong to it. Fetch all three again."
            )
        for position, sentence in enumerate(sentences, start=1):
            label = label_list[len(rows)]
            rows.append((own[0], question, f"{own[0]}-{position}", sentence, label))
            lines.append(number)
    if not len(rows) == len(label_list) == len(identifier_list):
        raise UserError(
            f"{where}: {len(rows)} candidates but {len(label_list)} labels. Fetch all three files again."
        )
    columns = ["question_id", "question", "candidate_id", "candidate", "label"]
    return check_table(pd.DataFrame(rows, columns=columns, dtype=object), where, lines)


def read_token_files(folder: str | Path) -> pd.DataFrame:
    r"""Read the form with one file a column: `a.toks`, `b.toks`, `sim.txt` and `id.txt` (He et al. 2015).

    Args:
        folder: the folder that holds the four files, one line a pair in each.

    Returns:
        The checked table.

    Raises:
        UserError: a file is missing, or their numbers of lines differ.

    Example:
        >>> from pathlib import Path
        >>> folder = Path("/tmp/token_files"); folder.mkdir(exist_ok=True)
        >>> for name, line in {"a.toks": "who ?", "b.toks": "i .", "sim.txt": "1", "id.txt": "7.1"}.items():
        ...     _ = (folder / name).write_text(line + "\n")
        >>> read_token_files(folder)[["question_id", "candidate", "label"]].values.tolist()
        [['7.1', 'i .', 1]]
    """
    folder = Path(folder)
    columns = {"question": "a.toks", "candidate": "b.toks", "label": "sim.txt", "question_id": "id.txt"}
    data = {}
    for column, name in columns.items():
        text = decode_text(read_content(folder / name), folder / name)
        data[column] = [line.strip() for line in text.removesuffix("\n").split("\n")]
    lengths = {name: len(data[column]) for column, name in columns.items()}
    if len(set(lengths.values())) > 1:
        raise UserError(f"{folder}: the files differ in their numbers of lines: {lengths}. Fetch them again.")
    return check_table(pd.DataFrame(data, dtype=object), folder)


def _read(variant: str, text_of: Callable[[str], str]) -> tuple[pd.DataFrame, ...]:
    if variant == "TRAIN":
        train = read_pseudo_xml(text_of("trecqa/TRAIN.xml"), "trecqa/TRAIN.xml")
    else:
        names = [f"trecqa/train-all.{ending}" for ending in ("jsonl", "sim.txt", "id.txt")]
        train = read_train_all(*map(text_of, names), names[0])
    return train, *(read_pseudo_xml(text_of(path), path) for path in ("trecqa/DEV.xml", "trecqa/TEST.xml"))


_ARCHIVE = "http://cs.jhu.edu/~xuchen/packages/jacana-qa-naacl2013-data-results.tar.bz2"
_CASTOR = ("castorini/data", "056cbbcbf997cc0b35032430110c5e5e5525700a")
_NCE = ("castorini/NCE-CNN-Torch", "9f57a6aa1be493d0bc385a75a690378c9b951b4f")
_LEXDECOMP = ("mcrisc/lexdecomp", "9b781db8cac9a132b6e97e7a21946a66c945aedf")


def _xml(split: str, sha256: str, size: int) -> DataFile:
    urls = github_urls(*_CASTOR, f"TrecQA/data/{split}.xml")
    return DataFile(f"trecqa/{split}.xml", sha256, size, urls, archives=(_ARCHIVE,))


TRECQA = DatasetDescription(
    name="trecqa",
    title="TrecQA",
    variants=("TRAIN-ALL", "TRAIN"),
    protocols={"raw": "answerable", "clean": "clean"},
    order_is_signal=False,
    pretokenised=True,
    lists_correct_first=True,
    source=f"Wang, Smith and Mitamura 2007, in the distribution of Yao et al. 2013, {_ARCHIVE}",
    licence="none stated; sentences of the TREC newswire, for research",
    files=(
        _xml("TRAIN", "8c36007a23b754807344f08b52bc1baeaa6fa5dc85b8ad49f340cc8acc438b66", 2463979),
        _xml("DEV", "87f6ed5818fcb885dc8e8206c83cce658d7187118d1e093d841629a08d9291bc", 610306),
        _xml("TEST", "fb96ee795015c98299fe78f1e697eb9e74789b1db6b1bbc0203416dedc0c467f", 837966),
        DataFile(
            path="trecqa/train-all.jsonl",
            sha256="c1a7d93807a8499c2d9672363eabf6a698b761062d4a141cbffe255bb7440c5d",
            bytes=10195054,
            urls=github_urls(*_LEXDECOMP, "trec-qa/train-all.jsonl.gz"),
        ),
        DataFile(
            path="trecqa/train-all.sim.txt",
            sha256="942f03ad4a2cfa46abfca2f879cfaf478308f50c1eefa0713844cd470cf44bff",
            bytes=106834,
            urls=github_urls(*_NCE, "data/TrecQA/train-all/sim.txt"),
        ),
        DataFile(
            path="trecqa/train-all.id.txt",
            sha256="f78db231a6674ad298e9401e5602041ee0a594a1bbdcf3c5a235d502dc7ab49b",
            bytes=226568,
            urls=github_urls(*_NCE, "data/TrecQA/train-all/id.txt"),
        ),
    ),
    read=_read,
)
