"""List-wise training (Cosinet): the candidates of a question share one probability distribution."""

import zlib
from collections.abc import Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit, UserError, Vocabulary
from answer_ranking.training.batch_stream import NO_PAIRS, TrainingMethod, batches_of_like_length
from answer_ranking.training.callbacks import SlantedTriangularRate
from answer_ranking.training.options import ListwiseOptions
from answer_ranking.training.ranker_trainer import RankerTrainer

# Questions of so many batches are sorted together by their longest text, then by their candidates' number.
_WINDOW, _STRIP = 32, 4


class Listwise(TrainingMethod):
    """Trains by the divergence of the scores' softmax from the normalised labels.

    Cosinet's list-wise objective (section 3.2), after Bian et al. (2017): with p the labels of a question's
    candidates divided by their sum, and q the softmax of their scores, the loss is the mean over a batch's
    questions of

    ```
    KL(p || q) = sum_i p_i (log p_i - log q_i)
    ```

    over the real candidates, 0 log 0 being 0, plus `l2` times the squares of all weights but biases. An epoch
    takes every question with a correct answer once; for the others p is not defined, and Cosinet's paper
    removes them (section 4.1). `learning_rate` is the highest rate, see `SlantedTriangularRate`.

    Args:
        split: the training questions.
        options: the options.
        seed: seeds the order of the questions; the ranker's initial weights and dropout have their own seed.

    Raises:
        UserError: no training question has both a correct and a wrong candidate.

    Example:
        >>> method = Listwise(data.train, ListwiseOptions(batch_size=8))  # doctest: +SKIP
        >>> fit(cosinet(vectors, objective="listwise"), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: ListwiseOptions, seed: int = 0):
        if not split.counts_under("clean").any():
            raise UserError(NO_PAIRS)
        self.questions = np.flatnonzero(split.counts_under("answerable"))
        super().__init__(split, options, seed, len(self.questions))
        self.callbacks = (SlantedTriangularRate(options.learning_rate),)
        rows = list_rows(split)
        self.lists = cut_lists([rows[i] for i in self.questions], split.labels, options.max_candidates)

    def trainer(self, ranker: keras.Model) -> "ListwiseTrainer":
        if "answers" not in [x.name for x in ranker.inputs]:
            raise UserError(
                f'{ranker.name} reads one answer at a time: build it with objective="listwise", or train it '
                "with Pointwise, Pairwise or HardestNegative."
            )
        return ListwiseTrainer(ranker, self.options)

    def signature(self, trainer: "ListwiseTrainer") -> dict[str, tf.TensorSpec]:
        return {
            "question": tf.TensorSpec((None, None), tf.int32),
            "answers": tf.TensorSpec((None, None, None), tf.int32),
            "label": tf.TensorSpec((None, None), tf.float32),
            "weight": tf.TensorSpec((None,), tf.float32),
        }

    def batches(self, trainer: "ListwiseTrainer", epoch: int) -> Iterator[dict[str, np.ndarray]]:
        rng, lengths = np.random.default_rng([self.seed, epoch]), self.split.candidates.lengths
        counts, longest = list_sizes(self.lists, lengths)
        sortings = ((longest, _WINDOW), (counts, _STRIP))
        for places in batches_of_like_length(rng, self.options.batch_size, *sortings):
            lists = [self.lists[i] for i in places]
            real = real_candidates(lists)
            label = np.zeros(real.shape, np.float32)
            label[real] = self.split.labels[np.concatenate(lists)]
            yield {
                "question": self.split.questions.padded(self.questions[places]),
                "answers": padded_lists(self.split, lists),
                "label": label / label.sum(axis=1, keepdims=True),
                "weight": np.full(len(places), 1 / len(places), np.float32),
            }


class ListwiseTrainer(RankerTrainer):
    """The step of `Listwise`."""

    def losses(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        scores = self.ranker([batch["question"], batch["answers"]], training=True)
        # Every candidate has a word.
        real = tf.reduce_any(batch["answers"] > 0, axis=-1)
        return divergence(scores, batch["label"], real)


def divergence(scores: tf.Tensor, label: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
    """Return the Kullback-Leibler divergence of the scores' softmax from the labels, for every list.

    All are `(lists, candidates)`; `label` sums to 1, `real` is false at padding, which takes no part.
    """
    # Not -inf, whose product with a label of 0 would be NaN.
    log_q = tf.nn.log_softmax(tf.where(real, scores, -1e30))
    terms = tf.math.xlogy(label, label) - label * tf.where(real, log_q, 0.0)
    return tf.reduce_sum(terms, axis=-1)


def list_rows(split: EncodedSplit) -> list[np.ndarray]:
    """Return each question's rows in the order in which a list-wise model sees them, in training and scoring.

    Where the files of a data set list correct answers first, their order is the label itself: its splits have
    an `order_seed`. The shuffle depends on it, on the question's identifier and its number of answers.
    """
    rows = rows_of_questions(split)
    if split.order_seed is None:
        return rows
    shuffled = []
    for name, own in zip(split.question_ids, rows, strict=True):
        rng = np.random.default_rng([split.order_seed, zlib.crc32(str(name).encode())])
        shuffled.append(rng.permutation(own))
    return shuffled


def rows_of_questions(split: EncodedSplit) -> list[np.ndarray]:
    """Return each question's rows, in the split's order."""
    return np.split(np.arange(split.n_rows), split.candidate_offsets[1:-1]) if split.n_questions else []


def cut_lists(lists: Sequence[np.ndarray], labels: np.ndarray, limit: int | None) -> list[np.ndarray]:
    """Cut lists of rows to `limit` candidates each, the correct ones first; what stays keeps its order."""
    cut = []
    for rows in lists:
        kept = np.argsort(-labels[rows], kind="stable")[:limit]
        cut.append(rows[np.sort(kept)])
    return cut


def list_sizes(lists: Sequence[np.ndarray], lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count each list's rows, and the words of its longest candidate; `lengths` are those of all rows."""
    longest = np.array([lengths[rows].max() for rows in lists])
    return np.array(list(map(len, lists))), longest


def padded_lists(split: EncodedSplit, lists: Sequence[np.ndarray]) -> np.ndarray:
    """Lay lists of rows out as words, int32 `(lists, candidates, length)`, filled up with 0.

    A candidate without a word becomes one unknown word, since padding alone is no candidate.
    """
    texts = split.candidates.padded(np.concatenate(lists))
    texts[texts[:, 0] == 0, 0] = Vocabulary.UNKNOWN
    real = real_candidates(lists)
    block = np.zeros((*real.shape, texts.shape[1]), np.int32)
    block[real] = texts
    return block


def real_candidates(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Tell candidates from padding: bool `(lists, candidates)`, as wide as the longest list."""
    counts = np.array(list(map(len, lists)))
    return np.arange(counts.max()) < counts[:, None]
