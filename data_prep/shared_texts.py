"""Texts that stand in many rows, each held once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data_prep.encoded_texts import EncodedTexts

# What `take` needs besides its result is several times as large: gigabytes, for a million rows at once.
_ROWS_AT_A_TIME = 1 << 14


@dataclass(frozen=True)
class SharedTexts:
    """One text per row, of which many rows may have the same: a table of texts and an index.

    It is used like the `EncodedTexts` of all its rows, which it stands for. In a data set whose questions
    share one pool of answers these would be hundreds of times larger than the table: `words` and `offsets`
    lay them out in full each time that they are asked for, `take` and `padded` only the rows that are wanted.

    Attributes:
        texts: the distinct texts.
        index: int32 (n_rows,), the number of every row's text.

    Example:
        >>> texts = EncodedTexts(np.array([5, 6, 7], np.int32), np.array([0, 1, 3]))
        >>> shared = SharedTexts(texts, np.array([1, 0, 1], np.int32))
        >>> shared.take([0, 2]).words
        array([6, 7, 6, 7], dtype=int32)
        >>> len(shared), shared.lengths.tolist()
        (3, [2, 1, 2])
    """

    texts: EncodedTexts
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per row, int64 (n_rows,)."""
        return self.texts.lengths[self.index]

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the rows' texts laid out in full, int64 (n_rows + 1,); see `EncodedTexts`."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def words(self) -> np.ndarray:
        """The rows' texts laid out in full, int32 (n_tokens,); see `EncodedTexts`."""
        lengths = self.lengths
        ends = np.cumsum(lengths)
        words = np.empty(ends[-1] if len(ends) else 0, np.int32)
        for start in range(0, len(self), _ROWS_AT_A_TIME):
            part = self.texts.take(self.index[start : start + _ROWS_AT_A_TIME]).words
            begin = ends[start] - lengths[start]
            words[begin : begin + len(part)] = part
        return words

    def take(self, rows: np.ndarray | Sequence[int]) -> EncodedTexts:
        """Copy the texts of some rows, in the order given; a row may be named more than once.

        Args:
            rows: integers (n,), from 0 to n_rows - 1.
        """
        return self.texts.take(self.index[np.asarray(rows, np.int64)])

    def select(self, rows: np.ndarray | Sequence[int]) -> "SharedTexts":
        """Give some rows over the same table of texts, of which nothing is copied.

        Args:
            rows: integers (n,), from 0 to n_rows - 1.
        """
        return SharedTexts(self.texts, self.index[np.asarray(rows, np.int64)])

    def padded(
        self, rows: np.ndarray | Sequence[int] | None = None, max_length: int | None = None
    ) -> np.ndarray:
        """Lay the texts of rows out as a rectangle, filled up with 0 at the right.

        Args:
            rows: integers (n,); None for all.
            max_length: int, the width, see `EncodedTexts.padded`.

        Returns:
            int32 (n, max_length).
        """
        index = self.index if rows is None else self.index[np.asarray(rows, np.int64)]
        return self.texts.padded(index, max_length)

    def token_counts(self, n_words: int) -> np.ndarray:
        """Count how often every word occurs in the texts of all rows.

        Args:
            n_words: int, size of the vocabulary.

        Returns:
            int64 (n_words,).
        """
        times = np.bincount(self.index, minlength=len(self.texts))
        weights = np.repeat(times, self.texts.lengths)
        # Sums of whole numbers below 2^53 are exact in the float64 that bincount adds up.
        return np.bincount(self.texts.words, weights=weights, minlength=n_words).astype(np.int64)
