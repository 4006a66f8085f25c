"""What ranking at random and ranking by shared words reach on a table, for its card."""

import numpy as np
import pandas as pd

from data_prep.protocols import apply_protocol
from data_prep.tokens import Tokenizer

_ORDERS = 20


def rule_baselines(
    table: pd.DataFrame, tokenizer: Tokenizer, rule: str = "answerable", *, seed: int = 0
) -> dict[str, float]:
    """Measure the mean average precision of rankings that need no training.

    The questions without a correct candidate are left out. Ties are broken at random; the figures are means
    over 20 seeded orders. `reproduce/lexical_baselines.py` measures more rules, by trec_eval's code.

    Args:
        table: the rows, with the columns of every data set.
        tokenizer: splits the texts into words.
        rule: which questions count, see `data_prep.protocols`.
        seed: seeds the orders.

    Returns:
        "random": any order; "word overlap": by the number of distinct words that question and candidate have
        in common. 0 where no question has a correct candidate.

    Example:
        >>> table = pd.DataFrame({"question_id": ["q"] * 2, "question": ["who ran"] * 2,
        ...     "candidate_id": ["a", "b"], "candidate": ["she ran", "no"], "label": [1, 0]})
        >>> rule_baselines(table, Tokenizer(pretokenised=True))["word overlap"]
        1.0
    """
    table = apply_protocol(table, rule)
    question = pd.factorize(table["question_id"])[0]
    label = table["label"].to_numpy()
    overlap = _overlap(table, tokenizer)
    rng = np.random.default_rng(seed)
    figures: dict[str, list[float]] = {"random": [], "word overlap": []}
    for _ in range(_ORDERS):
        chance = rng.random(len(table))
        for name, scores in (("random", np.zeros(len(table))), ("word overlap", overlap)):
            ranking = np.lexsort((chance, -scores, question))
            figures[name].append(_mean_average_precision(question[ranking], label[ranking]))
    return {name: float(np.mean(values)) for name, values in figures.items()}


def _overlap(table: pd.DataFrame, tokenizer: Tokenizer) -> np.ndarray:
    """Count the words that question and candidate of every row have in common."""
    number, words = {}, {}
    for column in ("question", "candidate"):
        number[column], texts = pd.factorize(table[column].to_numpy(object))
        words[column] = [set(tokens) for tokens in tokenizer(list(texts))]
    pairs = zip(number["question"], number["candidate"], strict=True)
    return np.array([len(words["question"][q] & words["candidate"][c]) for q, c in pairs], float)


def _mean_average_precision(question: np.ndarray, label: np.ndarray) -> float:
    """Average over the questions with a correct row; the rows of a question stand together, best first."""
    if not label.any():
        return 0.0
    first = np.flatnonzero(np.diff(question, prepend=-1))[question]
    correct_before = np.concatenate([[0], np.cumsum(label)])
    rows = np.flatnonzero(label)
    precision = (correct_before[rows + 1] - correct_before[first[rows]]) / (rows + 1 - first[rows])
    return float(pd.Series(precision).groupby(question[rows]).mean().mean())
