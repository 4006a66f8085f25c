"""BERT's word pieces: a text as the numbers of the parts of words that an encoder knows."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from answer_ranking.base.errors import UserError

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_LONGEST_WORD = 100
"""A longer word is unknown as a whole, as in BERT."""
_MOST_KEPT = 200_000
_ASCII_WORDS = re.compile(r"[!-/:-@\[-`{-~]|[^\s!-/:-@\[-`{-~]+")
# Ideographs, each of which BERT takes for a word of its own.
_IDEOGRAPHS = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f])"
)


class WordPieces:
    """Splits texts as BERT's tokenizer does: words and punctuation marks, then the longest known parts.

    A part inside of a word is written with "##" before it.

    Args:
        pieces: the vocabulary, in the order of its numbers.
        lowercase: whether texts are put into lower case, without accents.
        where: the file of the vocabulary, for errors.

    Raises:
        UserError: a special piece, such as [CLS], is missing.

    Example:
        >>> pieces = WordPieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "play", "##ing", "?"])
        >>> pieces.split("Playing?"), pieces.numbers("Playing?").tolist()
        (['play', '##ing', '?'], [4, 5, 6])
    """

    def __init__(self, pieces: Sequence[str], lowercase: bool = True, where: object = "the vocabulary"):
        self._number = {piece: number for number, piece in enumerate(pieces)}
        missing = [piece for piece in _SPECIAL if piece not in self._number]
        if missing:
            raise UserError(f"{where} has no {', '.join(missing)}: it is not BERT's. Fetch it again.")
        self.pieces = list(pieces)
        self.lowercase = lowercase
        self.padding, self.unknown, self.begin, self.end = (self._number[piece] for piece in _SPECIAL)
        self._numbers_of_word = lru_cache(_MOST_KEPT)(self._parts)

    def numbers(self, text: str) -> np.ndarray:
        """Give the numbers of a text's pieces, int32 (n,), without [CLS] and [SEP]."""
        words = self._words(text)
        found = [number for word in words for number in self._numbers_of_word(word)]
        return np.array(found, np.int32)

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts into one list of pieces per text, as a `Tokenizer` does."""
        return [self.split(text) for text in texts]

    def split(self, text: str) -> list[str]:
        """Give a text's pieces as they are written in the vocabulary."""
        return [self.pieces[number] for number in self.numbers(text)]

    def _words(self, text: str) -> list[str]:
        if text.isascii():
            cleaned = text.translate(_ASCII_CONTROLS)
            return _ASCII_WORDS.findall(cleaned.lower() if self.lowercase else cleaned)
        cleaned = _IDEOGRAPHS.sub(r" \1 ", "".join(map(_cleaned, text)))
        if self.lowercase:
            decomposed = unicodedata.normalize("NFD", cleaned)
            # Character by character, as BERT's: Python writes a sigma at a word's end in its own way.
            cleaned = "".join(c.lower() for c in decomposed if unicodedata.category(c) != "Mn")
        apart = "".join(f" {c} " if _is_punctuation(c) else c for c in cleaned)
        return apart.split()

    def _parts(self, word: str) -> tuple[int, ...]:
        """Take the longest known part from the left, again and again; a rest that is not known spoils all."""
        if len(word) > _LONGEST_WORD:
            return (self.unknown,)
        parts, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._number.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self.unknown,)
            parts.append(number)
            start = end
        return tuple(parts)


@lru_cache(100_000)
def _cleaned(character: str) -> str:
    """Make white space of any kind a blank, and nothing of control characters."""
    if character in "\t\n\r" or unicodedata.category(character) == "Zs":
        return " "
    if character == "\ufffd" or unicodedata.category(character).startswith("C"):
        return ""
    return " " if character.isspace() else character


_ASCII_CONTROLS = {code: _cleaned(chr(code)) for code in (*range(32), 127)}


@lru_cache(100_000)
def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return 33 <= ord(character) <= 126 and not character.isalnum()
    return unicodedata.category(character).startswith("P")
