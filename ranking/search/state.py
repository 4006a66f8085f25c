"""One state of an index, which stays as it is while others are written."""

from collections.abc import Callable, Sequence
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
from answer_ranking.ranking.search.manifest import NAME, Manifest, damaged, name_of
from answer_ranking.ranking.search.results import Hits
from answer_ranking.ranking.search.segments import Segments

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker


_LOOKED_AT = 1_000  # rows among which questions are sought


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
        ids = self.segments.take(hits.row)["candidate_id"].to_pandas()
        return ~pd.DataFrame({"question": hits.question, "id": ids}).duplicated().to_numpy()

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
    try:
        entries = entries_of(manifest.first_stages)
        if not manifest.similarity and any(entry.needs_model for entry in entries):
            raise ValueError("a first stage needs a model")
    except ValueError as error:
        raise damaged(folder / NAME, error) from error
    return entries


def _deleted(path: Path, manifest: Manifest) -> np.ndarray:
    try:
        rows = np.array(map_array(path))
        n = manifest.n_deleted
        if rows.dtype != np.int64 or rows.shape != (n,):
            raise ValueError(f"{rows.dtype} {rows.shape} instead of int64 ({n},)")
        if deleted_name(rows) != path.name:
            raise ValueError("it is not what was written")
        if rows.min() < 0 or rows.max() >= manifest.rows:
            raise ValueError("it names rows that do not exist")
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error
    return rows
