"""Wrong answers drawn for pairs of a question and a correct answer."""

import numpy as np

from data_prep import EncodedSplit, UserError

SOURCES = ("answers", "own")


class AnswerSampler:
    """The pairs of a split that training passes over, and draws of wrong answers for them.

    An epoch has one pair per question and correct answer, as the paper's "1.5 million text segments" per
    epoch of InsuranceQA tell: 18,540 correct answers with 50 sampled ones and a question each, and the dev
    pools, are 1.46 million; the 12,887 questions with 50 each would be 1.17. A text that
    stands in several rows is one answer, and what is correct for a question anywhere is never drawn as wrong
    for it. Texts that differ in blanks, capitals or masked numbers alone are two answers, though the model
    sees the same words (28 of the 6,396 correct answers of TrecQA's TRAIN-ALL have such a twin, 2 of them one
    that is not correct for the question as well): where that twin is drawn and scores highest, the pair has
    no gradient in that step. An answer without words is left
    out.

    Args:
        split: the training split.
        count: k, how many wrong answers to draw per pair; fewer are drawn where there are fewer.
        source: "answers" draws from all answers of the split, as dos Santos et al. (2016) do; "own" from the
            question's own pool.
        share: draw once for a whole batch, which saves most of the work of scoring. The paper does not. Every
            pair's wrong answers have the same distribution either way, but for those of the k that are
            correct for the question: they are left out without another in their place.

    Attributes:
        texts: the split's table of distinct answers, to which the numbers below refer.
        question_of_pair: int64 `(n_pairs,)`, the pairs' questions.
        text_of_pair: int64 `(n_pairs,)`, the pairs' correct answers.

    Raises:
        ValueError: an option is out of range.
        UserError: no question has both a correct answer and a wrong one to set against it.

    Example:
        >>> sampler = AnswerSampler(split, 50)  # doctest: +SKIP
        >>> wrong = sampler.draw(np.arange(20), np.random.default_rng(0))  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, count: int = 50, *, source: str = "answers", share: bool = False):
        if source not in SOURCES:
            raise ValueError(f"`source` must be one of {SOURCES}. Received: source={source!r}")
        if count < 1:
            raise ValueError(f"`count` must be at least 1. Received: count={count}")
        if share and source == "own":
            raise ValueError("answers of a question's own pool cannot be shared. Received: share=True")
        self.count = count
        self.share = share
        self.texts = split.candidates.texts
        index = split.candidates.index.astype(np.int64)
        owner = split.question_of_row
        full = self.texts.lengths[index] > 0
        # One number for question and text, so that a question's doublets fall together.
        n_texts = max(1, len(self.texts))
        correct = np.unique((owner * n_texts + index)[full & (split.labels == 1)])
        questions, texts = correct // n_texts, correct % n_texts
        self._correct = np.split(texts, np.searchsorted(questions, np.arange(1, split.n_questions)))
        self._answers = np.unique(index[full])
        self._own = None
        n_wrong = len(self._answers) - np.bincount(questions, minlength=split.n_questions)
        if source == "own":
            wrong = np.setdiff1d((owner * n_texts + index)[full & (split.labels == 0)], correct)
            self._own = np.split(
                wrong % n_texts, np.searchsorted(wrong // n_texts, np.arange(1, split.n_questions))
            )
            n_wrong = np.array([len(own) for own in self._own])
        # The place of a question's correct answers among all, to draw around them.
        self._places = [np.searchsorted(self._answers, texts) for texts in self._correct]
        kept = n_wrong[questions] > 0
        self.question_of_pair, self.text_of_pair = questions[kept], texts[kept]
        if not kept.any():
            raise UserError(
                "no training question has both a correct answer and a wrong one to set against it: there is "
                "nothing to train on. Check the labels of the training table, and with --negatives-from own "
                "whether its questions have wrong answers of their own; if not, use --negatives-from answers."
            )

    @property
    def n_answers(self) -> int:
        """How many distinct answers the split has."""
        return len(self._answers)

    def __len__(self) -> int:
        return len(self.question_of_pair)

    def draw(self, pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the wrong answers of a batch's pairs, each pair's without replacement.

        Args:
            pairs: integers `(n,)`, numbers of pairs.
            rng: draws.

        Returns:
            int64 `(n, k)`, numbers of texts; -1 where a pair has fewer than k.
        """
        questions = self.question_of_pair[pairs]
        if self.share:
            drawn = self._without_replacement(rng, len(self._answers))
            row = np.full(self.count, -1)
            row[: len(drawn)] = self._answers[drawn]
            wrong = np.array([~np.isin(row, self._correct[question]) for question in questions])
            return np.where(wrong, row, -1)
        drawn = np.full((len(pairs), self.count), -1)
        for row, question in zip(drawn, questions, strict=True):
            found = self._own_draw(rng, question) if self._own is not None else self._draw(rng, question)
            row[: len(found)] = found
        return drawn

    def _without_replacement(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice(n, min(self.count, n), replace=False)

    def _own_draw(self, rng: np.random.Generator, question: int) -> np.ndarray:
        own = self._own[question]
        return own[self._without_replacement(rng, len(own))]

    def _draw(self, rng: np.random.Generator, question: int) -> np.ndarray:
        drawn = self._without_replacement(rng, len(self._answers) - len(self._places[question]))
        # The numbers count the wrong answers alone; they step over the correct ones, from the first on.
        for place in self._places[question]:
            drawn += drawn >= place
        return self._answers[drawn]
