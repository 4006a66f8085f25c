"""The numbering of words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np


class Vocabulary:
    """Words and their numbers: 0 is padding, 1 is any unknown word, the others follow.

    Args:
        words: the known words, without the two special entries; number 2 is the first.

    Attributes:
        words: list[str], the word of every number; entries 0 and 1 are names in angle brackets.
        index: dict[str, int], the number of every known word. The two special entries are not in it, so that
            a text which holds the characters "<padding>" cannot be taken for padding.

    Example:
        >>> vocabulary = Vocabulary.build([["to", "be", "or", "not", "to", "be"]])
        >>> vocabulary.words
        ['<padding>', '<unknown>', 'be', 'to', 'not', 'or']
        >>> vocabulary.encode(["to", "see"])
        array([3, 1], dtype=int32)
    """

    PADDING = 0
    UNKNOWN = 1

    def __init__(self, words: Sequence[str]) -> None:
        self.words = ["<padding>", "<unknown>", *words]
        self.index = {word: number for number, word in enumerate(words, start=2)}
        if len(self.index) != len(words):
            raise ValueError(
                f"words must be distinct. Received: {len(words)} words, {len(self.index)} distinct."
            )

    @classmethod
    def build(cls, token_lists: Iterable[Sequence[str]], times: Iterable[int] | None = None) -> "Vocabulary":
        """Number the words of tokenised texts by falling frequency, ties in the order of their characters.

        `times` says how often every text occurs; None for once.
        """
        counts: Counter[str] = Counter()
        if times is None:
            counts.update(chain.from_iterable(token_lists))
        else:
            for tokens, n in zip(token_lists, times, strict=True):
                for token in tokens:
                    counts[token] += n
        return cls(sorted(counts, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: Sequence[str]) -> np.ndarray:
        """Give the numbers of tokens, int32 (n_tokens,), 1 where a word is unknown."""
        return np.fromiter((self.index.get(token, self.UNKNOWN) for token in tokens), np.int32, len(tokens))
