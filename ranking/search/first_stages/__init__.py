"""The first stages of a search: to add one, write its file and enter it here.

An entry is plain data, which the help of the command, the page and the documents read; a first stage is
imported when an index needs it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from answer_ranking.base.errors import UserError


@dataclass(frozen=True)
class Entry:
    """What is to know about a first stage without importing it."""

    name: str
    """Small letters and digits."""
    title: str
    """What it compares, in a word."""
    about: str
    """What it finds."""
    load: Callable[[], Any]
    """Imports and makes it, see `protocol.FirstStage`."""
    needs_model: bool = False
    needs_questions: bool = False
    """Only an FAQ's index has it, which holds questions beside answers."""
    most_answers: int | None = None
    """A new index has it by itself up to so many answers; None: always; 0: where it is asked for."""
    lowest: float | None = None
    """The score of a text that has nothing in common with a question; None where no score says that."""
    facts: tuple[str, ...] = ()
    """What it tells of a question beside scores; see `Searcher.facts`."""
    files: tuple[str, ...] = ()
    """How the names of its files, or of their folder, begin."""

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z0-9]+", self.name):
            raise ValueError(f"a first stage is named by small letters and digits. Received: {self.name!r}")


def _made(module: str, name: str) -> Any:
    return getattr(import_module(f"{__name__}.{module}"), name)()


TERM_FACTS = ("terms", "most")
"""How many terms a question has, and the highest score that a text can have which has all known ones."""
FIRST_STAGES: tuple[Entry, ...] = (
    Entry(
        "nearest",
        "meaning",
        "the model's nearest points",
        partial(_made, "nearest", "Nearest"),
        needs_model=True,
        files=("points.", "ball-"),
    ),
    Entry(
        "questions",
        "similar questions",
        "the nearest points of an FAQ's own questions",
        partial(_made, "nearest", "NearestQuestions"),
        needs_model=True,
        needs_questions=True,
        most_answers=20_000,
        files=("questions.", "questions-"),
    ),
    Entry(
        "exact",
        "meaning, compared in full",
        "the nearest of all points, however many",
        partial(_made, "nearest", "Exact"),
        needs_model=True,
        most_answers=0,
        files=("points.",),
    ),
    Entry(
        "bm25",
        "words",
        "words in common, by BM25",
        partial(_made, "bm25", "BM25"),
        lowest=0,
        facts=TERM_FACTS,
        files=("words.", "bm25-"),
    ),
    Entry(
        "ngrams",
        "letters",
        "runs of 3 to 5 letters in common, by BM25: finds misspelled words",
        partial(_made, "ngrams", "NGrams"),
        most_answers=20_000,
        lowest=0,
        facts=TERM_FACTS,
        files=("ngrams.", "ngrams-"),
    ),
)
MOST_COUNTED = max(entry.most_answers or 0 for entry in FIRST_STAGES)
"""Of more answers than so many no first stage depends on their number."""
FUSIONS = {
    "questions+both": ("nearest", "questions", "bm25"),
    "both": ("nearest", "bm25"),
    "ngrams+bm25": ("bm25", "ngrams"),
}
"""Fusions that an index with these first stages offers, its default first.

Any others are asked for by the names of their parts, such as "ngrams+nearest".
"""


def names_for(*, with_model: bool, with_questions: bool, n_answers: int) -> list[str]:
    """Name the first stages that a new index has unless others are asked for."""
    names = []
    for entry in FIRST_STAGES:
        is_small = entry.most_answers is None or n_answers <= entry.most_answers
        if is_small and not _lacking(entry, with_model, with_questions):
            names.append(entry.name)
    return names


def check_names(names: Sequence[str], *, with_model: bool, with_questions: bool) -> list[str]:
    """Give the first stages that were asked for in the order of the list; a UserError refuses one."""
    try:
        entries = entries_of(names)
    except ValueError as error:
        raise UserError(f"first_stages: {error}.") from error
    for entry in entries:
        if lacking := _lacking(entry, with_model, with_questions):
            raise UserError(f"the first stage {entry.name!r} needs {lacking}, or leave it out.")
    return [entry.name for entry in entries]


def _lacking(entry: Entry, with_model: bool, with_questions: bool) -> str:
    """Say what a first stage needs that an index has not; "" for nothing."""
    if entry.needs_model and not with_model:
        return "a model. Give one"
    if entry.needs_questions and not with_questions:
        return "a column of questions. Name it"
    return ""


def entries_of(names: Iterable[str]) -> list[Entry]:
    """Give the entries of these names, in the order of the list; a ValueError names an unknown one."""
    by_name = {entry.name: entry for entry in FIRST_STAGES}
    if len(by_name) < len(FIRST_STAGES) or by_name.keys() & FUSIONS.keys():
        raise RuntimeError("two entries of FIRST_STAGES, or one and a fusion, have the same name")
    for name in names:
        if name not in by_name:
            raise ValueError(f"{name!r:.40} is none of {', '.join(by_name)}")
    return [entry for entry in FIRST_STAGES if entry.name in names]


def features_of(names: Iterable[str]) -> list[str]:
    """Name what these first stages tell of an answer and its question: a score each, and facts.

    Example:
        >>> features_of(["nearest", "bm25"])
        ['nearest', 'bm25', 'bm25 terms', 'bm25 most']
    """
    features = []
    for entry in entries_of(names):
        features += [entry.name, *(f"{entry.name} {fact}" for fact in entry.facts)]
    return features


def choices_of(names: Sequence[str]) -> list[str]:
    """Name what can be asked of an index that has these first stages, the default first.

    Example:
        >>> choices_of(["nearest", "bm25"])
        ['both', 'nearest', 'bm25']
    """
    return [fusion for fusion, parts in FUSIONS.items() if set(parts) <= set(names)] + list(names)


def parts_of(name: str) -> list[str]:
    """Name the first stages that are asked for at once.

    Example:
        >>> parts_of("ngrams+both")
        ['ngrams', 'nearest', 'bm25']
    """
    parts: list[str] = []
    for each in name.split("+"):
        parts += FUSIONS.get(each, (each,))
    return list(dict.fromkeys(parts))


def title_of(name: str) -> str:
    """Say in words what is compared.

    Example:
        >>> title_of("both")
        'meaning and words'
    """
    return " and ".join(entry.title for entry in entries_of(parts_of(name)))


def describe() -> str:
    """Describe all that can be asked for, as the command's help does."""
    described = [f"{entry.name}, {entry.about}" for entry in FIRST_STAGES]
    for name, parts in FUSIONS.items():
        described.append(f"{name}, the scores of {' and '.join(parts)}, fused")
    return (
        "; ".join(described) + '; or several with "+" between them, which are fused, such as ngrams+nearest'
    )


def describe_needs() -> str:
    """Say which first stages a new index has, as the command's help does."""
    described = []
    for entry in FIRST_STAGES:
        needs = ["with a model"] if entry.needs_model else []
        needs += ["with questions"] if entry.needs_questions else []
        if entry.most_answers == 0:
            needs.append("must be named")
        elif entry.most_answers is not None:
            needs.append(f"up to {entry.most_answers:,} answers")
        described.append(f"{entry.name} ({', '.join(needs)})" if needs else entry.name)
    return ", ".join(described)
