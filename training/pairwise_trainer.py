"""Pairwise hinge training with Eq. 9: gradient, conversion, update."""

from functools import partial
from typing import Any

import keras
import tensorflow as tf

from training.pairwise_batches import TextEncoding
from training.ranker_trainer import RankerTrainer
from training.riemannian import check_reading, convert_parameter_gradients, convert_point_gradients


class PairwiseTrainer(RankerTrainer):
    """Trains a ranker `matcher([*encoder(question), *encoder(answer)])` by the hinge loss of HyperQA's Eq. 7.

    The loss is the sum of max(0, margin - s(q, a+) + s(q, a-)) over the pairs of a batch plus `l2` times
    the squares of all weights but biases. Each step computes the Euclidean gradient, converts it by one of
    the readings of Eq. 9, clips it, and lets the optimizer update (Eq. 8). It is an ordinary Keras model:
    `compile` it with an optimizer and `fit` it on `PairwiseBatches.dataset()`; callbacks and
    `tf.distribute.MirroredStrategy` work as usual.

    Args:
        ranker: a model with the layers `encoder` and `matcher`, such as `models.hyperqa` builds.
        encoding: how a batch's texts become points; shares the ranker's weights.
        margin: the hinge loss's margin, above 0.
        eq9: the reading of Eq. 9, one of `training.riemannian.READINGS`.
        l2: weight of the L2 penalty, at least 0.
        clip_norm: the largest norm of the whole gradient, after conversion; None for no limit.
        clip_value: the largest absolute value of a gradient's entry, after conversion and before
            `clip_norm`; None for no limit.
        edge_norm: points at this norm or beyond count as lying on the ball's edge, and their share is
            logged; None where texts are no points of a ball.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> trainer = PairwiseTrainer(model, encoding, margin=0.5, eq9="none")  # doctest: +SKIP
        >>> trainer.compile(optimizer=keras.optimizers.Adagrad(0.1))  # doctest: +SKIP
        >>> history = trainer.fit(batches.dataset(), epochs=25)  # doctest: +SKIP
    """

    def __init__(
        self,
        ranker: keras.Model,
        encoding: TextEncoding,
        *,
        margin: float = 1.0,
        eq9: str = "none",
        l2: float = 0.0,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        edge_norm: float | None = None,
    ):
        super().__init__(ranker, l2=l2, clip_norm=clip_norm, clip_value=clip_value, name="pairwise_trainer")
        if margin <= 0:
            raise ValueError(f"`margin` must be above 0. Received: margin={margin}")
        self.encoding = encoding
        self.margin = margin
        self.eq9 = check_reading(eq9)
        self.edge_norm = edge_norm
        self.edge_share = keras.metrics.Mean(name="edge_share")

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """The means over an epoch: loss per pair, gradient norm, share of texts on the ball's edge."""
        edge_share = [] if self.edge_norm is None else [self.edge_share]
        return [*super().metrics, *edge_share]

    def train_step(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Do one step on a batch of `PairwiseBatches`: gradient, conversion (Eq. 9), update (Eq. 8).

        The gradient of the L2 penalty is added to those of the weights between the two places of conversion:
        under `points` it is not converted, since it does not pass through the points of the ball; under
        `parameters` and `released_code` it is converted along with the rest, as a part of the Euclidean
        gradient. Clipping comes after all of this.
        """
        batch = {name: tf.squeeze(value, 0) for name, value in batch.items()}
        weights = [
            v.value
            for part in ("encoder", "matcher")
            for v in self.ranker.get_layer(part).trainable_variables
        ]
        matcher_weights = weights[len(self.ranker.get_layer("encoder").trainable_variables) :]

        points, pull_back = self.encoding.with_pull_back(batch)
        with tf.GradientTape() as tape:
            tape.watch(points)
            loss = self._pairwise_loss(points, batch)

        # 1. The gradient, stopped at the points so that Eq. 9 can be applied there.
        at_points, at_matcher = tape.gradient(loss, (points, matcher_weights), unconnected_gradients="zero")
        # 2. The conversion.
        at_points = tf.nest.map_structure(
            partial(convert_point_gradients, reading=self.eq9), at_points, points
        )
        at_encoder = pull_back(at_points)
        gradients = self.with_l2(self.summed_over_replicas(at_encoder + at_matcher), weights)
        gradients = convert_parameter_gradients(gradients, weights, self.eq9)
        # 3. The update.
        self.update(gradients, self.summed_over_replicas([loss])[0])

        total = tf.reduce_sum(batch["weight"])
        self.loss_mean.update_state(tf.math.divide_no_nan(loss, total), sample_weight=total)
        if self.edge_norm is not None:
            norms = tf.norm(points[: batch["n_questions"] + batch["n_answers"]], axis=-1)
            on_edge = norms >= self.edge_norm * (1 - 1e-5)
            self.edge_share.update_state(tf.cast(on_edge, tf.float32))
        return {metric.name: metric.result() for metric in self.metrics}

    def _pairwise_loss(self, points: Any, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return Eq. 7, summed over the weighted pairs of the batch."""
        n_questions, n_answers = batch["n_questions"], batch["n_answers"]
        owner = batch["question_of_answer"][:n_answers]
        points = tf.nest.flatten(points)
        # Slices would do, but their gradients are padded and added up, where those of a split are joined.
        filling = tf.shape(points[0])[0] - n_questions - n_answers
        parts = [tf.split(x, [n_questions, n_answers, filling]) for x in points]
        questions = [tf.gather(part[0], owner) for part in parts]
        answers = [part[1] for part in parts]
        scores = self.ranker.get_layer("matcher")([*questions, *answers], training=True)
        # A replica's share may be filled up with pairs of answers that it does not have.
        correct, wrong, weight = (batch[name][: batch["n_pairs"]] for name in ("correct", "wrong", "weight"))
        gap = tf.gather(scores, correct) - tf.gather(scores, wrong)
        return tf.reduce_sum(weight * tf.nn.relu(self.margin - gap))
