"""What is asked of an index."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.tables import HALF_CHARACTER, check_table, has_half_character, is_blank
from answer_ranking.ranking.search.answers import plain_names, read_rows

Questions: TypeAlias = str | Sequence[str] | Path | pd.DataFrame


class Asked(NamedTuple):
    """Questions with their identifiers."""

    ids: list[str]
    texts: list[str]


def questions_of(questions: Questions) -> Asked:
    """Check questions and give their identifiers, q1, q2, ... unless they have their own."""
    if isinstance(questions, Path):
        return _of_table(*read_rows(questions), str(questions))
    if isinstance(questions, pd.DataFrame):
        return _of_table(questions, None, "the table of questions")
    texts = [questions] if isinstance(questions, str) else list(questions)
    if not texts:
        raise UserError("there are no questions.")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise UserError(f"question {number} is not a text. Received: {text!r:.40}")
        if is_blank(text):
            raise UserError(f"question {number} is empty. Write it or leave it out.")
        if has_half_character(text):
            raise UserError(f"question {number} {HALF_CHARACTER}")
    return Asked(_numbered(len(texts)), texts)


def _of_table(table: pd.DataFrame, lines: Sequence[int] | None, where: str) -> Asked:
    asked = plain_names(table, where, ("question_id", "question"))
    if "question" not in asked.columns:
        found = ", ".join(map(str, table.columns)) or "none"
        raise UserError(f"{where}: no column is called 'question' (found: {found}). Rename one.")
    if "question_id" not in asked.columns:
        asked = asked.assign(question_id=_numbered(len(asked)))
    asked = asked.assign(candidate="-", candidate_id=range(len(asked)))
    unit = "row" if lines is None else "line"
    checked = check_table(asked, where, lines, unit=unit, labelled=False)
    distinct = checked[["question_id", "question"]].drop_duplicates()
    return Asked(distinct["question_id"].tolist(), distinct["question"].tolist())


def _numbered(n: int) -> list[str]:
    return [f"q{number}" for number in range(1, n + 1)]
