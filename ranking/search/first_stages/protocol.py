"""What a first stage of a search is: see `FirstStage`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from answer_ranking.ranking.search.first_stages.asked_points import AskedPoints
from answer_ranking.ranking.search.first_stages.word_options import WordOptions
from answer_ranking.ranking.search.manifest import Manifest, StageFolder
from answer_ranking.ranking.search.results import Candidates
from answer_ranking.ranking.search.tasks import Model

if TYPE_CHECKING:
    from answer_ranking.ranking.ranker import Ranker


class Texts(NamedTuple):
    """The texts of the rows of a segment."""

    answers: list[str]
    questions: list[str]
    """An FAQ's own ones; of a row without one, or with a blank one, the answer."""
    searched: list[str]
    """The columns in which a question's words are looked for, joined: an FAQ's question and answer."""
    words: WordOptions


@dataclass(frozen=True)
class IndexFiles:
    """One state of an index on disk, as a first stage sees it."""

    folder: Path
    manifest: Manifest
    ranker: Callable[[], "Ranker"]
    """Loads the index's model when a search needs it."""

    @cached_property
    def asked(self) -> AskedPoints:
        """Encodes questions once for all first stages that compare points."""
        return AskedPoints(self.ranker)

    @property
    def segments(self) -> list[Path]:
        """The folders of the segments, in order."""
        return [self.folder / "segments" / name for name, _ in self.manifest.segments]


class Searcher(Protocol):
    """An open first stage. Safe to use from several threads."""

    def search(self, questions: Sequence[str], k: int, keep: np.ndarray | None) -> Candidates:
        """Find the `k` best rows for each question, among those of `keep`, bool `(rows,)`; None for all."""
        ...

    def facts(self, questions: Sequence[str]) -> dict[str, np.ndarray]:
        """Tell of each question what says how sure a score is, float64 `(questions,)`, or nothing.

        The entry of the first stage (`FIRST_STAGES`) names it.
        """
        return {}


class FirstStage(Protocol):
    """A way to find some answers among very many.

    Building calls `encode` for every new segment, maybe on another machine, then `build` once. A new first
    stage is a file with such a class, and an entry in `FIRST_STAGES`.
    """

    name: str

    def encode(self, texts: Texts, model: Model | None) -> dict[str, pa.Buffer]:
        """Make the files of a segment from its texts, by their names."""
        ...

    def build(self, files: IndexFiles, name: str, ray: Any) -> StageFolder | None:
        """Write what depends on all rows into a new folder.

        `name` tells these rows from others: a folder that bears it was finished before. None: the folder
        of before, if there was one, is still right.
        """
        ...

    def open(self, files: IndexFiles) -> Searcher:
        """Open the files."""
        ...
