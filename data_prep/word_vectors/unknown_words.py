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


def may_be_misspelt(word: str) -> bool:
    """Say whether `meant_words` looks for what a word is meant for."""
    return len(word) >= _LETTERS_FOR_ONE and word.isalpha()


def meant_words(misspelt: Sequence[str], words: Sequence[str]) -> list[int | None]:
    """Find what misspelt words are meant for, by their places in `words`; None where there is none.

    One letter may be missing, added, another, or have changed places with its neighbour in a word of five
    letters or more, two in a word of nine or more. Of several the first one counts.

    Example:
        >>> meant_words(["pasword", "lost"], ["sword", "password", "last"])
        [1, None]
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found: list[int | None] = [None] * len(misspelt)
    looked_for = [place for place, word in enumerate(misspelt) if may_be_misspelt(word)]
    if not looked_for or not words:
        return found
    asked = [misspelt[place] for place in looked_for]
    # All at once, which takes a tenth of the time of one after the other; what differs more counts as 3.
    edits = process.cdist(asked, words, scorer=OSA.distance, score_cutoff=2, dtype=np.uint8)
    for place, word, row, nearest in zip(looked_for, asked, edits, edits.argmin(axis=1), strict=True):
        if row[nearest] <= (1 if len(word) < _LETTERS_FOR_TWO else 2):
            found[place] = int(nearest)
    return found
