"""ANTIQUE: non-factoid questions of Yahoo Answers with graded answers (Hashemi et al. 2020)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError, damaged
from answer_ranking.data_prep.description import DatasetDescription, known_files
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.readers.rows import TableRows, read_pairs
from answer_ranking.data_prep.tables import numbered_lines

_DEV_SEED = 2020
_DEV_QUESTIONS = 200


def read_antique(collection: str, queries: str, qrels: str, where: Sequence[str]) -> pd.DataFrame:
    """Join ANTIQUE's answers, questions and judgements; the judgements' order is the table's.

    Grades run from 1 to 4; 3 and 4 are correct, as its authors say to do for binary measures.
    """
    answers = read_pairs(collection, where[0], may_be_empty=True)
    questions = read_pairs(queries, where[1], may_be_empty=True)
    rows = TableRows(where[2])
    rows.n_questions = len(questions)
    for number, line in numbered_lines(qrels):
        fields = line.split()
        if len(fields) != 4 or fields[3] not in ("1", "2", "3", "4"):
            what = "not a question, a word, an answer and a grade from 1 to 4"
            raise damaged(f"{where[2]}, line {number}", what)
        question, _, answer, grade = fields
        for name, known, file in ((question, questions, where[1]), (answer, answers, where[0])):
            if name not in known:
                what = f"{name!r} is not in {file}"
                raise damaged(f"{where[2]}, line {number}", what, "both files")
        if answers[answer]:
            rows.add(number, question, questions[question], answer, answers[answer], grade in "34")
        else:
            rows.skipped["judged answers without text"] += 1
    return rows.table()


_FOLDER = "antique"
_COLLECTION = f"{_FOLDER}/antique-collection.txt"


def _read(variant: str, files: DataFiles) -> tuple[pd.DataFrame, ...]:
    tables = []
    for split in ("train", "test"):
        paths = (_COLLECTION, f"{_FOLDER}/antique-{split}-queries.txt", f"{_FOLDER}/antique-{split}.qrel")
        tables.append(read_antique(files(paths[0]), files(paths[1]), files(paths[2]), paths))
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
    source="Hashemi et al. 2020, https://ciir.cs.umass.edu/downloads/Antique/",
    licence="for research, see the readme.txt at its source",
    files=known_files(
        _COLLECTION,
        f"{_FOLDER}/antique-train-queries.txt",
        f"{_FOLDER}/antique-train.qrel",
        f"{_FOLDER}/antique-test-queries.txt",
        f"{_FOLDER}/antique-test.qrel",
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
