"""Pairwise training (HyperQA): the hinge of every correct answer against drawn wrong ones."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.data_prep import EncodedSplit, UserError
from answer_ranking.data_prep.encoded_split import offsets_of
from answer_ranking.layers import UnitBall
from answer_ranking.layers.riemannian_gradient import riemannian_gradient
from answer_ranking.models.encodings import PaddedTexts, encoding_of
from answer_ranking.training.batch_stream import NO_PAIRS, TrainingMethod
from answer_ranking.training.options import FitOptions, PairwiseOptions
from answer_ranking.training.ranker_trainer import RankerTrainer, encoder_of
from answer_ranking.training.scoring import HardestWrong


class Pairwise(TrainingMethod):
    """Trains by the hinge loss of HyperQA's Eq. 7, with a reading of Eq. 9.

    [Hyperbolic Representation Learning for Fast and Efficient Neural Question
    Answering](https://arxiv.org/abs/1707.07847). The loss of a batch of questions is

    ```
    sum over their pairs of max(0, margin - s(q, a+) + s(q, a-))
    ```

    and `l2` times the squares of all weights but biases. Each epoch draws the wrong answers anew; a
    question's own ones at random, or all or half of them those that the ranker of that moment scores highest
    (Rao et al., CIKM 2016, "max" and "mix"). The order of the questions, the draws and the masks of dropout
    depend on seed and epoch.

    Args:
        split: the training questions.
        options: the options.
        seed: seeds order and draws; the ranker's initial weights have their own seed.

    Raises:
        UserError: no question has both a correct and a wrong answer to train on.

    Example:
        >>> method = Pairwise(data.train, PairwiseOptions(epochs=5))  # doctest: +SKIP
        >>> fit(hyperqa(vectors), method, dev=data.dev)  # doctest: +SKIP
    """

    def __init__(self, split: EncodedSplit, options: PairwiseOptions, seed: int = 0):
        self.sampler = NegativeSampler(split, options, seed)
        super().__init__(split, options, seed, len(self.sampler.questions))

    def trainer(self, ranker: keras.Model) -> "PairwiseTrainer":
        return PairwiseTrainer(ranker, self.options)

    def signature(self, trainer: "PairwiseTrainer") -> dict[str, tf.TensorSpec]:
        scalar, vector = tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.int32)
        return trainer.encoding.signature | {
            "n_questions": scalar,
            "question_of_answer": vector,
            "correct": vector,
            "wrong": vector,
        }

    def batches(self, trainer: "PairwiseTrainer", epoch: int) -> Iterator[dict[str, np.ndarray]]:
        drawn = self.sampler.draw(epoch, self.sampler.hardest.scores(trainer))
        for number, start in enumerate(range(0, len(drawn.questions), self.options.batch_size)):
            stop = min(start + self.options.batch_size, len(drawn.questions))
            rows = drawn.rows[drawn.offsets[start] : drawn.offsets[stop]]
            texts = trainer.encoding.pack(
                self.split.questions.take(drawn.questions[start:stop]),
                self.split.candidates.take(rows),
                rng=np.random.default_rng([self.seed, epoch, number, 0]),
            )
            yield texts | self._pairs(drawn, start, stop)

    def _pairs(self, drawn: "DrawnAnswers", start: int, stop: int) -> dict[str, np.ndarray]:
        """Pair the answers of some questions, each correct one with each wrong one of its question."""
        offsets = drawn.offsets[start : stop + 1] - drawn.offsets[start]
        n_answers, n_correct = np.diff(offsets), drawn.n_correct[start:stop]
        n_wrong = n_answers - n_correct
        n_pairs = n_correct * n_wrong
        # The pairs of question i count through its correct answers (outer) and wrong ones (inner).
        within = np.arange(n_pairs.sum()) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
        base, correct, wrong = (np.repeat(x, n_pairs) for x in (offsets[:-1], n_correct, n_wrong))
        return {
            "n_questions": np.int32(stop - start),
            "question_of_answer": np.repeat(np.arange(stop - start), n_answers).astype(np.int32),
            "correct": (base + within // np.maximum(wrong, 1)).astype(np.int32),
            "wrong": (base + correct + within % np.maximum(wrong, 1)).astype(np.int32),
        }


class ApartTrainer(RankerTrainer):
    """A step of rankers that encode each text apart: the gradient stops at the points.

    There Eq. 9 may convert it. The L2 penalty does not pass through the points. `edge_share` logs how many
    points lie on the ball's edge. A subclass implements `scored_losses`.
    """

    def __init__(self, ranker: keras.Model, options: FitOptions, eq9: str = "none"):
        super().__init__(ranker, options)
        self.eq9 = eq9
        encoder = encoder_of(ranker)
        packed = encoding_of(ranker, "packed")
        # Word vectors that are trained, or a frozen projection, take the plain way.
        quick = packed is not None and packed.gives_all_gradients
        self.encoding: Any = packed if quick else PaddedTexts(encoder)
        balls = [x for x in encoder.layers if isinstance(x, UnitBall)]
        if self.eq9 == "points" and not balls:
            raise UserError(f"{ranker.name} has no points in a ball, whose gradients eq9=points converts.")
        self.edge_norm = balls[-1].max_norm if balls else None
        self.edge_share = keras.metrics.Mean(name="edge_share")
        if balls:
            self.further_metrics = (self.edge_share,)

    @abstractmethod
    def scored_losses(self, scores: tf.Tensor, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the losses of a batch, of which `scores` has one for each answer, and their weights."""

    def losses_and_gradients(
        self, batch: dict[str, tf.Tensor], weights: list[tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        matcher_weights = weights[len(self.ranker.get_layer("encoder").trainable_variables) :]
        points, pull_back = self.encoding.with_pull_back(batch)
        with tf.GradientTape() as tape:
            tape.watch(points)
            losses, counts = self.scored_losses(self._scores(points, batch), batch)
            loss = tf.reduce_sum(counts * losses)
        at_points, at_matcher = tape.gradient(loss, (points, matcher_weights), unconnected_gradients="zero")
        if self.eq9 == "points":
            at_points = tf.nest.map_structure(riemannian_gradient, at_points, points)
        at_encoder = pull_back(at_points)
        if self.edge_norm is not None:
            norms = tf.norm(points, axis=-1)
            self.edge_share.update_state(tf.cast(norms >= self.edge_norm * (1 - 1e-5), tf.float32))
        return losses, counts, [*at_encoder, *at_matcher]

    def _scores(self, points: Any, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        owner = batch["question_of_answer"]
        sizes = [batch["n_questions"], tf.shape(owner)[0]]
        # The gradients of slices are padded and added up, where those of a split are concatenated.
        parts = [tf.split(x, sizes) for x in tf.nest.flatten(points)]
        questions = [tf.gather(part[0], owner) for part in parts]
        return self.ranker.get_layer("matcher")([*questions, *(part[1] for part in parts)], training=True)


class PairwiseTrainer(ApartTrainer):
    """The step of `Pairwise`."""

    options: PairwiseOptions

    def __init__(self, ranker: keras.Model, options: PairwiseOptions):
        super().__init__(ranker, options, options.eq9)

    def scored_losses(self, scores: tf.Tensor, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        gap = tf.gather(scores, batch["correct"]) - tf.gather(scores, batch["wrong"])
        losses = tf.nn.relu(self.options.margin - gap)
        return losses, tf.ones_like(losses)


@dataclass(frozen=True)
class DrawnAnswers:
    """The answers of one epoch, question after question, correct ones first."""

    questions: np.ndarray  # the questions in training order
    offsets: np.ndarray  # the answers of questions[i] are rows[offsets[i] : offsets[i + 1]]
    n_correct: np.ndarray  # so many of them are correct
    rows: np.ndarray  # rows of the split's candidates


class NegativeSampler:
    """Draws every question's wrong answers: its own and, as a further kind, those of other questions.

    A text that is correct for a question in any of its rows is never wrong for it.
    """

    def __init__(self, split: EncodedSplit, options: PairwiseOptions, seed: int = 0):
        self.split = split
        if options.own_negatives is None and options.own_negatives_by != "random":
            raise UserError(
                f"own_negatives_by {options.own_negatives_by} chooses among own wrong answers: say how "
                "many by own_negatives. Received: own_negatives None, which takes all"
            )
        self.own_negatives = options.own_negatives
        self.hardest = HardestWrong(split, options.own_negatives_by, options.own_negatives or 0)
        self.foreign_negatives = options.foreign_negatives if split.n_questions > 1 else 0
        self.seed = seed
        self._texts, self._n_texts = split.candidates.index.astype(np.int64), len(split.candidates.texts)
        self._correct = np.unique(split.pair_of_row[split.labels == 1])
        self._is_wrong = split.is_wrong
        n_wrong = np.bincount(split.question_of_row[self._is_wrong], minlength=split.n_questions)
        has_negatives = (n_wrong > 0) & (self.own_negatives != 0) | (self.foreign_negatives > 0)
        self.questions = np.flatnonzero((split.n_correct > 0) & has_negatives)
        if len(self.questions) == 0:
            raise UserError(NO_PAIRS)

    def draw(self, epoch: int, scores: np.ndarray | None = None) -> DrawnAnswers:
        """Draw an epoch's questions and answers; `scores` `(rows,)` where the hardest wrong ones count."""
        rng = np.random.default_rng([self.seed, epoch])
        questions = rng.permutation(self.questions)
        taken = self._own_rows(rng, scores)
        rank = np.full(self.split.n_questions, -1)
        rank[questions] = np.arange(len(questions))
        own = np.flatnonzero(taken)
        own = own[rank[self.split.question_of_row[own]] >= 0]
        foreign, foreign_owner = self._foreign_rows(rng, questions)
        rows = np.concatenate([own, foreign])
        owner = np.concatenate([rank[self.split.question_of_row[own]], foreign_owner])
        wrong = np.concatenate([1 - self.split.labels[own], np.ones(len(foreign), np.int8)])
        texts = questions[owner] * self._n_texts + self._texts[rows]
        kept = (wrong == 0) | ~np.isin(texts, self._correct)
        rows, owner, wrong = rows[kept], owner[kept], wrong[kept]
        order = np.lexsort((wrong, owner))
        counts = np.bincount(owner, minlength=len(questions))
        n_correct = np.bincount(owner, weights=1 - wrong, minlength=len(questions)).astype(np.int64)
        return DrawnAnswers(questions, offsets_of(counts), n_correct, rows[order])

    def _own_rows(self, rng: np.random.Generator, scores: np.ndarray | None) -> np.ndarray:
        """Mark the correct answers and the drawn own wrong ones of every question."""
        split, correct = self.split, self.split.labels == 1
        if self.own_negatives is None:
            return np.ones_like(correct)
        priority = rng.random(split.n_rows)
        if scores is not None:
            priority[self._places(-scores) < self.hardest.number] -= 1
        return correct | (self._places(priority) < self.own_negatives)

    def _places(self, keys: np.ndarray) -> np.ndarray:
        """Give each row's place in its question by its key, the wrong answers before all others."""
        split = self.split
        order = np.lexsort((keys, ~self._is_wrong, split.question_of_row))
        place = np.empty(split.n_rows, np.int64)
        place[order] = np.arange(split.n_rows) - split.candidate_offsets[split.question_of_row]
        return place

    def _foreign_rows(self, rng: np.random.Generator, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows of other questions: from all rows with the question's own ones cut out."""
        start = self.split.candidate_offsets[questions]
        own = self.split.candidate_offsets[questions + 1] - start
        draws = rng.random((len(questions), self.foreign_negatives))
        rows = (draws * (self.split.n_rows - own)[:, None]).astype(np.int64)
        rows += np.where(rows >= start[:, None], own[:, None], 0)
        return rows.ravel(), np.repeat(np.arange(len(questions)), self.foreign_negatives)
