"""The words of texts, and how often each text has them: what BM25 keeps of a segment."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from answer_ranking.data_prep.words import words_of
from answer_ranking.ranking.search.manifest import damaged

WORDS = "words.npz"
"""The file of a segment that holds what `counts_of` gives."""


def counts_of(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Count the words of some texts.

    Returns `words` (UTF-8, a line each, as bytes), in how many of the texts each occurs (`texts`), in which,
    word by word (`rows`), how often in each of these (`times`), and how many words each text has (`lengths`).
    """
    numbers: dict[str, int] = {}
    of_word: list[int] = []
    lengths = np.zeros(len(texts), np.int32)
    for row, text in enumerate(texts):
        words = words_of(text)
        lengths[row] = len(words)
        of_word += [numbers.setdefault(word, len(numbers)) for word in words]
    row_of_word = np.repeat(np.arange(len(texts)), lengths)
    every = np.array(of_word, np.int64) * len(texts) + row_of_word
    pairs, times = np.unique(every, return_counts=True)
    word_of_pair, rows = np.divmod(pairs, len(texts))
    return {
        "words": np.frombuffer("\n".join(numbers).encode(), np.uint8),
        "texts": np.bincount(word_of_pair, minlength=len(numbers)).astype(np.int32),
        "rows": rows.astype(np.min_scalar_type(len(texts))),
        "times": times.astype(np.min_scalar_type(int(times.max(initial=0)))),
        "lengths": lengths,
    }


class AllWords(NamedTuple):
    """The words of all texts."""

    numbers: dict[str, int]
    in_texts: np.ndarray
    """In how many texts each word occurs, int64 `(words,)`."""
    places: list[np.ndarray]
    """For each file of counts, the numbers of its words, int32."""
    n_texts: int
    n_words: int
    """How many words the texts have, those that recur counted again."""


def read_all_words(counted: Sequence[Path]) -> AllWords:
    """Number the words of several counts, and add up in how many texts each occurs."""
    numbers: dict[str, int] = {}
    in_texts, places, n_texts, n_words = np.empty(0, np.int64), [], 0, 0
    for path in counted:
        with reading(path) as counts:
            words, texts, lengths = counts["words"].tobytes(), counts["texts"], counts["lengths"]
        listed = words.decode().split("\n") if words else []
        place = np.array([numbers.setdefault(word, len(numbers)) for word in listed], np.int32)
        in_texts = np.pad(in_texts, (0, len(numbers) - len(in_texts)))
        in_texts[place] += texts
        places.append(place)
        n_texts += len(lengths)
        n_words += int(lengths.sum())
    return AllWords(numbers, in_texts, places, n_texts, n_words)


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Open what `counts_of` counted."""
    try:
        with np.load(path) as counts:
            yield counts
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise damaged(path, error) from error
