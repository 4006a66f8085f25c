"""Pairwise training of rankers that read question and answer together (Hu et al. 2014; Rao et al. 2016)."""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit, UserError
from answer_ranking.training.batch_stream import NO_PAIRS, TrainingMethod, batches_of_like_length
from answer_ranking.training.options import PairwiseTogetherOptions
from answer_ranking.training.pointwise import check_reads_pairs, pair_arrays, pair_signature
from answer_ranking.training.ranker_trainer import RankerTrainer
from answer_ranking.training.scoring import HardestWrong

# How many batches are sorted by length together.
_WINDOW = 8


class PairwiseTogether(TrainingMethod):
    """Trains by the hinge of every correct answer against some of its question's wrong ones.

    The loss of ARC-I, ARC-II and aNMM, and of
    [Noise-Contrastive Estimation for Answer Selection](https://doi.org/10.1145/2983323.2983872): the mean
    over the pairs of

    ```
    max(0, margin - s(q, a+) + s(q, a-))
    ```

    and `l2` times the squares of all weights but biases. Each epoch draws the wrong answers anew:
    "random" ones, the "max" ones, which the ranker of that moment scores highest, or a "mix", of which half
    are the highest and half random among the others. A text that is correct for a question in any of its
    rows is never wrong for it. Unlike `Pairwise` it takes any ranker of pairs.

    Args:
        split: the training questions; those without a correct or without a wrong answer are left out.
        options: the options.
        seed: seeds order and draws; the ranker's initial weights have their own seed.

    Raises:
        UserError: no question has both a correct and a wrong answer.

    Example:
        >>> method = PairwiseTogether(data.train, PairwiseTogetherOptions(epochs=5))  # doctest: +SKIP
        >>> fit(arc_ii(vectors), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: PairwiseTogetherOptions, seed: int = 0):
        n_wrong = np.bincount(split.question_of_row[split.is_wrong], minlength=split.n_questions)
        split = split.keep_questions((split.n_correct > 0) & (n_wrong > 0))
        if split.n_questions == 0:
            raise UserError(NO_PAIRS)
        self.correct = np.flatnonzero(split.labels == 1)
        super().__init__(split, options, seed, len(self.correct))
        self.hardest = HardestWrong(split, options.negatives_by, options.negatives)

    def trainer(self, ranker: keras.Model) -> "PairwiseTogetherTrainer":
        check_reads_pairs(ranker, self.split)
        return PairwiseTogetherTrainer(ranker, self.options)

    def signature(self, trainer: "PairwiseTogetherTrainer") -> dict[str, tf.TensorSpec]:
        pair = {
            "correct": tf.TensorSpec((None,), tf.int32),
            "weight": tf.TensorSpec((None,), tf.float32),
        }
        return pair_signature(self.split) | pair

    def batches(self, trainer: "PairwiseTogetherTrainer", epoch: int) -> Iterator[dict[str, np.ndarray]]:
        rng = np.random.default_rng([self.seed, epoch])
        drawn = self.draw(rng, self.hardest.scores(trainer))
        lengths = self.split.candidates.lengths
        longest = np.array([lengths[rows].max() for rows in drawn])
        for members in batches_of_like_length(rng, self.options.batch_size, (longest, _WINDOW)):
            wrong = np.concatenate([drawn[i] for i in members])
            counts = [len(drawn[i]) for i in members]
            yield {
                **pair_arrays(self.split, np.concatenate([self.correct[members], wrong])),
                "correct": np.repeat(np.arange(len(members), dtype=np.int32), counts),
                "weight": np.full(len(wrong), 1 / len(wrong), np.float32),
            }

    def draw(self, rng: np.random.Generator, scores: np.ndarray | None) -> list[np.ndarray]:
        """Draw rows of wrong answers for every correct one; `scores`, one a row, where the hardest count."""
        split, is_wrong, drawn = self.split, self.split.is_wrong, []
        for question in split.question_of_row[self.correct]:
            rows = np.arange(*split.candidate_offsets[question : question + 2])
            wrong = rng.permutation(rows[is_wrong[rows]])
            if scores is not None:
                hardest = wrong[np.argsort(-scores[wrong], kind="stable")[: self.hardest.number]]
                wrong = np.concatenate([hardest, wrong[~np.isin(wrong, hardest)]])
            drawn.append(wrong[: self.options.negatives])
        return drawn


class PairwiseTogetherTrainer(RankerTrainer):
    """The step of `PairwiseTogether`."""

    options: PairwiseTogetherOptions

    def losses(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        scores = self.ranker([batch[x.name] for x in self.ranker.inputs], training=True)
        # The correct answers come first, then the wrong ones, each with the place of its correct one.
        n_correct = tf.shape(scores)[0] - tf.shape(batch["correct"])[0]
        gap = tf.gather(scores, batch["correct"]) - scores[n_correct:]
        return tf.nn.relu(self.options.margin - gap)
