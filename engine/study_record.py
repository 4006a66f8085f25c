"""The record of a study, which nothing smaller replaces."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from answer_ranking.base.errors import UserError
from answer_ranking.base.files import check_writable
from answer_ranking.evaluation.records import read_study, save_study

Extent = Mapping[str, int | Collection]
"""What a study covers: how many seeds, which conditions."""


def _seeds(record: Mapping[str, Any]) -> Extent:
    return {"seeds": record["seeds"]}


def refuse_to_lose(
    path: Path,
    subject: Mapping[str, str],
    extent: Extent,
    extent_of: Callable[[dict[str, Any]], Extent] = _seeds,
    needed: Collection[str] = ("seeds", "conditions"),
) -> None:
    """Refuse with a UserError to replace a record of something else, or of more.

    Args:
        path: the record's file, which may be missing.
        subject: the values that the record has to have, such as its data set.
        extent: what the new record would cover.
        extent_of: says what a recorded study covers.
        needed: keys without which the file is no record of this study.
    """
    if not path.exists():
        return
    recorded = read_study(path, {*subject, *needed})
    others = [recorded[name] for name in subject if recorded[name] != subject[name]]
    if others:
        raise UserError(f"{path} is a record of {', '.join(others)}. Give another --record.")
    lost = []
    for name, old in extent_of(recorded).items():
        if more := _more(old, extent.get(name, old)):
            lost.append(f"{name}: {', '.join(map(str, more))}")
    if lost:
        raise UserError(
            f"{path} is a record with more than this would leave: {'; '.join(lost)}. "
            "Ask for as much, or give another --record."
        )


def _more(old: int | Collection, new: Any) -> list:
    if isinstance(old, int):
        return [old] if old > new else []
    return sorted(set(old) - set(new))


class StudyRecord:
    """The file of a study's record; without a path there is none.

    It is checked before the work and again when it is written, since another process may have written it.
    """

    def __init__(
        self,
        path: Path | None,
        subject: Mapping[str, str],
        extent: Extent,
        extent_of: Callable[[dict[str, Any]], Extent] = _seeds,
        needed: Collection[str] = ("seeds", "conditions"),
    ):
        """Check what is there, see `refuse_to_lose` for the arguments."""
        self.path = path
        self._check = partial(
            refuse_to_lose, subject=subject, extent=extent, extent_of=extent_of, needed=needed
        )
        if path:
            check_writable(path.parent)
            self._check(path)

    def write(self, record: Mapping[str, Any]) -> None:
        """Write the record and say where it is."""
        if self.path:
            self._check(self.path)
            save_study(record, self.path)
            print(f"wrote {self.path}")
