"""Which columns of a user's table are ours."""

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.tables import COLUMNS

CANDIDATE_SYNONYMS = ("answer", "answers", "text")


class ColumnNames:
    """Which columns of a table are ours: those of our names, in capitals or not, or as the user says.

    `theirs` maps our names to the user's. Where no column is a candidate's, the first that there is of those
    named answer, answers or text is.
    """

    def __init__(self, theirs: Mapping[str, str] | None = None, *, labelled: bool = True) -> None:
        self._theirs = dict(theirs or {})
        if unknown := set(self._theirs).difference(COLUMNS):
            raise UserError(f"unknown column {min(unknown)!r}: choose from {', '.join(COLUMNS)}.")
        self._ours = {name: name for name in COLUMNS if name not in self._theirs}
        self._ours |= {plain_name(name): ours for ours, name in self._theirs.items()}
        self._synonyms = () if "candidate" in self._theirs else CANDIDATE_SYNONYMS
        self._labelled = labelled
        # A table without labels has correct candidates alone, unless the user says where the labels are.
        with_labels = labelled and "label" in self._theirs
        self._required = ("question", "candidate", "label")[: 3 if with_labels else 2]

    def __contains__(self, name: object) -> bool:
        return plain_name(name) in self._ours or plain_name(name) in self._synonyms

    def standard(self, found: Iterable[object]) -> list[object]:
        """Write the names that are ours as we do, and leave the others as they are."""
        found = list(found)
        plain = list(map(plain_name, found))
        # Where the user names another column for ours, the one of our name is any other.
        named = {name: f"other {name}" for name in self._theirs} | self._ours
        if "candidate" not in map(named.get, plain):
            synonyms = (name for name in self._synonyms if name in plain and name not in named)
            named |= dict.fromkeys(islice(synonyms, 1), "candidate")
        return [named.get(each, name) for each, name in zip(plain, found, strict=True)]

    def tell(self, header: Iterable[object]) -> bool:
        """Say whether a header names all columns that a table must have."""
        return set(self._required) <= set(self.standard(header))

    def require(self, found: Iterable[object], where: str | Path) -> None:
        """Raise a UserError that names a column that is missing, and the option that names it."""
        found = list(found)
        missing = [name for name in self._required if name not in self.standard(found)]
        if missing:
            names = ", ".join(str(name).strip() for name in found) or "none"
            label = ", and label where some are wrong" if self._labelled else ""
            raise UserError(
                f"{where}: the column {self._theirs.get(missing[0], missing[0])!r} is missing (found: "
                f"{names:.500}). The header must name question and candidate{label}; say with "
                f"--{missing[0]}-column how it is named there."
            )


class EveryColumn(ColumnNames):
    """All columns of a table, as they are called there; one of ours tells a header."""

    def __contains__(self, name: object) -> bool:
        return True

    def standard(self, found: Iterable[object]) -> list[object]:
        return list(found)

    def tell(self, header: Iterable[object]) -> bool:
        return any(map(super().__contains__, header))

    def require(self, found: Iterable[object], where: str | Path) -> None:
        """Require nothing: what is missing is the caller's to say."""


def plain_name(name: object) -> str:
    """Write the name of a column as all that are the same to us: in small letters, without blanks around it.

    Example:
        >>> plain_name(" Question ")
        'question'
    """
    return str(name).strip().lower()
