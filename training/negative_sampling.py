"""Which wrong answers a question is trained against, drawn anew for every epoch."""

from dataclasses import dataclass

import numpy as np

from data_prep import EncodedSplit, UserError

SAMPLINGS = ("random", "hard", "mix")


@dataclass(frozen=True)
class EpochEntries:
    """The question-answer pairs of one epoch, question after question, correct answers first.

    Attributes:
        questions: int64 `(n,)`, the questions of the epoch in training order.
        offsets: int64 `(n + 1,)`, the entries of `questions[i]` are `rows[offsets[i]:offsets[i + 1]]`.
        n_correct: int64 `(n,)`, how many entries of the question are correct; they stand first.
        rows: int64 `(entries,)`, rows of the split's candidates.
    """

    questions: np.ndarray
    offsets: np.ndarray
    n_correct: np.ndarray
    rows: np.ndarray


class NegativeSampler:
    """Draws the wrong answers of every question: its own and, as a further kind, those of other questions.

    HyperQA trains against randomly drawn wrong answers. `sampling` says which of a question's own wrong
    answers are taken: "random" ones, the "hard" ones that the current model scores highest, or a "mix" of
    both halves (Rao, He and Lin, CIKM 2016). The draw depends on the seed and the epoch alone (and on the
    scores, for "hard" and "mix"), so an interrupted run continues with the very draws of an unbroken one.

    Args:
        split: the training split.
        sampling: one of `SAMPLINGS`.
        own_negatives: how many of a question's own wrong answers to take; None takes them all.
        foreign_negatives: how many answers of other questions to add.
        seed: seeds every draw.

    Raises:
        ValueError: an option is out of range.
        UserError: no question has both a correct and a wrong answer to train on.

    Example:
        >>> entries = NegativeSampler(split, own_negatives=8).draw(epoch=0)  # doctest: +SKIP
    """

    def __init__(
        self,
        split: EncodedSplit,
        *,
        sampling: str = "random",
        own_negatives: int | None = None,
        foreign_negatives: int = 0,
        seed: int = 0,
    ):
        if sampling not in SAMPLINGS:
            raise ValueError(f"`sampling` must be one of {SAMPLINGS}. Received: sampling={sampling!r}")
        if foreign_negatives < 0 or (own_negatives is not None and own_negatives < 0):
            raise ValueError(
                "the numbers of negatives must not be below 0. Received: "
                f"own_negatives={own_negatives}, foreign_negatives={foreign_negatives}"
            )
        self.split = split
        self.sampling = sampling
        self.own_negatives = own_negatives
        self.foreign_negatives = foreign_negatives if split.n_questions > 1 else 0
        self.seed = seed
        question_of_row = split.question_of_row
        n_correct = np.bincount(question_of_row, weights=split.labels, minlength=split.n_questions)
        n_wrong = np.diff(split.candidate_offsets) - n_correct
        has_negatives = (n_wrong > 0) & (own_negatives != 0) | (self.foreign_negatives > 0)
        self.questions = np.flatnonzero((n_correct > 0) & has_negatives)
        if len(self.questions) == 0:
            raise UserError(
                "no training question has both a correct answer and a wrong one to set against it: there is "
                "nothing to train on. Check the labels of the training table."
            )

    @property
    def needs_scores(self) -> bool:
        """Whether `draw` wants the current model's scores of the split's candidates."""
        return self.sampling != "random" and self.own_negatives is not None

    def draw(self, epoch: int, scores: np.ndarray | None = None) -> EpochEntries:
        """Draw an epoch's order of questions and their answers.

        Args:
            epoch: the number of the epoch, from 0.
            scores: float `(rows,)`, the current model's score of every candidate of the split, for "hard"
                and "mix".
        """
        if self.needs_scores and scores is None:
            raise ValueError(
                f"sampling={self.sampling!r} needs the current model's scores. Received: scores=None"
            )
        rng = np.random.default_rng([self.seed, epoch])
        questions = rng.permutation(self.questions)
        taken = self._own_rows(rng, scores)
        rank = np.full(self.split.n_questions, -1)
        rank[questions] = np.arange(len(questions))
        own = np.flatnonzero(taken)
        own = own[rank[self.split.question_of_row[own]] >= 0]
        owner = rank[self.split.question_of_row[own]]
        foreign, foreign_owner = self._foreign_rows(rng, questions)
        rows = np.concatenate([own, foreign])
        owner = np.concatenate([owner, foreign_owner])
        wrong = np.concatenate([1 - self.split.labels[own], np.ones(len(foreign), np.int8)])
        order = np.lexsort((wrong, owner))
        counts = np.bincount(owner, minlength=len(questions))
        n_correct = np.bincount(owner, weights=1 - wrong, minlength=len(questions)).astype(np.int64)
        return EpochEntries(questions, np.concatenate([[0], np.cumsum(counts)]), n_correct, rows[order])

    def _own_rows(self, rng: np.random.Generator, scores: np.ndarray | None) -> np.ndarray:
        """Mark the correct answers and the drawn own wrong ones of every question."""
        correct = self.split.labels == 1
        if self.own_negatives is None:
            return np.ones_like(correct)
        chance = rng.random(self.split.n_rows)
        if self.sampling == "random":
            return correct | (self._place_among_wrong(chance) < self.own_negatives)
        n_hard = self.own_negatives if self.sampling == "hard" else -(-self.own_negatives // 2)
        hard = self._place_among_wrong(-np.asarray(scores, np.float64), chance) < n_hard
        # The hardest come out of the lot before the rest is drawn at random.
        remaining = self._place_among_wrong(np.where(hard, 2.0, chance)) < self.own_negatives - n_hard
        return correct | hard | (remaining & ~hard)

    def _place_among_wrong(self, key: np.ndarray, tie_break: np.ndarray | None = None) -> np.ndarray:
        """Return each wrong answer's place by rising key among its question's wrong answers, from 0."""
        keys = (key, self.split.labels, self.split.question_of_row)
        order = np.lexsort(keys if tie_break is None else (tie_break, *keys))
        place = np.empty(self.split.n_rows, np.int64)
        place[order] = np.arange(self.split.n_rows)
        place -= self.split.candidate_offsets[self.split.question_of_row]
        place[self.split.labels == 1] = self.split.n_rows
        return place

    def _foreign_rows(self, rng: np.random.Generator, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows of other questions: from all rows with the question's own ones cut out."""
        start = self.split.candidate_offsets[questions]
        own = self.split.candidate_offsets[questions + 1] - start
        draws = rng.random((len(questions), self.foreign_negatives))
        rows = (draws * (self.split.n_rows - own)[:, None]).astype(np.int64)
        rows += np.where(rows >= start[:, None], own[:, None], 0)
        return rows.ravel(), np.repeat(np.arange(len(questions)), self.foreign_negatives)
