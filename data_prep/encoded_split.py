"""One split of a data set as arrays."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from answer_ranking.data_prep.dataset import counts_under
from answer_ranking.data_prep.encoded_texts import EncodedTexts, SharedTexts
from answer_ranking.data_prep.vocabulary import Vocabulary


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
        running = np.concatenate([[0], np.cumsum(self.labels, dtype=np.int64)])
        return np.diff(running[self.candidate_offsets])

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
            candidate_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            labels=self.labels[rows],
            question_ids=[self.question_ids[i] for i in kept],
            candidate_ids=[self.candidate_ids[i] for i in rows],
            features=None if self.features is None else self.features[rows],
        )


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
    identifiers = table["question_id"].to_numpy(object)
    index, texts = pd.factorize(table["candidate"].to_numpy(object))
    first = np.flatnonzero(np.concatenate([[True], identifiers[1:] != identifiers[:-1]])[: len(table)])
    if len(set(identifiers[first])) != len(first):
        raise ValueError("the rows of a question must be contiguous; check_table sees to it.")
    return EncodedSplit(
        questions=EncodedTexts.from_tokens(tokenizer(table["question"].iloc[first].tolist()), vocabulary),
        candidates=SharedTexts(
            EncodedTexts.from_tokens(tokenizer(texts.tolist()), vocabulary), index.astype(np.int32)
        ),
        candidate_offsets=np.concatenate([first, [len(table)]]).astype(np.int64),
        labels=table["label"].to_numpy(np.int8),
        question_ids=identifiers[first].tolist(),
        candidate_ids=table["candidate_id"].tolist(),
    )
