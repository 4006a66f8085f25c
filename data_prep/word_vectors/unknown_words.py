"""Vectors of words that no source of word vectors knows, and the words that they may be meant for."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

_NGRAMS = range(3, 6)
_LONGEST = 100
"""Characters of a word that count: a hash of more takes time and tells no words apart."""

_SCALE = 0.05
# A short word has too many neighbours: one letter may differ from five letters on, two from nine on.
_LETTERS_FOR_ONE, _LETTERS_FOR_TWO = 5, 9


def hashed_vectors(words: Sequence[str], size: int) -> np.ndarray:
    """Make vectors of words from their characters, float32 (words, size).

    A word's vector is the sum of the fixed random vectors of its character 3- to 5-grams and of itself, as
    in fastText, brought to the expected norm of a normal vector of standard deviation 0.05. Equal words
    have equal vectors, and words that share many n-grams near ones.

    Example:
        >>> a, b, c = hashed_vectors(["zorbulator", "zorbulators", "frimbleton"], 300)
        >>> bool(a @ b > 5 * abs(a @ c))
        True
    """
    vectors = np.empty((len(words), size), np.float32)
    for row, word in enumerate(words):
        total = np.zeros(size, np.float32)
        for ngram in _ngrams(word[:_LONGEST]):
            total += drawn_vector(ngram, b"ngram", size)
        vectors[row] = total / np.linalg.norm(total) * (_SCALE * size**0.5)
    return vectors


def _ngrams(word: str) -> set[str]:
    marked = f"<{word}>"
    found = {marked}
    for n in _NGRAMS:
        found.update(marked[start : start + n] for start in range(len(marked) - n + 1))
    return found


def drawn_vector(text: str, purpose: bytes, size: int) -> np.ndarray:
    """Draw a vector from the normal distribution, float32 (size,), always the same for a text and purpose."""
    digest = blake2b(text.encode(), digest_size=16, person=purpose).digest()
    return np.random.default_rng(int.from_bytes(digest, "little")).standard_normal(size, np.float32)


def meant_word(word: str, words: Sequence[str]) -> int | None:
    """Find the word that a misspelt one is meant for, by its place in `words`; None where there is none.

    One letter may be missing, added, another, or have changed places with its neighbour in a word of five
    letters or more, two in a word of nine or more. Of several the first one counts.

    Example:
        >>> meant_word("pasword", ["sword", "password"]), meant_word("lost", ["last"])
        (1, None)
    """
    from rapidfuzz import process
    from rapidfuzz.distance import DamerauLevenshtein

    if len(word) < _LETTERS_FOR_ONE or not word.isalpha():
        return None
    most = 1 if len(word) < _LETTERS_FOR_TWO else 2
    found = process.extractOne(word, words, scorer=DamerauLevenshtein.distance, score_cutoff=most)
    return None if found is None else found[2]
