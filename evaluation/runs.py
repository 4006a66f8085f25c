"""Run and relevance files in TREC's format, which every ranking tool reads."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import atomic_write, decode_text, read_content
from answer_ranking.evaluation.metrics import scores_as_trec_eval_reads, tie_order

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedSplit

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
    refuse_repeated(questions, candidates, path)
    return questions, candidates


def refuse_repeated(question_ids: Ids, candidate_ids: Ids, path: str | Path) -> None:
    """Raise a UserError that names a candidate which a question has twice."""
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

    Returns the columns `question_id`, `candidate_id` (str), `rank`, `score` (float64) and `tag` (str), in the
    order of the file. Nothing depends on the ranks: as in trec_eval the scores tell, and a rank that is not a
    number is NaN. A UserError names a line that has not the six fields.

    Example:
        >>> write_run("example.run", ["q1", "q1"], ["a", "b"], [0.5, 0.75])
        >>> read_run("example.run")["candidate_id"].tolist()
        ['b', 'a']
    """
    kinds = {"question_id": str, "candidate_id": str, "rank": str, "score": float, "tag": str}
    run = _read(path, _RUN, kinds)
    return run.assign(rank=pd.to_numeric(run["rank"], errors="coerce"))


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
