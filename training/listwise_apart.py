"""List-wise training of rankers that encode each text apart: a softmax over a question's candidates."""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit, UserError
from answer_ranking.training.batch_stream import NO_PAIRS, TrainingMethod, batches_of_like_length
from answer_ranking.training.callbacks import SlantedTriangularRate
from answer_ranking.training.listwise import cut_lists, rows_of_questions
from answer_ranking.training.options import ListwiseOptions
from answer_ranking.training.pairwise import ApartTrainer

_WINDOW = 32


class ListwiseApart(TrainingMethod):
    """Trains HyperQA by Cosinet's list-wise objective in the place of the hinge, see `Listwise`.

    With p the labels of a question's candidates divided by their sum, and q the softmax of their scores, the
    loss is the mean over a batch's questions of KL(p || q). A question sees all its candidates and no others.
    Each text of a batch is encoded once, by the ranker's own encoding.

    Args:
        split: the training questions.
        options: the options; `learning_rate` is the highest rate, see `SlantedTriangularRate`.
        seed: seeds the order of the questions and dropout; the ranker's initial weights have their own seed.

    Raises:
        UserError: no training question has both a correct and a wrong candidate.

    Example:
        >>> method = ListwiseApart(data.train, ListwiseOptions(batch_size=8))  # doctest: +SKIP
        >>> fit(hyperqa(vectors), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: ListwiseOptions, seed: int = 0):
        self.questions = np.flatnonzero(split.counts_under("clean"))
        if not len(self.questions):
            raise UserError(NO_PAIRS)
        super().__init__(split, options, seed, len(self.questions))
        rows = rows_of_questions(split)
        self.lists = cut_lists([rows[i] for i in self.questions], split.labels, options.max_candidates)
        self.callbacks = (SlantedTriangularRate(options.learning_rate),)

    def trainer(self, ranker: keras.Model) -> "ListwiseApartTrainer":
        return ListwiseApartTrainer(ranker, self.options)

    def signature(self, trainer: "ListwiseApartTrainer") -> dict[str, tf.TensorSpec]:
        return trainer.encoding.signature | {
            "n_questions": tf.TensorSpec((), tf.int32),
            "question_of_answer": tf.TensorSpec((None,), tf.int32),
            "label": tf.TensorSpec((None,), tf.float32),
        }

    def batches(self, trainer: "ListwiseApartTrainer", epoch: int) -> Iterator[dict[str, np.ndarray]]:
        rng, counts = np.random.default_rng([self.seed, epoch]), np.array(list(map(len, self.lists)))
        for number, places in enumerate(
            batches_of_like_length(rng, self.options.batch_size, (counts, _WINDOW))
        ):
            questions = self.questions[places]
            rows = np.concatenate([self.lists[i] for i in places])
            owner = np.repeat(np.arange(len(questions)), counts[places])
            label = self.split.labels[rows]
            shares = label / np.bincount(owner, weights=label)[owner]
            texts = trainer.encoding.pack(
                self.split.questions.take(questions),
                self.split.candidates.take(rows),
                rng=np.random.default_rng([self.seed, epoch, number, 0]),
            )
            yield texts | {
                "n_questions": np.int32(len(questions)),
                "question_of_answer": owner.astype(np.int32),
                "label": shares.astype(np.float32),
            }


class ListwiseApartTrainer(ApartTrainer):
    """The step of `ListwiseApart`."""

    def scored_losses(self, scores: tf.Tensor, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        owner, n_lists, label = batch["question_of_answer"], batch["n_questions"], batch["label"]
        largest = tf.math.unsorted_segment_max(scores, owner, n_lists)
        shifted = scores - tf.gather(tf.stop_gradient(largest), owner)
        total = tf.math.unsorted_segment_sum(tf.exp(shifted), owner, n_lists)
        log_q = shifted - tf.gather(tf.math.log(total), owner)
        terms = tf.math.xlogy(label, label) - label * log_q
        losses = tf.math.unsorted_segment_sum(terms, owner, n_lists)
        return losses, tf.ones_like(losses) / tf.cast(n_lists, tf.float32)
