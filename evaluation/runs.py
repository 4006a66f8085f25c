"""Run and relevance files in TREC's format, which every ranking tool reads, and their comparison."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, decode_text, read_content
from answer_ranking.evaluation.metrics import (
    METRICS,
    mean_confidence_interval,
    scores_as_trec_eval_reads,
    tie_ids,
    tie_order,
    trec_eval,
)
from answer_ranking.evaluation.significance import paired_randomisation_test
from answer_ranking.evaluation.tables import METRIC_TITLES, text_table

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedSplit

# trec_eval counts the labels of every grade.
_MOST_RELEVANT = 1_000
_RUN, _QRELS = "question Q0 candidate rank score tag", "question 0 candidate label"

Ids: TypeAlias = Sequence[str] | np.ndarray


def _checked_ids(ids: Ids, what: str, path: str | Path) -> list[str]:
    """Refuse ids that the format, which separates fields by white space, cannot hold."""
    for row, text in enumerate(ids):
        if not isinstance(text, str) or not text or re.search(r"\s", text):
            raise UserError(
                f"{path}: the {what} of row {row + 1} is {text!r}; TREC files need text without white space. "
                "Rename it."
            )
    return list(ids)


def _checked_pairs(
    path: str | Path, question_ids: Ids, candidate_ids: Ids, **values: np.ndarray
) -> tuple[list[str], list[str]]:
    """Refuse columns of different lengths, and ids that a file cannot hold."""
    columns: dict[str, Any] = {"question_ids": question_ids, "candidate_ids": candidate_ids, **values}
    lengths = [len(each) for each in columns.values()]
    if len(set(lengths)) > 1:
        raise ValueError(f"{', '.join(columns)} must be parallel. Received: lengths {lengths}.")
    questions = _checked_ids(question_ids, "question id", path)
    candidates = _checked_ids(candidate_ids, "candidate id", path)
    _refuse_repeated(questions, candidates, path)
    return questions, candidates


def _refuse_repeated(question_ids: Ids, candidate_ids: Ids, path: str | Path) -> None:
    pairs = pd.MultiIndex.from_arrays([question_ids, candidate_ids])
    if pairs.has_duplicates:
        question, candidate = pairs[pairs.duplicated()][0]
        raise UserError(
            f"{path}: question {question!r} has two candidates with the id {candidate!r}. Give each its own."
        )


def write_run(
    path: str | Path,
    question_ids: Ids,
    candidate_ids: Ids,
    scores: ArrayLike,
    *,
    tag: str = "answer-ranking",
    tie_seed: int = 0,
) -> None:
    """Write a ranking as a TREC run file: `question Q0 candidate rank score tag`.

    Tied candidates are ranked as `evaluate_ranking` ranks them, and their written scores are set apart by the
    least float32 step, so that trec_eval gives the file exactly the values reported here.

    `scores` are rounded to float32; higher is better. Ids and `tag`, the name of the run, have no white
    space, and no question has a candidate twice, else it is a UserError. A score that is not finite, or
    columns of different lengths, are a ValueError.

    Example:
        >>> write_run("example.run", ["q1", "q1"], ["a", "b"], [0.5, 0.75])
        >>> print(Path("example.run").read_text(), end="")
        q1 Q0 b 1 0.75 answer-ranking
        q1 Q0 a 2 0.5 answer-ranking
    """
    scores = scores_as_trec_eval_reads(scores)
    ties = tie_order(len(scores), tie_seed)
    question_ids, candidate_ids = _checked_pairs(path, question_ids, candidate_ids, scores=scores)
    _checked_ids([tag], "tag", path)
    codes, _ = pd.factorize(np.asarray(question_ids, dtype=object))
    order = np.lexsort((-ties, -scores, codes))
    with atomic_write(path) as file:
        question, rank, previous = None, 0, np.float32(0)
        for row in order:
            if question_ids[row] != question:
                question, rank, score = question_ids[row], 1, scores[row]
            else:
                rank, score = rank + 1, min(scores[row], np.nextafter(previous, np.float32(-np.inf)))
            previous = score
            # Nine significant digits give a float32 back exactly.
            file.write(f"{question} Q0 {candidate_ids[row]} {rank} {score:.9g} {tag}\n")


def read_run(path: str | Path) -> pd.DataFrame:
    """Read a TREC run file.

    Returns the columns `question_id`, `candidate_id` (str), `rank` (int), `score` (float64) and `tag` (str),
    in the order of the file. A UserError names a line that has not the six fields.

    Example:
        >>> write_run("example.run", ["q1", "q1"], ["a", "b"], [0.5, 0.75])
        >>> read_run("example.run")["candidate_id"].tolist()
        ['b', 'a']
    """
    return _read(
        path, _RUN, {"question_id": str, "candidate_id": str, "rank": int, "score": float, "tag": str}
    )


def read_qrels(path: str | Path) -> pd.DataFrame:
    """Read a TREC relevance file.

    Returns the columns `question_id`, `candidate_id` (str) and `label` (int), in the order of the file. A
    UserError names a line that has not the four fields.

    Example:
        >>> write_qrels("example.qrels", ["q1", "q1"], ["a", "b"], [1, 0])
        >>> read_qrels("example.qrels")["label"].tolist()
        [1, 0]
    """
    return _read(path, _QRELS, {"question_id": str, "candidate_id": str, "label": int})


def _read(path: str | Path, expected: str, kinds: dict[str, type]) -> pd.DataFrame:
    """Read a file whose second field says nothing; `kinds` are the names and kinds of the others."""
    rows = []
    for number, line in enumerate(decode_text(read_content(path), path).split("\n"), start=1):
        if not line.strip():
            continue
        question, *fields = line.split()
        try:
            if "\0" in line:
                raise ValueError("a NUL byte, at which trec_eval ends a name")
            values = zip(kinds.values(), [question, *fields[1:]], strict=True)
            rows.append([kind(value) for kind, value in values])
        except ValueError as error:
            raise UserError(
                f"{path}, line {number}: expected '{expected}', found {line!r}. Correct the line."
            ) from error
    return pd.DataFrame(rows, columns=list(kinds))


def write_qrels(path: str | Path, question_ids: Ids, candidate_ids: Ids, labels: ArrayLike) -> None:
    """Write the correct answers as a TREC relevance file: `question 0 candidate label`.

    The ids have no white space, and no question has a candidate twice, else it is a UserError; labels that
    are not 0 or 1, or columns of different lengths, are a ValueError.

    Example:
        >>> write_qrels("example.qrels", ["q1", "q1"], ["a", "b"], [1, 0])
        >>> print(Path("example.qrels").read_text(), end="")
        q1 0 a 1
        q1 0 b 0
    """
    labels = np.asarray(labels)
    question_ids, candidate_ids = _checked_pairs(path, question_ids, candidate_ids, labels=labels)
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"labels must be 0 or 1. Received: {sorted(set(labels.tolist()) - {0, 1})[:5]}.")
    rows = zip(question_ids, candidate_ids, labels.astype(int).tolist(), strict=True)
    text = "".join(f"{question} 0 {candidate} {label}\n" for question, candidate, label in rows)
    with atomic_write(path) as file:
        file.write(text)


def write_split(
    folder: Path,
    name: str,
    split: "EncodedSplit",
    scores: Mapping[int, Mapping[str, ArrayLike]],
    protocols: Mapping[str, str],
) -> None:
    """Write a run per seed, whose `scores` are by split, and qrels of all and each protocol's questions."""
    of_row = split.question_of_row
    masks = list(map(split.counts_under, protocols.values()))
    ids, candidates = np.asarray(split.question_ids, object)[of_row], np.asarray(split.candidate_ids, object)
    write_qrels(folder / f"{name}.qrels", ids, candidates, split.labels)
    for protocol, mask in zip(protocols, masks, strict=True):
        rows = mask[of_row]
        write_qrels(folder / f"{name}.{protocol}.qrels", ids[rows], candidates[rows], split.labels[rows])
    for seed, of_seed in scores.items():
        write_run(folder / f"{name}-seed-{seed}.run", ids, candidates, of_seed[name])


@dataclass(frozen=True)
class RunComparison:
    """The metrics of a run, and its difference from another one; `str` gives a table for the terminal.

    `table` has a row per metric with the columns `run` and `run_ci95` (half width of the 95 % t interval over
    the questions) and, with another run, `against`, `against_ci95`, `difference`, `difference_ci95` (run
    minus other) and `p` (paired randomisation test over the questions).
    """

    questions: int  # that count
    unranked: tuple[int, ...]  # how many of them the run, and the other one, leave out; they count as 0
    tied: tuple[int, ...]  # in how many of them each gives two candidates the same score
    table: pd.DataFrame

    def __str__(self) -> str:
        shown = [name for name in ("run", "against", "difference") if name in self.table]
        columns = [
            [
                f"{mean:.4f}" if np.isnan(half) else f"{mean:.4f} ± {half:.4f}"
                for mean, half in self.table[[name, f"{name}_ci95"]].to_numpy()
            ]
            for name in shown
        ]
        if "p" in self.table:
            shown, columns = [*shown, "p"], [*columns, [f"{p:.3g}" for p in self.table["p"]]]
        titles = [METRIC_TITLES[metric] for metric in self.table.index]
        table = text_table(["", *shown], list(zip(titles, *columns, strict=True)))
        said = [
            f"{name}: {f'{unranked} not ranked (counted as 0), ' if unranked else ''}ties in {tied}, ordered "
            "at random."
            for name, unranked, tied in zip(("run", "against"), self.unranked, self.tied, strict=False)
        ]
        said.append("±: half width of the 95 % t interval over the questions.")
        return f"{table}\n{self.questions} questions. {' '.join(said)}"


def compare_runs(run: str | Path, qrels: str | Path, against: str | Path | None = None) -> RunComparison:
    """Measure a TREC run file, and test it against another one.

    Metrics are trec_eval's: labels above 0 are correct, and nDCG takes them as gains. Candidates of the same
    score are ordered at random (seeded), so that the order of the file cannot matter. A candidate that is not
    in the relevance file counts as wrong, and a correct one that the run leaves out as never found. Questions
    without a correct answer in the relevance file are left out.

    `against` is another run file. A UserError names a file that is missing, or a malformed line, or says that
    a question has a candidate twice, that no question has a correct answer, or that a run ranks none of the
    questions.

    Example:
        >>> write_qrels("example.qrels", ["q1", "q1", "q2", "q2"], list("abab"), [1, 0, 1, 0])
        >>> write_run("example.run", ["q1", "q1", "q2", "q2"], list("abab"), [0.5, 0.75, 1.0, 0.0])
        >>> compare_runs("example.run", "example.qrels").table["run"].round(3).to_dict()
        {'map': 0.75, 'mrr': 0.75, 'p@1': 0.5, 'ndcg@10': 0.815}
    """
    judged = read_qrels(qrels)
    _refuse_repeated(judged["question_id"].tolist(), judged["candidate_id"].tolist(), qrels)
    if (most := judged["label"].max()) > _MOST_RELEVANT:
        raise UserError(f"{qrels}: the label {most} is too large: at most {_MOST_RELEVANT:,}.")
    answerable = (judged["label"] > 0).groupby(judged["question_id"], sort=False).any()
    questions = answerable.index[answerable]
    if questions.empty:
        raise UserError(f"{qrels}: no question has a correct answer. Check the labels.")
    judged = judged[judged["question_id"].isin(questions)].assign(label=judged["label"].clip(lower=0))
    rankings = [_read_ranking(path, questions, qrels) for path in (run, against) if path is not None]
    measured = [_measured(ranked, judged, questions) for ranked in rankings]
    parts = dict(zip(("run", "against"), measured, strict=False))
    if against is not None:
        parts["difference"] = parts["run"] - parts["against"]
    table = pd.DataFrame(index=pd.Index(METRICS, name="metric"))
    for name, values in parts.items():
        intervals = [mean_confidence_interval(values[metric]) for metric in METRICS]
        table[[name, f"{name}_ci95"]] = intervals
    if against is not None:
        table["p"] = [paired_randomisation_test(parts["run"][m], parts["against"][m]) for m in METRICS]
    unranked = tuple(len(questions.difference(each["question_id"])) for each in rankings)
    tied = tuple(
        each[each.duplicated(["question_id", "score"])]["question_id"].nunique() for each in rankings
    )
    return RunComparison(len(questions), unranked, tied, table)


def _read_ranking(path: str | Path, questions: pd.Index, qrels: str | Path) -> pd.DataFrame:
    ranked = read_run(path)
    _refuse_repeated(ranked["question_id"].tolist(), ranked["candidate_id"].tolist(), path)
    ranked = ranked[ranked["question_id"].isin(questions)]
    if ranked.empty:
        raise UserError(f"{path} ranks no question that counts in {qrels}. Check that they belong together.")
    try:
        return ranked.assign(score=scores_as_trec_eval_reads(ranked["score"]))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error


def _measured(ranked: pd.DataFrame, judged: pd.DataFrame, questions: pd.Index) -> pd.DataFrame:
    """Measure the ranking of every question, 0 where there is none."""
    rows = judged.merge(ranked, how="outer", on=["question_id", "candidate_id"])
    rows["id"] = tie_ids(len(rows))
    qrels, run = (
        {
            question: dict(zip(group["id"], group[column].astype(kind), strict=True))
            for question, group in rows[rows[column].notna()].groupby("question_id", sort=False)
        }
        for column, kind in (("label", int), ("score", float))
    )
    found = trec_eval(qrels, run)
    values = [found.get(question, [0.0] * len(METRICS)) for question in questions]
    return pd.DataFrame(values, index=questions, columns=list(METRICS))
