"""Measuring a run file, and testing it against another one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.metrics import (
    RUN_METRICS,
    mean_confidence_interval,
    scores_as_trec_eval_reads,
    tie_ids,
    trec_eval,
)
from answer_ranking.evaluation.runs import read_qrels, read_run, refuse_repeated
from answer_ranking.evaluation.significance import paired_randomisation_test
from answer_ranking.evaluation.tables import METRIC_TITLES, text_table

# trec_eval counts the labels of every grade.
_MOST_RELEVANT = 1_000
_DEPTH = 10
_JUDGED = f"judged@{_DEPTH}"
# Two values say nothing of their spread: the interval would be 13 times the half of their difference.
_LEAST_FOR_INTERVAL = 3


@dataclass(frozen=True)
class MeasuredRun:
    """What was found of a run.

    Attributes:
        per_question: a row per question that counts, 0 where it is not ranked; the columns are `RUN_METRICS`
            and `judged@10`, the share of the first ten candidates that have a judgement, NaN where there are
            none.
        unranked: how many questions that count are not ranked.
        unjudged: how many ranked questions have no judgement at all; these do not count.
        tied: in how many questions two candidates have the same score.
    """

    per_question: pd.DataFrame
    unranked: int
    unjudged: int
    tied: int

    def __str__(self) -> str:
        said = [f"ties in {self.tied}, ordered at random"]
        said.append(f"{_JUDGED} {self.per_question[_JUDGED].mean():.4f}")
        if self.unjudged:
            said.append(f"{self.unjudged} ranked without judgements (left out)")
        if self.unranked:
            said.append(f"{self.unranked} not ranked (counted as 0)")
        return ", ".join(reversed(said)) + "."


@dataclass(frozen=True)
class RunComparison:
    """The metrics of a run, and its difference from another one; `str` gives a table for the terminal.

    Attributes:
        questions: how many questions count.
        unanswerable: how many questions of the relevance file have no correct answer and are left out.
        runs: what was found of "run" and, with another run, "against".
        table: a row per metric with the columns `run` and `run_ci95` (half width of the 95 % t interval over
            the questions, NaN for fewer than three) and, with another run, `against`, `against_ci95`,
            `difference`, `difference_ci95` (run minus other) and `p` (paired randomisation test over the
            questions).
    """

    questions: int
    unanswerable: int
    runs: dict[str, MeasuredRun]
    table: pd.DataFrame

    @property
    def per_question(self) -> pd.DataFrame:
        """A row per run and question, with the columns `run`, `question_id` and the metrics."""
        parts = []
        for name, measured in self.runs.items():
            part = measured.per_question.reset_index()
            part.insert(0, "run", name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def __str__(self) -> str:
        shown = [name for name in ("run", "against", "difference") if name in self.table]
        rows = []
        for metric, values in self.table.iterrows():
            cells = [_with_interval(values[name], values[f"{name}_ci95"]) for name in shown]
            cells += [f"{values['p']:.3g}"] if "p" in values else []
            rows.append([_title(str(metric)), *cells])
        header = ["", *shown, "p"] if "p" in self.table else ["", *shown]
        notes = [f"{self.questions} questions."]
        if self.unanswerable:
            notes.append(f"{self.unanswerable} without a correct answer are left out.")
        for name, measured in self.runs.items():
            notes.append(f"{name}: {measured}")
        if self.questions >= _LEAST_FOR_INTERVAL:
            notes.append("\u00b1: half width of the 95 % t interval over the questions.")
        return f"{text_table(header, rows)}\n{' '.join(notes)}"

    def to_json(self, *, per_question: bool = False) -> str:
        """Give all that was found as JSON, with every question's values or without; NaN becomes null."""
        runs = {}
        for name, measured in self.runs.items():
            judged = measured.per_question[_JUDGED].mean()
            runs[name] = {
                _JUDGED: None if np.isnan(judged) else judged,
                "unranked": measured.unranked,
                "unjudged": measured.unjudged,
                "tied": measured.tied,
            }
        found = {
            "questions": self.questions,
            "unanswerable": self.unanswerable,
            "runs": runs,
            "metrics": json.loads(self.table.to_json(orient="index", double_precision=15)),
        }
        if per_question:
            rows = self.per_question.to_json(orient="records", double_precision=15)
            found["per_question"] = json.loads(rows)
        return json.dumps(found, indent=1, ensure_ascii=False)


def compare_runs(run: str | Path, qrels: str | Path, against: str | Path | None = None) -> RunComparison:
    """Measure a TREC run file, and test it against another one.

    Metrics are trec_eval's: labels above 0 are correct, and nDCG takes them as gains. Candidates of the same
    score are ordered at random (seeded), so that the order of the file cannot matter. A candidate that is not
    in the relevance file counts as wrong, and a correct one that the run leaves out as never found. Questions
    without a correct answer in the relevance file are left out. All of these are counted.

    `against` is another run file. A UserError names a file that is missing, or a malformed line, or says that
    a question has a candidate twice, that no question has a correct answer, or that a run ranks none of the
    questions.

    Example:
        >>> from answer_ranking.evaluation import write_qrels, write_run
        >>> write_qrels("example.qrels", ["q1", "q1", "q2", "q2"], list("abab"), [1, 0, 1, 0])
        >>> write_run("example.run", ["q1", "q1", "q2", "q2"], list("abab"), [0.5, 0.75, 1.0, 0.0])
        >>> compare_runs("example.run", "example.qrels").table["run"].head(4).round(3).to_dict()
        {'map': 0.75, 'mrr': 0.75, 'p@1': 0.5, 'ndcg@10': 0.815}
    """
    judged = _read_judgements(qrels)
    answerable = (judged["label"] > 0).groupby(judged["question_id"], sort=False).any()
    if not answerable.any():
        raise UserError(f"{qrels}: no question has a correct answer. Check the labels.")
    runs = {"run": _measure(run, judged, answerable, qrels)}
    if against is not None:
        runs["against"] = _measure(against, judged, answerable, qrels)
    n_questions = int(answerable.sum())
    return RunComparison(n_questions, len(answerable) - n_questions, runs, _table(runs))


def _read_judgements(path: str | Path) -> pd.DataFrame:
    judged = read_qrels(path)
    refuse_repeated(judged["question_id"].tolist(), judged["candidate_id"].tolist(), path)
    if (most := judged["label"].max()) > _MOST_RELEVANT:
        raise UserError(f"{path}: the label {most} is too large: at most {_MOST_RELEVANT:,}.")
    return judged


def _measure(path: str | Path, judged: pd.DataFrame, answerable: pd.Series, qrels: str | Path) -> MeasuredRun:
    ranked = read_run(path)
    refuse_repeated(ranked["question_id"].tolist(), ranked["candidate_id"].tolist(), path)
    questions = answerable.index[answerable]
    unjudged = set(ranked["question_id"]).difference(answerable.index)
    ranked = ranked[ranked["question_id"].isin(questions)]
    if ranked.empty:
        raise UserError(f"{path} ranks no question that counts in {qrels}. Check that they belong together.")
    try:
        ranked = ranked.assign(score=scores_as_trec_eval_reads(ranked["score"]))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    counted = judged[judged["question_id"].isin(questions)]
    counted = counted.assign(label=counted["label"].clip(lower=0))
    unranked = len(questions.difference(ranked["question_id"]))
    tied = ranked[ranked.duplicated(["question_id", "score"])]["question_id"].nunique()
    values = _measured(ranked, counted, questions)
    return MeasuredRun(values, unranked, len(unjudged), tied)


def _measured(ranked: pd.DataFrame, judged: pd.DataFrame, questions: pd.Index) -> pd.DataFrame:
    """Measure the ranking of every question, 0 where there is none."""
    rows = judged.merge(ranked, how="outer", on=["question_id", "candidate_id"])
    rows["id"] = tie_ids(len(rows))
    qrels, run = _by_question(rows, "label", int), _by_question(rows, "score", float)
    found = trec_eval(qrels, run, RUN_METRICS)
    nothing = [0.0] * len(RUN_METRICS)
    values = [found.get(question, nothing) for question in questions]
    table = pd.DataFrame(values, index=questions, columns=list(RUN_METRICS))
    in_order = rows[rows["score"].notna()].sort_values(["score", "id"], ascending=False)
    first = in_order.groupby("question_id").head(_DEPTH)
    table[_JUDGED] = first["label"].notna().groupby(first["question_id"]).mean()
    return table


def _by_question(rows: pd.DataFrame, column: str, kind: type) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {}
    given = rows[rows[column].notna()]
    for question, group in given.groupby("question_id", sort=False):
        values[str(question)] = dict(zip(group["id"], group[column].astype(kind), strict=True))
    return values


def _table(runs: dict[str, MeasuredRun]) -> pd.DataFrame:
    values = {name: measured.per_question for name, measured in runs.items()}
    if "against" in values:
        values["difference"] = values["run"] - values["against"]
    table = pd.DataFrame(index=pd.Index(RUN_METRICS, name="metric"))
    for name, each in values.items():
        for metric in RUN_METRICS:
            mean, half_width = mean_confidence_interval(each[metric])
            table.loc[metric, name] = mean
            enough = len(each) >= _LEAST_FOR_INTERVAL
            table.loc[metric, f"{name}_ci95"] = half_width if enough else np.nan
    if "against" in values:
        for metric in RUN_METRICS:
            p = paired_randomisation_test(values["run"][metric], values["against"][metric])
            table.loc[metric, "p"] = p
    return table


def _title(metric: str) -> str:
    return METRIC_TITLES.get(metric, metric.capitalize())


def _with_interval(mean: float, half_width: float) -> str:
    return f"{mean:.4f}" if np.isnan(half_width) else f"{mean:.4f} \u00b1 {half_width:.4f}"
