"""Run and relevance files in TREC's format, which every ranking tool reads."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from data_prep.errors import UserError
from data_prep.files import atomic_write
from evaluation.ranking import scores_as_trec_eval_reads, tie_order

_RUN_COLUMNS = ["question_id", "candidate_id", "rank", "score", "tag"]


def _checked_ids(ids: Sequence[str], what: str, path: str | Path) -> list[str]:
    """Refuse ids that the format, which separates fields by white space, cannot hold."""
    for row, text in enumerate(ids):
        if not isinstance(text, str) or not text or re.search(r"\s", text):
            raise UserError(
                f"{path}: the {what} of row {row + 1} is {text!r}; TREC files need text without white space. "
                "Rename it."
            )
    return list(ids)


def _refuse_repeated(question_ids: list[str], candidate_ids: list[str], path: str | Path) -> None:
    pairs = pd.MultiIndex.from_arrays([question_ids, candidate_ids])
    if pairs.has_duplicates:
        question, candidate = pairs[pairs.duplicated()][0]
        raise UserError(
            f"{path}: question {question!r} has two candidates with the id {candidate!r}. Give each its own."
        )


def write_run(
    path: str | Path,
    question_ids: Sequence[str],
    candidate_ids: Sequence[str],
    scores: ArrayLike,
    *,
    tag: str = "answer-ranking",
    tie_seed: int = 0,
) -> None:
    """Write a ranking as a TREC run file: `question Q0 candidate rank score tag`.

    Tied candidates are ranked as `evaluate_ranking` ranks them, and their written scores are set apart by the
    least float32 step, so that trec_eval gives the file exactly the values reported here.

    Args:
        path: the file to write; nothing is left half-written.
        question_ids: the question of each candidate, without white space.
        candidate_ids: the id of each candidate, unique within its question, without white space.
        scores: higher is better; rounded to float32.
        tag: name of the run, without white space.
        tie_seed: the seed given to `evaluate_ranking`.

    Raises:
        UserError: an id or the tag holds white space, or a question repeats a candidate id.
        ValueError: a score is not finite, or the lengths differ.

    Example:
        >>> write_run("/tmp/example.run", ["q1", "q1"], ["a", "b"], [0.5, 0.75])
        >>> print(Path("/tmp/example.run").read_text(), end="")
        q1 Q0 b 1 0.75 answer-ranking
        q1 Q0 a 2 0.5 answer-ranking
    """
    scores = scores_as_trec_eval_reads(scores)
    if not len(question_ids) == len(candidate_ids) == len(scores):
        raise ValueError(
            "question_ids, candidate_ids and scores must be parallel. "
            f"Received: lengths {len(question_ids)}, {len(candidate_ids)}, {len(scores)}."
        )
    question_ids = _checked_ids(question_ids, "question id", path)
    candidate_ids = _checked_ids(candidate_ids, "candidate id", path)
    _checked_ids([tag], "tag", path)
    _refuse_repeated(question_ids, candidate_ids, path)

    codes, _ = pd.factorize(np.asarray(question_ids, dtype=object))
    order = np.lexsort((-tie_order(len(scores), tie_seed), -scores, codes))
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

    Args:
        path: a file as `write_run` writes it.

    Returns:
        Columns `question_id`, `candidate_id` (str), `rank` (int), `score` (float64) and `tag` (str), in the
        order of the file.

    Raises:
        UserError: the file is missing, or a line has not the six fields.

    Example:
        >>> write_run("/tmp/example.run", ["q1", "q1"], ["a", "b"], [0.5, 0.75])
        >>> read_run("/tmp/example.run")["candidate_id"].tolist()
        ['b', 'a']
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text. Give a TREC run file.") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            question, _, candidate, rank, score, tag = line.split()
            rows.append((question, candidate, int(rank), float(score), tag))
        except ValueError as error:
            raise UserError(
                f"{path}, line {number}: expected 'question Q0 candidate rank score tag', found {line!r}. "
                "Correct the line or write the file again."
            ) from error
    return pd.DataFrame(rows, columns=_RUN_COLUMNS)


def write_qrels(
    path: str | Path, question_ids: Sequence[str], candidate_ids: Sequence[str], labels: ArrayLike
) -> None:
    """Write the correct answers as a TREC relevance file: `question 0 candidate label`.

    Args:
        path: the file to write; nothing is left half-written.
        question_ids: the question of each candidate, without white space.
        candidate_ids: the id of each candidate, unique within its question, without white space.
        labels: 1 for a correct candidate, 0 for a wrong one.

    Raises:
        UserError: an id holds white space, or a question repeats a candidate id.
        ValueError: the lengths differ or a label is not 0 or 1.

    Example:
        >>> write_qrels("/tmp/example.qrels", ["q1", "q1"], ["a", "b"], [1, 0])
        >>> print(Path("/tmp/example.qrels").read_text(), end="")
        q1 0 a 1
        q1 0 b 0
    """
    labels = np.asarray(labels)
    if not len(question_ids) == len(candidate_ids) == len(labels):
        raise ValueError(
            "question_ids, candidate_ids and labels must be parallel. "
            f"Received: lengths {len(question_ids)}, {len(candidate_ids)}, {len(labels)}."
        )
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"labels must be 0 or 1. Received: {sorted(set(labels.tolist()) - {0, 1})[:5]}.")
    question_ids = _checked_ids(question_ids, "question id", path)
    candidate_ids = _checked_ids(candidate_ids, "candidate id", path)
    _refuse_repeated(question_ids, candidate_ids, path)
    with atomic_write(path) as file:
        file.writelines(
            f"{question} 0 {candidate} {int(label)}\n"
            for question, candidate, label in zip(question_ids, candidate_ids, labels, strict=True)
        )
