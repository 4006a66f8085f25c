"""What is asked of an index."""

from collections.abc import Sequence

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.search.answers import plain_names


def questions_of(questions: "str | Sequence[str] | pd.DataFrame") -> pd.DataFrame:
    """Check questions and give their identifiers, q1, q2, ... unless they have their own."""
    if isinstance(questions, pd.DataFrame):
        table = plain_names(questions, "the table of questions", ("question_id", "question"))
        if "question" not in table.columns:
            raise UserError("the table of questions has no column 'question'. Rename one.")
    else:
        table = pd.DataFrame({"question": [questions] if isinstance(questions, str) else list(questions)})
    if not len(table):
        raise UserError("there are no questions.")
    if "question_id" not in table.columns:
        table = table.assign(question_id=[f"q{i}" for i in range(1, len(table) + 1)])
    for number, text in enumerate(table["question"], start=1):
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"question {number} is empty. Write it or leave it out.")
    table = table.astype(str).drop_duplicates().reset_index(drop=True)
    twice = table["question_id"][table["question_id"].duplicated()]
    if len(twice):
        raise UserError(f"the question_id {twice.iloc[0]!r} has two questions. Give every question its own.")
    return table
