"""ANTIQUE: non-factoid questions of Yahoo Answers with graded answers (Hashemi et al. 2020)."""

import numpy as np
import pandas as pd

from data_prep.data_files import DataFiles
from data_prep.description import DataFile, DatasetDescription
from data_prep.errors import UserError
from data_prep.tables import check_table

_DEV_SEED = 2020
_DEV_QUESTIONS = 200
_EMPTY = "judged answers without text"


def read_antique(collection: str, queries: str, qrels: str, where: tuple[str, str, str]) -> pd.DataFrame:
    r"""Join ANTIQUE's answers, questions and judgements.

    Grades run from 1 to 4; 3 and 4 are correct, as its authors say to do for binary measures.

    Args:
        collection: lines of answer identifier, tab, answer.
        queries: lines of question identifier, tab, question.
        qrels: judgements in TREC's form: question, a word, answer, grade, separated by white space.
        where: the three files' names, for messages.

    Returns:
        The checked table of the judged answers, in the order of the judgements.
        `attrs["questions_without_candidates"]` counts questions without a judgement, `attrs["skipped"]`
        judged answers without text.

    Raises:
        UserError: a line is malformed, a grade is not one of 1 to 4, or a judgement names a question or an
            answer that is not there.

    Example:
        >>> table = read_antique("7_0\tBecause.\n7_1\tNo.\n", "7\twhy?\n", "7 U0 7_0 4\n7 Q0 7_1 2\n", "cqr")
        >>> table[["question", "candidate", "label"]].values.tolist()
        [['why?', 'Because.', 1], ['why?', 'No.', 0]]
    """
    answers, questions = _pairs(collection, where[0]), _pairs(queries, where[1])
    rows: list[tuple[str, str, str, str, int]] = []
    lines: list[int] = []
    n_empty = 0
    for number, line in enumerate(qrels.split("\n"), start=1):
        if not line.strip():
            continue
        fields = line.split()
        if len(fields) != 4 or fields[3] not in ("1", "2", "3", "4"):
            raise UserError(
                f"{where[2]}, line {number}: not a question, a word, an answer and a grade from 1 to 4. "
                "Fetch the file again."
            )
        question, _, answer, grade = fields
        for name, known, file in ((question, questions, where[1]), (answer, answers, where[0])):
            if name not in known:
                raise UserError(
                    f"{where[2]}, line {number}: {name!r} is not in {file}. Fetch both files again."
                )
        if not answers[answer]:
            n_empty += 1
            continue
        rows.append((question, questions[question], answer, answers[answer], int(int(grade) >= 3)))
        lines.append(number)
    columns = ["question_id", "question", "candidate_id", "candidate", "label"]
    table = check_table(pd.DataFrame(rows, columns=columns, dtype=object), where[2], lines)
    table.attrs["questions_without_candidates"] = len(questions) - table["question_id"].nunique()
    table.attrs["skipped"] = {_EMPTY: n_empty} if n_empty else {}
    return table


def _pairs(text: str, where: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name, tab, value = line.partition("\t")
        if not tab or not name.strip() or name.strip() in pairs:
            raise UserError(
                f"{where}, line {number}: not an identifier of its own, a tab and a text. Fetch it again."
            )
        pairs[name.strip()] = " ".join(value.split())
    return pairs


_FOLDER = "antique"
_COLLECTION = f"{_FOLDER}/antique-collection.txt"


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    tables = []
    for split in ("train", "test"):
        paths = (_COLLECTION, f"{_FOLDER}/antique-{split}-queries.txt", f"{_FOLDER}/antique-{split}.qrel")
        tables.append(read_antique(*map(files, paths), paths))
    train, test = tables
    identifiers = train["question_id"].unique()
    if len(identifiers) <= 1:
        raise UserError(f"{_FOLDER}/antique-train.qrel: one question cannot be split into train and dev.")
    size = min(_DEV_QUESTIONS, max(1, len(identifiers) // 10))
    drawn = np.random.default_rng(_DEV_SEED).choice(len(identifiers), size, replace=False)
    apart = train["question_id"].isin(identifiers[np.sort(drawn)])
    dev = train[apart].reset_index(drop=True)
    dev.attrs = {}
    return train[~apart].reset_index(drop=True), dev, test


ANTIQUE = DatasetDescription(
    name="antique",
    title="ANTIQUE",
    variants=("",),
    protocols={"answerable": "answerable"},
    order_is_signal=False,
    pretokenised=False,
    lists_correct_first=False,
    source="Hashemi et al. 2020, https://ciir.cs.umass.edu/downloads/Antique/",
    licence="for research, see the readme.txt at its source",
    files=tuple(
        DataFile(f"{_FOLDER}/{name}")
        for name in (
            "antique-collection.txt",
            "antique-train-queries.txt",
            "antique-train.qrel",
            "antique-test-queries.txt",
            "antique-test.qrel",
        )
    ),
    read=_read,
    notes=(
        "Written against the published description of the files, which were not at hand: no count was "
        "checked. Its readme has 2,426 training questions with 27,422 judgements and 200 test questions with "
        "6,589.",
        "Correct is a grade of 3 or 4, as the readme recommends. Dev is a tenth of the training questions, "
        f"at most {_DEV_QUESTIONS}, drawn with seed {_DEV_SEED}.",
    ),
)
