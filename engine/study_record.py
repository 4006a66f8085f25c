"""The record of a study, which nothing smaller replaces."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable
from answer_ranking.evaluation.records import read_study, save_study

Extent = Mapping[str, int | Collection]
"""What a study covers: how many seeds, which conditions."""


def _seeds(record: Mapping[str, Any]) -> Extent:
    seeds = record["seeds"]
    return {"seeds": seeds if isinstance(seeds, int) else len(seeds)}


@dataclass(frozen=True)
class StudyRecord:
    """The file of a study's record; without a path there is none.

    It is checked before the work and again when it is written, since another process may have written it.

    Attributes:
        path: the record's file, which may be missing.
        subject: the values that the record has to have, such as its data set.
        extent: what the new record would cover.
        extent_of: says what a recorded study covers.
        needed: keys without which the file is no record of this study.
    """

    path: Path | None
    subject: Mapping[str, str]
    extent: Extent
    extent_of: Callable[[dict[str, Any]], Extent] = _seeds
    needed: Collection[str] = ("seeds", "conditions")

    def __post_init__(self) -> None:
        if self.path:
            check_writable(self.path.parent)
        self.check()

    def check(self) -> None:
        """Refuse with a UserError to replace a record of something else, or of more."""
        if not self.path or not self.path.exists():
            return
        recorded = read_study(self.path, {*self.subject, *self.needed})
        others = [recorded[name] for name in self.subject if recorded[name] != self.subject[name]]
        if others:
            raise UserError(f"{self.path} is a record of {', '.join(others)}. Give another --record.")
        lost = []
        for name, old in self.extent_of(recorded).items():
            if more := _more(old, self.extent.get(name, old)):
                lost.append(f"{name}: {', '.join(map(str, more))}")
        if lost:
            raise UserError(
                f"{self.path} is a record with more than this would leave: {'; '.join(lost)}. "
                "Ask for as much, or give another --record."
            )

    def write(self, record: Mapping[str, Any]) -> None:
        """Write the record and say where it is."""
        if self.path:
            self.check()
            save_study(record, self.path)
            print(f"wrote {self.path}")


def _more(old: int | Collection, new: Any) -> list:
    if isinstance(old, int):
        return [old] if old > new else []
    return sorted(set(old) - set(new))
