"""Texts as numbers, all on end in one array."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data_prep.vocabulary import Vocabulary


@dataclass(frozen=True)
class EncodedTexts:
    """Texts of different lengths in two arrays, without padding.

    Attributes:
        words: int32 (n_tokens,), the word numbers of all texts on end.
        offsets: int64 (n_texts + 1,); text i is `words[offsets[i]:offsets[i + 1]]`.

    Example:
        >>> texts = EncodedTexts(np.array([5, 6, 7], np.int32), np.array([0, 1, 3]))
        >>> texts.padded()
        array([[5, 0],
               [6, 7]], dtype=int32)
        >>> texts.take([1]).words
        array([6, 7], dtype=int32)
    """

    words: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_tokens(cls, token_lists: Sequence[Sequence[str]], vocabulary: Vocabulary) -> "EncodedTexts":
        """Encode tokenised texts.

        Args:
            token_lists: one sequence of tokens per text.
            vocabulary: the numbers of the words.
        """
        lengths = np.fromiter(map(len, token_lists), np.int64, len(token_lists))
        words = vocabulary.encode([token for tokens in token_lists for token in tokens])
        return cls(words, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per text, int64 (n_texts,)."""
        return np.diff(self.offsets)

    def take(self, indices: np.ndarray | Sequence[int]) -> "EncodedTexts":
        """Copy some of the texts, in the order given; a text may be named more than once.

        Args:
            indices: integers (n,), from 0 to n_texts - 1.
        """
        indices = np.asarray(indices, np.int64)
        lengths = self.lengths[indices]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # Position in the copy, moved by the distance between the beginnings of its text here and there.
        shift = np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths)
        return EncodedTexts(self.words[np.arange(offsets[-1]) + shift], offsets)

    def padded(
        self, indices: np.ndarray | Sequence[int] | None = None, max_length: int | None = None
    ) -> np.ndarray:
        """Lay texts out as a rectangle, filled up with 0 at the right.

        Args:
            indices: integers (n,), the texts; None for all.
            max_length: int, the width. Longer texts lose their end. None for the longest text's length, at
                least 1.

        Returns:
            int32 (n, max_length).
        """
        indices = np.arange(len(self)) if indices is None else np.asarray(indices, np.int64)
        lengths = self.lengths[indices]
        width = max(1, int(lengths.max(initial=0))) if max_length is None else max_length
        mask = np.arange(width) < lengths[:, None]
        rectangle = np.zeros(mask.shape, np.int32)
        kept = np.minimum(lengths, width)
        starts = np.concatenate([[0], np.cumsum(kept)])[:-1]
        shift = np.repeat(self.offsets[:-1][indices] - starts, kept)
        rectangle[mask] = self.words[np.arange(len(shift)) + shift]
        return rectangle
