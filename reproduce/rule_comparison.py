"""A trained ranker beside rules that need no training, question by question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from data_prep import DatasetDescription, EncodedSplit
from evaluation import (
    holm_correction,
    paired_randomisation_test,
    questions_that_count,
)
from evaluation.ranking import scores_as_trec_eval_reads, tie_order
from reproduce.experiment import per_question
from reproduce.lexical_baselines import evaluated_rows, split_scores

RIVALS = ("BM25", "WO")
"""The rules against which a ranker is tested."""


@dataclass(frozen=True)
class RuleComparison:
    """What a ranker and the rules do on the questions of a split that have a correct candidate.

    Attributes:
        model: the ranker's name.
        measured: per name, "Random", the rivals and the ranker, the metrics of each question, indexed by
            `question_id`; the mean over the seeds of the ranker, or over random orders of ties.
        p_values: per rival, the p-value of a paired randomisation test on average precision, corrected after
            Holm.
        first: per question, `question` and, per rival and for the ranker, the candidate ranked first
            (`NAME`), and whether it is correct (`NAME correct`).
    """

    model: str
    measured: dict[str, pd.DataFrame]
    p_values: dict[str, float]
    first: pd.DataFrame

    def differences(self, rival: str) -> pd.Series:
        """The ranker's average precision minus a rival's, per question."""
        return self.measured[self.model]["map"] - self.measured[rival]["map"]

    def examples(self, rival: str, number: int) -> dict[str, pd.DataFrame]:
        """Give the questions on which the ranker wins or loses most against a rival.

        Args:
            rival: the rule's name.
            number: how many of either kind at most.

        Returns:
            Under "wins" and "losses" the rows of `first` with the `difference`, the largest first.

        Example:
            >>> comparison.examples("BM25", 3)["wins"]["question"]  # doctest: +SKIP
        """
        table = self.first.assign(difference=self.differences(rival))
        table = table.sort_values("difference", kind="stable", ascending=False)
        wins, losses = table[table["difference"] > 0], table[table["difference"] < 0][::-1]
        return {"wins": wins.head(number), "losses": losses.head(number)}


def compare_with_rules(
    table: pd.DataFrame,
    split: EncodedSplit,
    description: DatasetDescription,
    scores: Sequence[np.ndarray],
    shown: np.ndarray,
    model: str,
    tie_seeds: int = 20,
) -> RuleComparison:
    """Set a ranker beside the rules on every question of a split that has a correct candidate.

    Args:
        table: the split's table.
        split: the same as arrays.
        description: the data set's description.
        scores: the scores of the rows, for each seed of the ranker.
        shown: the scores by which the candidate ranked first is shown, those of one seed.
        model: the ranker's name.
        tie_seeds: over how many random orders of ties a rule's metrics are averaged.

    Returns:
        The comparison.

    Raises:
        ValueError: there is no question with a correct candidate.

    Example:
        >>> compare_with_rules(table, split, OWN_TABLES, [scores], scores, "CTRN")  # doctest: +SKIP
    """
    by_rule = split_scores(table, description)
    rules = evaluated_rows(table, description, tie_seeds, by_rule)
    measured = {name: rules[name] for name in ("Random", *reversed(RIVALS))}
    for name in measured:
        # The rules give the questions in the table's order, as the split has them.
        measured[name] = measured[name].set_axis(split.question_ids)
    measured[model] = sum(per_question(split, each) for each in scores) / len(scores)
    counts = questions_that_count(measured[model], "answerable")
    if not counts.any():
        raise ValueError("there is no question with a correct candidate to compare on.")
    measured = {name: frame[counts] for name, frame in measured.items()}
    raw = [paired_randomisation_test(measured[model]["map"], measured[name]["map"]) for name in RIVALS]
    columns = {"question": table["question"].to_numpy(object)[split.candidate_offsets[:-1]]}
    for name, values in {model: shown, **{rival: by_rule[rival] for rival in RIVALS}}.items():
        rows = _first_rows(split, values)
        columns[name] = table["candidate"].to_numpy(object)[rows]
        columns[f"{name} correct"] = split.labels[rows] == 1
    first = pd.DataFrame(columns, index=pd.Index(split.question_ids, name="question_id"))[counts]
    return RuleComparison(
        model, measured, dict(zip(RIVALS, holm_correction(raw).tolist(), strict=True)), first
    )


def _first_rows(split: EncodedSplit, scores: np.ndarray) -> np.ndarray:
    """Find the row that each question's ranking begins with, ties broken as the metrics break them."""
    scores = scores_as_trec_eval_reads(scores)
    order = np.lexsort((-tie_order(len(scores)), -scores, split.question_of_row))
    return order[split.candidate_offsets[:-1]]
