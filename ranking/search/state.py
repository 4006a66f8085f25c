"""One state of an index, which stays as it is while others are written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.search.ball import Ball
from answer_ranking.ranking.search.bm25 import WordIndex
from answer_ranking.ranking.search.manifest import Manifest, damaged, name_of
from answer_ranking.ranking.search.segments import Segments, matching


def deleted_name(rows: np.ndarray) -> str:
    """Name the file of the numbers of deleted rows by its content."""
    return f"deleted-{name_of(rows.tobytes().hex())}.npy"


class State:
    """The open files of one state.

    Raises:
        UserError: a file is damaged.
    """

    def __init__(self, folder: Path, manifest: Manifest):
        self.manifest = manifest
        self.segments = Segments(folder, manifest)
        self.words = WordIndex(folder / manifest.bm25)
        self.points: Ball | None = None
        if manifest.similarity:
            quantised = folder / manifest.ball if manifest.ball else None
            self.points = Ball(self.segments, manifest.similarity, quantised, manifest.ball_rows)
        self.deleted = np.empty(0, np.int64)
        if manifest.deleted:
            try:
                self.deleted = np.load(folder / manifest.deleted)
                if deleted_name(self.deleted) != manifest.deleted:
                    raise ValueError("it is not what was written")
            except (OSError, ValueError, EOFError) as error:
                raise damaged(folder / manifest.deleted, error) from error

    def kept(self, where: Mapping[str, Any]) -> np.ndarray | None:
        """Say which rows may be found, bool `(rows,)`; None for all."""
        if not where and not len(self.deleted):
            return None
        keep = np.ones(self.manifest.rows, bool)
        keep[self.deleted] = False
        known = self.segments.schema.names
        for name, value in where.items():
            if name not in known:
                raise UserError(f"the index has no column {name!r}: it has {', '.join(known)}.")
            several = not isinstance(value, str) and isinstance(value, (Sequence, np.ndarray, set, pd.Series))
            try:
                keep &= matching(self.segments.column(name), list(value) if several else [value])
            except (pa.ArrowException, OverflowError) as error:
                raise UserError(f"the column {name!r} cannot be compared with {value!r}: {error}.") from error
        return keep

    def ids(self) -> pd.Series:
        """Read the identifiers of all rows, deleted ones included."""
        return self.segments.column("candidate_id").to_pandas().astype(object)

    def rows_of(self, ids: pd.Series) -> np.ndarray:
        """Find the rows of identifiers, int64; -1 where there is none, or none that is not deleted."""
        own = self.ids()
        rows = np.delete(np.arange(len(own)), self.deleted)
        place = pd.Index(own.to_numpy()[rows]).get_indexer(pd.Index(ids.astype(object)))
        return np.where(place < 0, -1, rows[place] if len(rows) else -1)
