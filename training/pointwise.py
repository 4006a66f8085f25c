"""Pointwise training: every question-answer pair is a binary classification of its own."""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit, UserError
from answer_ranking.training.batch_stream import TrainingMethod, batches_of_like_length
from answer_ranking.training.callbacks import SlantedTriangularRate
from answer_ranking.training.options import AnswerablePointwiseOptions, PointwiseOptions
from answer_ranking.training.ranker_trainer import RankerTrainer

# How many batches are sorted by length together.
_WINDOW = 32


class Pointwise(TrainingMethod):
    """Trains by binary cross entropy (CTRN's Eq. 3; Cosinet's pointwise objective).

    The ranker's score is the log-odds that the answer is correct. The loss is the mean over the batch of
    -log sigmoid(s) for correct answers and -log(1 - sigmoid(s)) for wrong ones, plus `l2` times the squares
    of all weights but biases. An epoch takes every pair once, in an order that depends on seed and epoch.

    Args:
        split: the training pairs.
        options: the options.
        seed: seeds the order; the ranker's initial weights and dropout have their own seed.

    Raises:
        UserError: the labels are all the same.

    Example:
        >>> method = Pointwise(data.train, PointwiseOptions(epochs=5))  # doctest: +SKIP
        >>> fit(ctrn(vectors, 128), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: PointwiseOptions, seed: int = 0):
        if len(np.unique(split.labels)) < 2:
            raise UserError(
                "the training answers are all correct or all wrong: there is nothing to train on. Check the "
                "labels of the training table."
            )
        super().__init__(split, options, seed, split.n_rows)

    def trainer(self, ranker: keras.Model) -> "PointwiseTrainer":
        check_reads_pairs(ranker, self.split)
        return PointwiseTrainer(ranker, self.options)

    def signature(self, trainer: "PointwiseTrainer") -> dict[str, tf.TensorSpec]:
        row = tf.TensorSpec((None,), tf.float32)
        return pair_signature(self.split) | {"label": row, "weight": row}

    def batches(self, trainer: "PointwiseTrainer", epoch: int) -> Iterator[dict[str, np.ndarray]]:
        split, rng = self.split, np.random.default_rng([self.seed, epoch])
        sorting = (split.candidates.lengths, _WINDOW)
        for rows in batches_of_like_length(rng, self.options.batch_size, sorting):
            yield {
                **pair_arrays(split, rows),
                "label": split.labels[rows].astype(np.float32),
                "weight": np.full(len(rows), 1 / len(rows), np.float32),
            }


class AnswerablePointwise(Pointwise):
    """Trains as `Pointwise`, on the questions with a correct answer, at a slanted triangular rate.

    [Cosinet](https://aclanthology.org/2020.coling-main.457) removes the other questions (section 4.1).
    `learning_rate` is the highest rate, see `SlantedTriangularRate`. Arguments and errors are those of
    `Pointwise`.

    Example:
        >>> method = AnswerablePointwise(data.train, AnswerablePointwiseOptions())  # doctest: +SKIP
        >>> fit(cosinet(vectors), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: AnswerablePointwiseOptions, seed: int = 0):
        if options.answerable_only:
            split = split.keep_questions(split.counts_under("answerable"))
        super().__init__(split, options, seed)
        self.callbacks = (SlantedTriangularRate(options.learning_rate),)


class PointwiseTrainer(RankerTrainer):
    """The step of `Pointwise`."""

    def losses(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        scores = self.ranker([batch[x.name] for x in self.ranker.inputs], training=True)
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=batch["label"], logits=scores)


def check_reads_pairs(ranker: keras.Model, split: EncodedSplit) -> None:
    """Raise an error if a ranker does not read pairs, or wants features that a split does not have."""
    inputs = {x.name for x in ranker.inputs}
    if not inputs <= {"question", "answer", "features"}:
        raise UserError(f"{ranker.name} reads a list of answers: train it with Listwise.")
    if "features" in inputs and split.features is None:
        raise ValueError("the ranker has the input `features`. Received: a split without features")


def pair_signature(split: EncodedSplit) -> dict[str, tf.TensorSpec]:
    """Return types and shapes of `pair_arrays`."""
    words = tf.TensorSpec((None, None), tf.int32)
    signature = {"question": words, "answer": words}
    if split.features is not None:
        signature["features"] = tf.TensorSpec((None, split.features.shape[1]), tf.float32)
    return signature


def pair_arrays(split: EncodedSplit, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Lay out the pairs of some rows of a split: what a ranker of pairs reads."""
    arrays = {
        "question": split.questions.padded(split.question_of_row[rows]),
        "answer": split.candidates.padded(rows),
    }
    if split.features is not None:
        arrays["features"] = split.features[rows]
    return arrays
