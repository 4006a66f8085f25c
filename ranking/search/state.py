"""One state of an index, which stays as it is while others are written."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import allow_files
from answer_ranking.ranking.search.answers import QUESTION
from answer_ranking.ranking.search.checked_array import map_array
from answer_ranking.ranking.search.conditions import Where, check_columns, conditions_of
from answer_ranking.ranking.search.first_stages import Entry, choices_of, entries_of, parts_of
from answer_ranking.ranking.search.first_stages.fusion import Fusion, Part
from answer_ranking.ranking.search.first_stages.protocol import IndexFiles, Searcher
from answer_ranking.ranking.search.manifest import NAME, Manifest, name_of, reading
from answer_ranking.ranking.search.results import Candidates, Hits
from answer_ranking.ranking.search.segments import Segments

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker


_LOOKED_AT = 1_000  # rows among which questions are sought
_PASSAGES = 10  # times as many passages are found as answers asked for, since one may have several
_DEEPEST = 100_000  # passages of a question; beyond, no further answers are looked for


def deleted_name(rows: np.ndarray) -> str:
    """Name the file of the numbers of deleted rows by its content."""
    return f"deleted-{name_of(rows.tobytes().hex())}.npy"


class State:
    """The open files of one state.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path, manifest: Manifest, ranker: "Callable[[], Ranker]"):
        self.manifest = manifest
        allow_files(2 * len(manifest.segments))
        self.segments = Segments(folder, manifest)
        files = IndexFiles(folder, manifest, ranker)
        self._searchers: dict[str, Searcher] = {}
        for entry in _entries(folder, manifest):
            self._searchers[entry.name] = entry.load().open(files)
        self.deleted = np.empty(0, np.int64)
        if manifest.deleted:
            self.deleted = _deleted(folder / manifest.deleted, manifest)

    @property
    def choices(self) -> list[str]:
        """The first stages, and the fusions that have a name; the default first."""
        choices = choices_of(list(self._searchers))
        default = self.manifest.default_stage
        return list(dict.fromkeys([default, *choices])) if default else choices

    def searcher(self, name: str) -> Searcher:
        """Give a first stage, or the fusion of several; a UserError lists those that the index has."""
        parts = parts_of(name)
        for part in parts:
            if part not in self._searchers:
                raise UserError(
                    f"the index has no first stage {part!r:.40}: choose one of {', '.join(self.choices)}, or "
                    "several with + between them. What an index has is chosen when it is built."
                )
        if len(parts) == 1:
            return self._searchers[parts[0]]
        return Fusion([Part(self._searchers[entry.name], entry.lowest) for entry in entries_of(parts)])

    @cached_property
    def n_answers(self) -> int:
        """Count the answers, deleted ones left out; the passages of one are one."""
        if not self.manifest.passage_length:
            return self.manifest.rows - self.manifest.n_deleted
        return len(np.unique(np.delete(self._answer_of_row, self.deleted)))

    def search(self, name: str, questions: Sequence[str], k: int, depth: int, where: Where) -> Candidates:
        """Find the best `depth` rows for each question by a first stage, or by the fusion of several.

        Of passages ten times as many are found, and of further answers the best one, until there are `k`
        answers: the passages of one may be very many.
        """
        searcher, keep = self.searcher(name), self.kept(where)
        if not self.manifest.passage_length:
            return searcher.search(questions, depth, keep)
        depth *= _PASSAGES
        found, deeper = searcher.search(questions, depth, keep), depth
        lacking = list(range(len(questions)))
        while deeper < _DEEPEST:
            lacking = [place for place in lacking if self._may_lack(k, found.rows[place], deeper)]
            if not lacking:
                break
            deeper *= 2
            again = searcher.search([questions[place] for place in lacking], deeper, keep)
            for place, rows, scores in zip(lacking, again.rows, again.scores, strict=True):
                found.rows[place], found.scores[place] = rows, scores
        for place, rows in enumerate(found.rows):
            is_first = ~pd.Series(self._answer_of_row[rows]).duplicated().to_numpy()
            kept = (np.arange(len(rows)) < depth) | (is_first & (is_first.cumsum() <= k))
            found.rows[place], found.scores[place] = rows[kept], found.scores[place][kept]
        return found

    def _may_lack(self, k: int, rows: np.ndarray, depth: int) -> bool:
        """Say whether the best `depth` rows for a question are passages of fewer than `k` answers."""
        return len(rows) >= depth and len(np.unique(self._answer_of_row[rows])) < k

    @cached_property
    def _answer_of_row(self) -> np.ndarray:
        """Number the answers of which the rows are passages, `(rows,)`."""
        encoded = self.segments.column("candidate_id").dictionary_encode().unify_dictionaries()
        return np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])

    def kept(self, where: Where) -> np.ndarray | None:
        """Say which rows may be found, bool `(rows,)`; None for all."""
        conditions = conditions_of(where)
        check_columns(conditions, self.segments.schema.names)
        if not conditions and not len(self.deleted):
            return None
        keep = np.ones(self.manifest.rows, bool)
        keep[self.deleted] = False
        for condition in conditions:
            keep &= condition.holds(self.segments.column(condition.column))
        return keep

    def features(self, questions: Sequence[str], rows: Sequence[np.ndarray]) -> pd.DataFrame:
        """Give what says how sure the rows are that were found for each question, a row each, in turn.

        These are the score of every first stage, NaN where it finds none, and what it tells of the question.
        """
        found: dict[str, np.ndarray] = {}
        for name, searcher in self._searchers.items():
            parts = [np.empty(0)]
            for question, own in zip(questions, rows, strict=True):
                parts.append(_scores_of(searcher, question, own, self.manifest.rows))
            found[name] = np.concatenate(parts)
            for fact, values in searcher.facts(questions).items():
                found[f"{name} {fact}"] = np.repeat(values, [len(own) for own in rows])
        return pd.DataFrame(found)

    def is_first_passage(self, hits: Hits) -> np.ndarray:
        """Say which hits are the first passages of their answers, for each question, bool `(hits,)`."""
        answer = self._answer_of_row[hits.row]
        return ~pd.DataFrame({"question": hits.question, "answer": answer}).duplicated().to_numpy()

    def ids(self) -> pd.Series:
        """Read the identifiers of all rows, deleted ones included."""
        return self.segments.column("candidate_id").to_pandas().astype(object)

    def texts(self) -> pa.Table:
        """Read the questions, where there are any, and the answers of all rows, deleted ones included."""
        names = [name for name in (QUESTION, "candidate") if name in self.segments.schema.names]
        return pa.table({name: self.segments.column(name) for name in names})

    def questions(self, n: int) -> list[str]:
        """Give up to `n` of the first questions, spread over them; [] where the index holds none."""
        if QUESTION not in self.manifest.columns:
            return []
        rows = np.setdiff1d(np.arange(min(self.manifest.rows, _LOOKED_AT)), self.deleted)
        asked = self.segments.take(rows)[QUESTION].drop_null().unique().to_pylist()
        return asked[:: max(1, len(asked) // n)][:n]

    def rows_of(self, ids: pd.Series) -> np.ndarray:
        """Find the rows of identifiers, int64, deleted ones left out; a passage is a row of its answer's."""
        is_one = self.ids().isin(ids).to_numpy(copy=True)
        is_one[self.deleted] = False
        return np.flatnonzero(is_one)

    def lacks(self, ids: pd.Series) -> pd.Series:
        """Give those identifiers that no row has which is not deleted."""
        return ids[~ids.isin(self.ids().drop(self.deleted))]


def _scores_of(searcher: Searcher, question: str, rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Score some rows for a question, float64; NaN for those that the first stage does not find."""
    if not len(rows):
        return np.empty(0)
    keep = np.zeros(n_rows, bool)
    keep[rows] = True
    found = searcher.search([question], len(rows), keep)
    return pd.Series(found.scores[0], found.rows[0], dtype=float).reindex(rows).to_numpy()


def _entries(folder: Path, manifest: Manifest) -> list[Entry]:
    with reading(folder / NAME):
        entries = entries_of(manifest.first_stages)
        if not manifest.similarity and any(entry.needs_model for entry in entries):
            raise ValueError("a first stage needs a model")
    return entries


def _deleted(path: Path, manifest: Manifest) -> np.ndarray:
    with reading(path):
        rows = np.array(map_array(path))
        n = manifest.n_deleted
        if rows.dtype != np.int64 or rows.shape != (n,):
            raise ValueError(f"{rows.dtype} {rows.shape} instead of int64 ({n},)")
        if deleted_name(rows) != path.name:
            raise ValueError("it is not what was written")
        if rows.min() < 0 or rows.max() >= manifest.rows:
            raise ValueError("it names rows that do not exist")
    return rows
