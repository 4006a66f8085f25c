"""Which questions count: the rules behind the published "filtered", "raw" and "clean" evaluations."""

import numpy as np
import pandas as pd

from data_prep.errors import UserError

RULES = ("all", "answerable", "clean")


def counts_under(rule: str, n_correct: np.ndarray, n_wrong: np.ndarray) -> np.ndarray:
    """Tell for every question whether it counts.

    Args:
        rule: "all"; "answerable", at least one correct candidate; "clean", one correct and one wrong.
        n_correct: correct candidates per question, integers (n_questions,).
        n_wrong: wrong candidates per question, integers (n_questions,).

    Returns:
        bool (n_questions,).

    Raises:
        UserError: the rule is unknown.

    Example:
        >>> import numpy as np
        >>> counts_under("clean", np.array([1, 2, 0]), np.array([3, 0, 4])).tolist()
        [True, False, False]
    """
    if rule == "all":
        return np.ones(len(n_correct), bool)
    if rule == "answerable":
        return np.asarray(n_correct) > 0
    if rule == "clean":
        return (np.asarray(n_correct) > 0) & (np.asarray(n_wrong) > 0)
    raise UserError(f"unknown protocol rule {rule!r}: choose one of {', '.join(RULES)}.")


def apply_protocol(table: pd.DataFrame, rule: str) -> pd.DataFrame:
    """Keep the rows of the questions that count under a rule.

    Args:
        table: the columns `question_id` and `label` and any others.
        rule: see `counts_under`.

    Returns:
        The kept rows in their order, numbered from 0.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"question_id": ["a", "a", "b"], "label": [1, 0, 0]})
        >>> apply_protocol(table, "answerable")["question_id"].tolist()
        ['a', 'a']
    """
    questions = table.groupby("question_id", sort=False)["label"].agg(["sum", "size"])
    keep = counts_under(rule, questions["sum"].to_numpy(), (questions["size"] - questions["sum"]).to_numpy())
    kept = table[table["question_id"].isin(questions.index[keep])].reset_index(drop=True)
    # A question without candidates has no row; it counts under "all" only.
    kept.attrs = dict(table.attrs) if rule == "all" else {}
    return kept
