"""A trained ranker beside rules that need no training, question by question: as text and as one HTML file."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import escaped
from answer_ranking.data_prep import Dataset, EncodedSplit
from answer_ranking.evaluation import (
    holm_correction,
    paired_randomisation_test,
    per_question,
    questions_that_count,
    summarise,
)
from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.metrics import MAIN_METRICS, scores_as_trec_eval_reads, tie_order
from answer_ranking.evaluation.rules import measure_rules, rule_scores
from answer_ranking.evaluation.tables import METRIC_TITLES, text_table
from answer_ranking.ranking.pipelines import PipelineComparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIVALS = ("BM25", "WO")
"""The rules against which a ranker is tested."""
_TIE_SEEDS = 20
_TERMS = (
    "MAP: mean average precision, 1 where all correct answers come first. MRR: mean of 1 / the place of the "
    "first correct answer. P@1: share of the questions whose first answer is correct. Random, BM25 and WO "
    "need no training: any order, the words that question and answer share weighted by their rarity, and "
    "their number. p: how often chance alone would make a difference in MAP as large as this one (paired "
    "randomisation test, corrected after Holm for the number of rules); below 0.05 counts as sure. Ties are "
    "broken at random."
)

_PIPELINE_TERMS = (
    "MRR@10: mean of 1 / the place of the right answer, 0 where it is not among the first ten. Dev chooses "
    "the first row, what was trained on the table only where it is significantly better, since dev chose its "
    "epoch, too; test was searched once. A question of dev or test stands in no index. p: against the first "
    "row, on test, not corrected. ms: a question, asked together with others."
)
_REFUSAL_TERMS = (
    "Answered: the share of test's questions with an answer that is at least so sure. Foreign: questions of "
    "general knowledge that come with the package, to which the table has no answer. A logistic regression "
    "on the scores of the first stages (Platt, 1999) learns the confidence: right answers to dev's questions "
    "against wrong ones, and against what other foreign questions find. It is measured in the index that is "
    "to be built, without the questions of dev and test: for questions that stand in it P@1 is higher."
)


@dataclass(frozen=True)
class RuleComparison:
    """What a ranker and the rules do on the questions of a split that have a correct candidate.

    `measured` has, for "Random", the rivals and the ranker, the metrics of each question: means over the
    seeds of the ranker, or over random orders of ties. `p_values`, per rival: a paired randomisation test on
    average precision, corrected after Holm. `first` has, per question, `question` and, per rival and for the
    ranker, the candidate ranked first, after "right: " or "wrong: ".
    """

    model: str
    measured: dict[str, pd.DataFrame]
    p_values: dict[str, float]
    first: pd.DataFrame

    def differences(self, rival: str) -> pd.Series:
        """The ranker's average precision minus a rival's, per question."""
        return self.measured[self.model]["map"] - self.measured[rival]["map"]

    def examples(self, rival: str, number: int) -> dict[str, pd.DataFrame]:
        """The questions of the largest differences under "win" and "loss", the rival's columns of `first`."""
        table = self.first[["question", self.model, rival]].assign(difference=self.differences(rival))
        table = table.sort_values("difference", kind="stable", ascending=False)
        wins, losses = table[table["difference"] > 0], table[table["difference"] < 0][::-1]
        return {"win": wins.head(number), "loss": losses.head(number)}

    def outcome(self, rival: str) -> str:
        """On how many questions the ranker wins and loses, in a sentence."""
        differences = self.differences(rival)
        wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
        return (
            f"Against {rival}, {self.model} ranks better on {wins} of {len(differences)} questions and "
            f"worse on {losses} (average precision)."
        )

    def verdict(self) -> str:
        """Whether to use the ranker or the better of the rules, and how sure that is, in plain sentences."""
        means = {name: summarise(frame, "answerable")["map"] for name, frame in self.measured.items()}
        rival = max(self.p_values, key=means.__getitem__)
        ours, theirs, p = means[self.model], means[rival], self.p_values[rival]
        n = len(self.first)
        figures = f"MAP {ours:.3f} against {theirs:.3f} of {rival} on {n:,} questions, p = {p:.2g}"
        if p >= SIGNIFICANT:
            return (
                f"Use {rival}, which needs no training, until more questions decide: the difference between "
                f"{self.model} and {rival} may be chance ({figures})."
            )
        better, worse = (self.model, rival) if ours > theirs else (rival, self.model)
        return f"Use {better}: it ranks better than {worse}, and the difference is significant ({figures})."

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the metrics."""
        p_values = {name: f"{p:.3g}" for name, p in self.p_values.items()}
        rows = []
        for name, frame in self.measured.items():
            means = summarise(frame, "answerable")
            rows.append([name, *(f"{means[metric]:.3f}" for metric in MAIN_METRICS), p_values.get(name, "")])
        return ["test", *(METRIC_TITLES[metric] for metric in MAIN_METRICS), f"p ({self.model})"], rows


def compare_with_rules(
    dataset: Dataset, split: EncodedSplit, scores: Sequence[np.ndarray], shown: int, model: str
) -> RuleComparison:
    """Compare a ranker with the rules on every question of test that has a correct candidate.

    `split` is test encoded, `scores` are those of each seed, of which the mean is measured; `shown` is the
    seed whose scores say which candidate is ranked first.
    """
    table, description = dataset.test, dataset.description
    by_rule = rule_scores(table, description, ("Random", *RIVALS))
    rules = measure_rules(table, description, _TIE_SEEDS, by_rule)
    # The rules give the questions in the table's order, as the split has them.
    measured = {name: rules[name].set_axis(split.question_ids) for name in ("Random", *reversed(RIVALS))}
    measured[model] = sum(per_question(split, each) for each in scores) / len(scores)
    counts = questions_that_count(measured[model], "answerable")
    measured = {name: frame[counts] for name, frame in measured.items()}
    raw = [paired_randomisation_test(measured[model]["map"], measured[name]["map"]) for name in RIVALS]
    columns = {"question": table["question"].to_numpy(object)[split.candidate_offsets[:-1]]}
    ranked_by = {model: scores[shown]} | {rival: by_rule[rival] for rival in RIVALS}
    for name, values in ranked_by.items():
        rows = _first_rows(split, values)
        columns[name] = np.where(split.labels[rows] == 1, "right: ", "wrong: ").astype(object)
        columns[name] += table["candidate"].to_numpy(object)[rows]
    first = pd.DataFrame(columns, index=pd.Index(split.question_ids, name="question_id"))[counts]
    p_values = dict(zip(RIVALS, holm_correction(raw).tolist(), strict=True))
    return RuleComparison(model, measured, p_values, first)


def _first_rows(split: EncodedSplit, scores: np.ndarray) -> np.ndarray:
    """Find the row that each question's ranking begins with, ties broken as the metrics break them."""
    scores = scores_as_trec_eval_reads(scores)
    order = np.lexsort((-tie_order(len(scores)), -scores, split.question_of_row))
    return order[split.candidate_offsets[:-1]]


def print_comparison(comparison: RuleComparison, examples: int) -> None:
    """Print the table, and where the ranker wins and loses."""
    print(f"\n{comparison.verdict()}\n\n{text_table(*comparison.table())}\n{_TERMS}")
    for rival in comparison.p_values:
        print(f"\n{comparison.outcome(rival)}")
        for kind, rows in comparison.examples(rival, examples).items():
            for question, *texts, difference in rows.to_numpy():
                print(f"  {kind} ({difference:+.2f}): {_one_line(question)}")
                for name, text in zip((comparison.model, rival), texts, strict=True):
                    print(f"    {name} ranked first, {_one_line(text)}")


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


def html_report(
    comparison: RuleComparison,
    pipelines: PipelineComparison | None,
    result: dict[str, Any],
    histories: list[list[dict[str, float]]],
    examples: int,
) -> str:
    """Make the report of a training, one HTML file with its figures in it; see `train.TrainedRanker`."""
    from answer_ranking.evaluation.figures import answered_and_right, learning_curves, wins_and_losses
    from answer_ranking.ranking.pages import render

    differences = {rival: comparison.differences(rival) for rival in comparison.p_values}
    refusals = None
    if pipelines is not None and pipelines.refusals is not None:
        curve = pipelines.refusals.curve
        refusals = _embedded(answered_and_right(curve["answered"], curve["p1"], curve["foreign"]))
    return render(
        "report.html",
        title=f"{comparison.model} on {result['table']}",
        comparison=comparison,
        pipelines=pipelines,
        result=result,
        examples=examples,
        wins=_embedded(wins_and_losses(differences, model=comparison.model)),
        curves=_embedded(learning_curves(histories, title=comparison.model)),
        terms=_TERMS,
        pipeline_terms=_PIPELINE_TERMS,
        refusals=refusals,
        refusal_terms=_REFUSAL_TERMS,
    )


def _embedded(figure: "Figure") -> str:
    """Write a figure as an address that holds it."""
    image = BytesIO()
    figure.savefig(image, dpi=150, format="png")
    return f"data:image/png;base64,{b64encode(image.getvalue()).decode()}"
