"""What is asked of an index."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.tables import check_table
from answer_ranking.ranking.search.answers import plain_names, read_rows


def questions_of(questions: "str | Sequence[str] | Path | pd.DataFrame") -> pd.DataFrame:
    """Check questions and give their identifiers, q1, q2, ... unless they have their own."""
    where, unit, lines = "the table of questions", "row", None
    if isinstance(questions, Path):
        where, unit = str(questions), "line"
        questions, lines = read_rows(questions)
    if isinstance(questions, pd.DataFrame):
        table = plain_names(questions, where, ("question_id", "question"))
        if "question" not in table.columns:
            found = ", ".join(map(str, questions.columns)) or "none"
            raise UserError(f"{where}: no column is called 'question' (found: {found}). Rename one.")
    else:
        where, unit = "the questions", "question"
        table = pd.DataFrame({"question": [questions] if isinstance(questions, str) else list(questions)})
    if not len(table):
        raise UserError(f"{where}: there are no questions.")
    if "question_id" not in table.columns:
        table = table.assign(question_id=[f"q{i}" for i in range(1, len(table) + 1)])
    rows = table.assign(candidate="-", candidate_id=range(len(table)))
    checked = check_table(rows, where, lines, unit=unit, labelled=False)
    return checked[["question_id", "question"]].drop_duplicates().reset_index(drop=True)
