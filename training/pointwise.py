"""Pointwise training: every question-answer pair is a binary classification of its own."""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit, UserError
from answer_ranking.training.batch_stream import batches_of_like_length
from answer_ranking.training.options import PointwiseOptions
from answer_ranking.training.ranker_trainer import RankerTrainer

# How many batches are sorted by length together.
_WINDOW = 32


class Pointwise:
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

    order_seed = None
    callbacks: tuple[keras.callbacks.Callback, ...] = ()

    def __init__(self, split: EncodedSplit, options: PointwiseOptions, seed: int = 0):
        if len(np.unique(split.labels)) < 2:
            raise UserError(
                "the training answers are all correct or all wrong: there is nothing to train on. Check the "
                "labels of the training table."
            )
        self.split = split
        self.options = options
        self.seed = seed

    def __len__(self) -> int:
        return -(-self.split.n_rows // self.options.batch_size)

    def trainer(self, ranker: keras.Model) -> "PointwiseTrainer":
        inputs = {x.name for x in ranker.inputs}
        if not inputs <= {"question", "answer", "features"}:
            raise UserError(f"{ranker.name} reads a list of answers: train it with Listwise.")
        if "features" in inputs and self.split.features is None:
            raise ValueError("the ranker has the input `features`. Received: training pairs without features")
        return PointwiseTrainer(ranker, self.options)

    def signature(self, trainer: "PointwiseTrainer | None" = None) -> dict[str, tf.TensorSpec]:
        words, row = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.float32)
        signature = {"question": words, "answer": words, "label": row, "weight": row}
        if self.split.features is not None:
            signature["features"] = tf.TensorSpec((None, self.split.features.shape[1]), tf.float32)
        return signature

    def batches(
        self, trainer: "PointwiseTrainer | None" = None, epoch: int = 0
    ) -> Iterator[dict[str, np.ndarray]]:
        split, rng = self.split, np.random.default_rng([self.seed, epoch])
        sorting = (split.candidates.lengths, _WINDOW)
        for rows in batches_of_like_length(rng, self.options.batch_size, sorting):
            arrays = {
                "question": split.questions.padded(split.question_of_row[rows]),
                "answer": split.candidates.padded(rows),
                "label": split.labels[rows].astype(np.float32),
                "weight": np.full(len(rows), 1 / len(rows), np.float32),
            }
            if split.features is not None:
                arrays["features"] = split.features[rows]
            yield arrays


class PointwiseTrainer(RankerTrainer):
    """The step of `Pointwise`."""

    def losses(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        scores = self.ranker([batch[x.name] for x in self.ranker.inputs], training=True)
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=batch["label"], logits=scores)
