"""Counting a data set, and finding out whether the order of its candidates gives the label away."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from answer_ranking.data_prep.dataset import Dataset
from answer_ranking.data_prep.tables import apply_protocol
from answer_ranking.data_prep.vocabulary import Tokenizer

# Chance puts every correct candidate before every wrong one in few questions; so many are the files' doing.
_GIVEN_AWAY = 0.9


def dataset_statistics(dataset: Dataset) -> pd.DataFrame:
    """Count every split under "all" and every protocol of the data set, see `table_statistics`."""
    rules = {"all": "all", **dataset.description.protocols}
    return table_statistics(dataset.splits, rules, Tokenizer(dataset.description.pretokenised))


def table_statistics(
    tables: Mapping[str, pd.DataFrame], rules: Mapping[str, str], tokenizer: Tokenizer
) -> pd.DataFrame:
    """Count tables by name under protocols and their rules, one row each.

    The columns are `split`, `protocol`; `questions` (with those that have no candidates, where the table's
    `attrs` name them), `pairs`, `correct`; `question_tokens` and `candidate_tokens`, means per question and
    per candidate; `order_map`, mean average precision over the questions with a correct candidate when
    candidates are ranked by their order in the file; `correct_first` and `correct_last`, the shares of
    questions with both kinds of candidates in which every correct one stands before, or after, every wrong
    one; and `order`, "correct first" or "correct last" where that share is at least 90 %, else "".
    """
    known: dict[str, int] = {}
    counted = {name: _with_lengths(table, tokenizer, known) for name, table in tables.items()}
    return pd.DataFrame(
        {"split": name, "protocol": protocol, **_count(apply_protocol(table, rule))}
        for name, table in counted.items()
        for protocol, rule in rules.items()
    )


def _with_lengths(table: pd.DataFrame, tokenizer: Tokenizer, known: dict[str, int]) -> pd.DataFrame:
    """Add the columns of lengths in tokens; `known` keeps the length of every text, split once."""
    lengths = {}
    for column in ("question", "candidate"):
        text_of_row, texts = pd.factorize(table[column].to_numpy(object))
        for text in texts:
            if text not in known:
                known[text] = len(tokenizer([text])[0])
        lengths[f"{column}_tokens"] = np.array([known[text] for text in texts], np.int64)[text_of_row]
    counted = table.assign(**lengths)
    counted.attrs = dict(table.attrs)
    return counted


def _count(table: pd.DataFrame) -> dict:
    groups = table.groupby("question_id", sort=False)
    per_question = groups["question_tokens"].first()
    position = groups.cumcount().to_numpy()
    label = table["label"].to_numpy()
    correct_so_far = groups["label"].cumsum().to_numpy()
    rows = pd.DataFrame(
        {
            "question_id": table["question_id"],
            "precision": np.where(label == 1, correct_so_far / (position + 1), np.nan),
            "last_correct": np.where(label == 1, position, -1),
            "first_correct": np.where(label == 1, position, len(table)),
            "correct": label,
        }
    )
    by_question = rows.groupby("question_id", sort=False).agg(
        average_precision=("precision", "mean"),  # of the correct ranks only: the others are missing
        last_correct=("last_correct", "max"),
        first_correct=("first_correct", "min"),
        correct=("correct", "sum"),
        size=("correct", "size"),
    )
    mixed = by_question[(by_question["correct"] > 0) & (by_question["correct"] < by_question["size"])]
    first = _mean(mixed["last_correct"] == mixed["correct"] - 1)
    last = _mean(mixed["first_correct"] == mixed["size"] - mixed["correct"])
    return {
        "questions": len(per_question) + table.attrs.get("questions_without_candidates", 0),
        "pairs": len(table),
        "correct": int(label.sum()),
        "question_tokens": _mean(per_question),
        "candidate_tokens": _mean(table["candidate_tokens"]),
        "order_map": _mean(by_question["average_precision"].dropna()),
        "correct_first": first,
        "correct_last": last,
        "order": "correct first" if first >= _GIVEN_AWAY else "correct last" if last >= _GIVEN_AWAY else "",
    }


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else 0.0
