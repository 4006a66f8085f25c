"""Cosinet's pointwise training: without the questions that have no correct answer, at a slanted rate."""

from answer_ranking.data_prep import EncodedSplit
from answer_ranking.training.callbacks import SlantedTriangularRate
from answer_ranking.training.options import AnswerablePointwiseOptions
from answer_ranking.training.pointwise import Pointwise


class AnswerablePointwise(Pointwise):
    """Trains as `Pointwise`, on the questions with a correct answer, at a slanted triangular rate.

    [Cosinet](https://aclanthology.org/2020.coling-main.457) removes the other questions (section 4.1).
    `learning_rate` is the highest rate, see `SlantedTriangularRate`.

    Args:
        split: the training pairs.
        options: the options.
        seed: seeds the order; the ranker's initial weights and dropout have their own seed.

    Raises:
        UserError: the labels are all the same.

    Example:
        >>> method = AnswerablePointwise(data.train, AnswerablePointwiseOptions())  # doctest: +SKIP
        >>> fit(cosinet(vectors), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: AnswerablePointwiseOptions, seed: int = 0):
        if options.answerable_only:
            split = split.keep_questions(split.counts_under("answerable"))
        super().__init__(split, options, seed)
        self.callbacks = (SlantedTriangularRate(options.learning_rate),)
