"""The terms of texts, and how often each text has them: what BM25 keeps of a segment."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from answer_ranking.ranking.search.manifest import reading


def counts_of(texts: Sequence[str], terms_of: Callable[[str], list[str]]) -> dict[str, np.ndarray]:
    """Count the terms of some texts, such as words.

    Returns `words` (the terms in UTF-8, a line each, as bytes), in how many of the texts each occurs
    (`texts`), in which, term by term (`rows`), how often in each of these (`times`), and how many terms each
    text has (`lengths`).
    """
    numbers: dict[str, int] = {}
    # Compact arrays: a text has hundreds of terms where these are runs of letters.
    term_of_pair, times_of_pair = array("i"), array("i")
    lengths, n_distinct = np.zeros(len(texts), np.int32), np.zeros(len(texts), np.int32)
    for row, text in enumerate(texts):
        counted = Counter(terms_of(text))
        lengths[row], n_distinct[row] = counted.total(), len(counted)
        term_of_pair.extend([numbers.setdefault(term, len(numbers)) for term in counted])
        times_of_pair.extend(counted.values())
    terms, times = np.array(term_of_pair, np.int32), np.array(times_of_pair, np.int32)
    by_term = np.argsort(terms, kind="stable")
    rows = np.repeat(np.arange(len(texts), dtype=np.min_scalar_type(len(texts))), n_distinct)
    return {
        "words": np.frombuffer("\n".join(numbers).encode(), np.uint8),
        "texts": np.bincount(terms, minlength=len(numbers)).astype(np.int32),
        "rows": rows[by_term],
        "times": times[by_term].astype(np.min_scalar_type(int(times.max(initial=0)))),
        "lengths": lengths,
    }


class AllTerms(NamedTuple):
    """The terms of all texts."""

    numbers: dict[str, int]
    in_texts: np.ndarray
    """In how many texts each term occurs, int64 `(terms,)`."""
    places: list[np.ndarray]
    """For each file of counts, the numbers of its terms, int32."""
    n_texts: int
    n_terms: int
    """How many terms the texts have, those that recur counted again."""


def read_all_terms(counted: Sequence[Path]) -> AllTerms:
    """Number the terms of several counts, and add up in how many texts each occurs."""
    numbers: dict[str, int] = {}
    in_texts, places, n_texts, n_terms = np.empty(0, np.int64), [], 0, 0
    for path in counted:
        with reading_counts(path) as counts:
            terms, texts, lengths = counts["words"].tobytes(), counts["texts"], counts["lengths"]
        listed = terms.decode().split("\n") if terms else []
        place = np.array([numbers.setdefault(term, len(numbers)) for term in listed], np.int32)
        in_texts = np.pad(in_texts, (0, len(numbers) - len(in_texts)))
        in_texts[place] += texts
        places.append(place)
        n_texts += len(lengths)
        n_terms += int(lengths.sum())
    return AllTerms(numbers, in_texts, places, n_texts, n_terms)


@contextmanager
def reading_counts(path: Path) -> Iterator[Any]:
    """Open what `counts_of` counted."""
    with reading(path), np.load(path) as counts:
        yield counts
