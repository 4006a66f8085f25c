"""Texts as numbers, and one split of a data set as arrays."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.tables import counts_under
from answer_ranking.data_prep.vocabulary import Vocabulary


@dataclass(frozen=True)
class EncodedTexts:
    """Texts of different lengths in two arrays, without padding.

    Attributes:
        words: int32 (n_tokens,), the word numbers of all texts on end.
        offsets: int64 (n_texts + 1,); text i is `words[offsets[i]:offsets[i + 1]]`.
        vectors: float (k, n), those of contextual words that come with their texts, the first being that of
            number 2; None where words have their vectors elsewhere.

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
    vectors: np.ndarray | None = None

    @classmethod
    def from_tokens(cls, token_lists: Sequence[Sequence[str]], vocabulary: Vocabulary) -> "EncodedTexts":
        """Encode tokenised texts, one sequence of tokens per text."""
        lengths = np.fromiter(map(len, token_lists), np.int64, len(token_lists))
        words = vocabulary.encode([token for tokens in token_lists for token in tokens])
        return cls(words, offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per text, int64 (n_texts,)."""
        return np.diff(self.offsets)

    def take(self, indices: np.ndarray | Sequence[int]) -> "EncodedTexts":
        """Copy some of the texts, in the order given; a text may be named more than once."""
        indices = np.asarray(indices, np.int64)
        lengths = self.lengths[indices]
        offsets = offsets_of(lengths)
        # Position in the copy, moved by the distance between the beginnings of its text here and there.
        shift = np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths)
        return EncodedTexts(self.words[np.arange(offsets[-1]) + shift], offsets, self.vectors)

    def padded(self, indices: np.ndarray | Sequence[int] | None = None) -> np.ndarray:
        """Lay texts (None for all) out as a rectangle, filled up with 0 at the right.

        Returns int32 (n, length) with the length of the longest text, at least 1.
        """
        indices = np.arange(len(self)) if indices is None else np.asarray(indices, np.int64)
        lengths = self.lengths[indices]
        mask = np.arange(max(1, int(lengths.max(initial=0)))) < lengths[:, None]
        rectangle = np.zeros(mask.shape, np.int32)
        shift = np.repeat(self.offsets[:-1][indices] - offsets_of(lengths)[:-1], lengths)
        rectangle[mask] = self.words[np.arange(len(shift)) + shift]
        return rectangle


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
        return offsets_of(self.lengths)

    @property
    def words(self) -> np.ndarray:
        """The rows' texts laid out in full, int32 (n_tokens,); see `EncodedTexts`."""
        return self.texts.take(self.index).words

    def take(self, rows: np.ndarray | Sequence[int]) -> EncodedTexts:
        """Copy the texts of some rows, in the order given; a row may be named more than once."""
        return self.texts.take(self.index[np.asarray(rows, np.int64)])

    def select(self, rows: np.ndarray | Sequence[int]) -> "SharedTexts":
        """Give some rows over the same table of texts, of which nothing is copied."""
        return SharedTexts(self.texts, self.index[np.asarray(rows, np.int64)])

    def padded(self, rows: np.ndarray | Sequence[int] | None = None) -> np.ndarray:
        """Lay the texts of rows (None for all) out as a rectangle, see `EncodedTexts.padded`."""
        index = self.index if rows is None else self.index[np.asarray(rows, np.int64)]
        return self.texts.padded(index)


@dataclass(frozen=True)
class EncodedSplit:
    """Questions and their candidates, the candidates of a question side by side.

    Attributes:
        questions: one text per question.
        candidates: one text per row of the table, in its order; rows of the same text share it. Plain
            `EncodedTexts` are taken as well.
        candidate_offsets: int64 (n_questions + 1,); the candidates of question i are the rows
            `candidate_offsets[i]` to `candidate_offsets[i + 1] - 1`.
        labels: int8 (n_rows,), 0 or 1.
        question_ids: list[str], one per question.
        candidate_ids: list[str], one per row.
        features: float32 (n_rows, 4), the word-overlap features of all rows, see `overlap_features`; or None.
        order_seed: for models that see a question's candidates together: None shows them in the split's
            order; else they are shuffled, see `training.listwise.list_rows`.

    Example:
        >>> import pandas as pd
        >>> from answer_ranking.data_prep import Tokenizer
        >>> table = pd.DataFrame({"question_id": ["a", "a", "b"], "question": ["x", "x", "y"],
        ...     "candidate_id": ["1", "2", "1"], "candidate": ["x z", "z", "y"], "label": [1, 0, 0]})
        >>> split = encode_split(table, Tokenizer(pretokenised=True), Vocabulary(["x", "y", "z"]))
        >>> split.keep_questions(split.counts_under("clean")).question_ids
        ['a']
    """

    questions: EncodedTexts
    candidates: SharedTexts
    candidate_offsets: np.ndarray
    labels: np.ndarray
    question_ids: list[str]
    candidate_ids: list[str]
    features: np.ndarray | None = None
    order_seed: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.candidates, EncodedTexts):
            index = np.arange(len(self.candidates), dtype=np.int32)
            object.__setattr__(self, "candidates", SharedTexts(self.candidates, index))

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.question_ids)

    @property
    def n_rows(self) -> int:
        """Number of candidates of all questions together."""
        return len(self.candidate_ids)

    @property
    def question_of_row(self) -> np.ndarray:
        """The number of every row's question, int64 (n_rows,)."""
        return np.repeat(np.arange(self.n_questions), np.diff(self.candidate_offsets))

    @property
    def n_correct(self) -> np.ndarray:
        """Correct candidates per question, int64 (n_questions,)."""
        return np.diff(offsets_of(self.labels)[self.candidate_offsets])

    @property
    def pair_of_row(self) -> np.ndarray:
        """One number for question and text, int64 (n_rows,): a question's rows of the same text share it.

        It is the question's number times the number of texts, plus the text's.
        """
        return self.question_of_row * len(self.candidates.texts) + self.candidates.index

    @property
    def is_wrong(self) -> np.ndarray:
        """Tell wrong answers, bool (n_rows,): labelled so, and correct in no other row of their question."""
        pairs = self.pair_of_row
        return ~np.isin(pairs, pairs[self.labels == 1])

    def counts_under(self, rule: str) -> np.ndarray:
        """Tell which questions count under "all", "answerable" or "clean", bool (n_questions,)."""
        return counts_under(rule, self.n_correct, np.diff(self.candidate_offsets) - self.n_correct)

    def keep_questions(self, mask: np.ndarray) -> "EncodedSplit":
        """Copy the questions that a mask, bool (n_questions,), chooses, with their candidates."""
        mask = np.asarray(mask, bool)
        rows = np.flatnonzero(mask[self.question_of_row])
        counts = np.diff(self.candidate_offsets)[mask]
        kept = np.flatnonzero(mask)
        return EncodedSplit(
            questions=self.questions.take(kept),
            candidates=self.candidates.select(rows),
            candidate_offsets=offsets_of(counts),
            labels=self.labels[rows],
            question_ids=[self.question_ids[i] for i in kept],
            candidate_ids=[self.candidate_ids[i] for i in rows],
            features=None if self.features is None else self.features[rows],
            order_seed=self.order_seed,
        )


def offsets_of(lengths: ArrayLike) -> np.ndarray:
    """Say where parts of these lengths begin that lie on end, and where the last one ends, int64 (n + 1,).

    Example:
        >>> offsets_of([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def join_splits(first: EncodedSplit, second: EncodedSplit) -> EncodedSplit:
    """Join two splits over the same vocabulary, one behind the other.

    A UserError names a question of both.
    """
    if both := set(first.question_ids) & set(second.question_ids):
        raise UserError(f"question {min(both)} stands in both splits. Give each split its own questions.")
    texts = first.candidates.texts
    index = np.concatenate([first.candidates.index, second.candidates.index + len(texts)])
    features = None
    if first.features is not None and second.features is not None:
        features = np.concatenate([first.features, second.features])
    return EncodedSplit(
        questions=_join_texts(first.questions, second.questions),
        candidates=SharedTexts(_join_texts(texts, second.candidates.texts), index),
        candidate_offsets=np.append(
            first.candidate_offsets, second.candidate_offsets[1:] + first.candidate_offsets[-1]
        ),
        labels=np.concatenate([first.labels, second.labels]),
        question_ids=[*first.question_ids, *second.question_ids],
        candidate_ids=[*first.candidate_ids, *second.candidate_ids],
        features=features,
        order_seed=first.order_seed,
    )


def in_order(splits: Mapping[str, EncodedSplit], order_seed: int | None) -> dict[str, EncodedSplit]:
    """Say of splits in which order a model that sees a question's candidates together is shown them."""
    return {name: replace(split, order_seed=order_seed) for name, split in splits.items()}


def _join_texts(first: EncodedTexts, second: EncodedTexts) -> EncodedTexts:
    words = np.concatenate([first.words, second.words])
    return EncodedTexts(words, np.append(first.offsets, second.offsets[1:] + first.offsets[-1]))


def count_words(splits: Iterable[EncodedSplit], n_words: int) -> np.ndarray:
    """Count how often every word occurs in the questions and candidate rows of splits, int64 (n_words,)."""
    counts = np.zeros(n_words, np.int64)
    for split in splits:
        texts = split.candidates.texts
        times = np.bincount(split.candidates.index, minlength=len(texts))
        weights = np.repeat(times, texts.lengths)
        counts += np.bincount(split.questions.words, minlength=n_words)
        # Sums of whole numbers below 2^53 are exact in the float64 that bincount adds up.
        counts += np.bincount(texts.words, weights=weights, minlength=n_words).astype(np.int64)
    return counts


def encode_split(
    table: pd.DataFrame, tokenizer: Callable[[list[str]], list[list[str]]], vocabulary: Vocabulary
) -> EncodedSplit:
    """Turn a table whose questions have contiguous rows into arrays.

    The tokenizer is a `Tokenizer`, or any function from texts to lists of tokens. Words that the vocabulary
    does not have become 1.

    Example:
        >>> import pandas as pd
        >>> from answer_ranking.data_prep import Tokenizer
        >>> table = pd.DataFrame({"question_id": ["a"], "question": ["x"], "candidate_id": ["1"],
        ...     "candidate": ["x z"], "label": [1]})
        >>> encode_split(table, Tokenizer(pretokenised=True), Vocabulary(["x"])).candidates.padded()
        array([[2, 1]], dtype=int32)
    """

    def encode(*texts: list[str]) -> list[EncodedTexts]:
        return [EncodedTexts.from_tokens(tokenizer(each), vocabulary) for each in texts]

    return encode_split_by(table, encode)


def encode_split_by(
    table: pd.DataFrame, encode: Callable[[list[str], list[str]], Sequence[EncodedTexts]]
) -> EncodedSplit:
    """As `encode_split`, with a function that encodes questions and distinct candidates; 0 for no labels."""
    identifiers = table["question_id"].to_numpy(object)
    index, texts = pd.factorize(table["candidate"].to_numpy(object))
    is_first = np.ones(len(table), bool)
    is_first[1:] = identifiers[1:] != identifiers[:-1]
    first = np.flatnonzero(is_first)
    if len(set(identifiers[first])) != len(first):
        raise ValueError("the rows of a question must be contiguous; check_table sees to it.")
    questions, candidates = encode(table["question"].iloc[first].tolist(), texts.tolist())
    return EncodedSplit(
        questions=questions,
        candidates=SharedTexts(candidates, index.astype(np.int32)),
        candidate_offsets=np.concatenate([first, [len(table)]]).astype(np.int64),
        labels=table["label"].to_numpy(np.int8) if "label" in table else np.zeros(len(table), np.int8),
        question_ids=identifiers[first].tolist(),
        candidate_ids=table["candidate_id"].tolist(),
    )


def chunks(n: int, limit: int, size: Callable[[slice], np.ndarray]) -> Iterator[slice]:
    """Cut n items into chunks of a size of at most `limit`, or of one item.

    `size(items)` tells of some items how large the chunk from the first of them to each of them is.
    """
    start = 0
    while start < n:
        # No chunk is longer than `limit` items, so that not all that follow need be looked at.
        fitting = np.searchsorted(size(slice(start, start + limit)), limit, side="right")
        stop = start + max(1, int(fitting))
        yield slice(start, stop)
        start = stop


def chunks_of_padded(lengths: np.ndarray, limit: int) -> Iterator[slice]:
    """Cut texts of rising length into chunks of at most `limit` words, padding included."""
    return chunks(len(lengths), limit, lambda chunk: lengths[chunk] * np.arange(1, len(lengths[chunk]) + 1))
