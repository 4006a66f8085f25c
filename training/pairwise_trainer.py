"""Pairwise hinge training with Eq. 9: gradient, conversion, update."""

from functools import partial
from typing import Any

import keras
import tensorflow as tf

from training.pairwise_batches import TextEncoding
from training.riemannian import check_reading, convert_parameter_gradients, convert_point_gradients


class PairwiseTrainer(keras.Model):
    """Trains a ranker `matcher([*encoder(question), *encoder(answer)])` by the hinge loss of HyperQA's Eq. 7.

    The loss is the sum of max(0, margin - s(q, a+) + s(q, a-)) over the pairs of a batch plus `l2` times
    the squares of all weights but biases. Each step computes the Euclidean gradient, converts it by one of
    the readings of Eq. 9, clips it, and lets the optimizer update (Eq. 8). It is an ordinary Keras model:
    `compile` it with an optimizer and `fit` it on `PairwiseBatches.dataset()`; callbacks and
    `tf.distribute.MirroredStrategy` work as usual.

    The first step whose loss or gradient is not finite is remembered in `failed_step`, as are the loss and
    the gradient's norm at that step; neither it nor any step after it applies a gradient, and
    `StopOnDivergence` ends the run.

    Args:
        ranker: a model with the layers `encoder` and `matcher`, such as `models.hyperqa` builds.
        encoding: how a batch's texts become points; shares the ranker's weights.
        margin: the hinge loss's margin, above 0.
        eq9: the reading of Eq. 9, one of `training.riemannian.READINGS`.
        l2: weight of the L2 penalty, at least 0.
        clip_norm: the largest norm of the whole gradient, after conversion; None for no limit.
        clip_value: the largest absolute value of a gradient's entry, after conversion and before
            `clip_norm`; None for no limit.
        edge_norm: points at this norm or beyond count as lying on the ball's edge; None where texts are no
            points of a ball.

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
        edge_norm: float | None = 1.0,
    ):
        super().__init__(name="pairwise_trainer")
        if margin <= 0 or l2 < 0 or not all(c is None or c > 0 for c in (clip_norm, clip_value)):
            raise ValueError(
                "`margin`, `clip_norm` and `clip_value` must be above 0 and `l2` not below. Received: "
                f"margin={margin}, clip_norm={clip_norm}, clip_value={clip_value}, l2={l2}"
            )
        self.ranker = ranker
        self.encoding = encoding
        self.margin = margin
        self.eq9 = check_reading(eq9)
        self.l2 = l2
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.edge_norm = edge_norm
        self.hinge = keras.metrics.Mean(name="loss")
        self.edge_share = keras.metrics.Mean(name="edge_share")
        self.gradient_norm = keras.metrics.Mean(name="gradient_norm")
        self.failed_step = self.add_weight(
            shape=(),
            dtype="int64",
            initializer=keras.initializers.Constant(-1),
            trainable=False,
            name="failed_step",
        )
        self.failed_values = self.add_weight(
            shape=(2,), initializer="zeros", trainable=False, name="failed_values"
        )
        self.built = True

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """The means over an epoch: loss per pair, share of texts on the ball's edge, gradient norm."""
        edge_share = [] if self.edge_norm is None else [self.edge_share]
        return [self.hinge, *edge_share, self.gradient_norm]

    def call(self, inputs, training=None):
        """Score padded pairs, as the ranker does."""
        return self.ranker(inputs, training=training)

    def train_step(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Do one step on a batch of `PairwiseBatches`: gradient, conversion (Eq. 9), update (Eq. 8)."""
        batch = {name: tf.squeeze(value, 0) for name, value in batch.items()}
        weights = [
            v.value
            for part in ("encoder", "matcher")
            for v in self.ranker.get_layer(part).trainable_variables
        ]
        matcher_weights = weights[len(self.ranker.get_layer("encoder").trainable_variables) :]
        step = self.optimizer.iterations.value

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
        gradients = self._summed_over_replicas(at_encoder + at_matcher)
        if self.l2:
            gradients = [
                g + 2 * self.l2 * w if w.shape.rank > 1 else g
                for g, w in zip(gradients, weights, strict=True)
            ]
        gradients = convert_parameter_gradients(gradients, weights, self.eq9)
        gradients, norm = self._clipped(gradients)
        # 3. The update.
        gradients = self._checked(gradients, self._summed_over_replicas([loss])[0], norm, step)
        self.optimizer.apply(gradients, self.ranker.trainable_variables)

        total = tf.reduce_sum(batch["weight"])
        self.hinge.update_state(tf.math.divide_no_nan(loss, total), sample_weight=total)
        if self.edge_norm is not None:
            norms = tf.norm(points[: batch["n_questions"] + batch["n_answers"]], axis=-1)
            on_edge = norms >= self.edge_norm * (1 - 1e-5)
            self.edge_share.update_state(tf.cast(on_edge, tf.float32))
        self.gradient_norm.update_state(norm)
        return {metric.name: metric.result() for metric in self.metrics}

    def _pairwise_loss(self, points: Any, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return Eq. 7, summed over the weighted pairs of the batch."""
        n_questions, n_answers = batch["n_questions"], batch["n_answers"]
        owner = batch["question_of_answer"][:n_answers]
        points = tf.nest.flatten(points)
        questions = [tf.gather(x[:n_questions], owner) for x in points]
        answers = [x[n_questions : n_questions + n_answers] for x in points]
        scores = self.ranker.get_layer("matcher")([*questions, *answers], training=True)
        # A replica's share may be filled up with pairs of answers that it does not have.
        correct, wrong, weight = (batch[name][: batch["n_pairs"]] for name in ("correct", "wrong", "weight"))
        gap = tf.gather(scores, correct) - tf.gather(scores, wrong)
        return tf.reduce_sum(weight * tf.nn.relu(self.margin - gap))

    def _summed_over_replicas(self, gradients: list[tf.Tensor]) -> list[tf.Tensor]:
        replica = tf.distribute.get_replica_context()
        if replica is None or replica.num_replicas_in_sync == 1:
            return gradients
        return replica.all_reduce("SUM", gradients)

    def _clipped(self, gradients: list[tf.Tensor]) -> tuple[list[tf.Tensor], tf.Tensor]:
        if self.clip_value is not None:
            gradients = [tf.clip_by_value(g, -self.clip_value, self.clip_value) for g in gradients]
        norm = tf.linalg.global_norm(gradients)
        if self.clip_norm is None:
            return gradients, norm
        scale = tf.minimum(1.0, self.clip_norm / tf.maximum(norm, 1e-30))
        return [g * scale for g in gradients], norm

    def _checked(
        self, gradients: list[tf.Tensor], loss: tf.Tensor, norm: tf.Tensor, step: tf.Tensor
    ) -> list[tf.Tensor]:
        """Let gradients through up to the first step whose are not finite, and note that step."""
        failed = self.failed_step.value >= 0
        finite = tf.math.is_finite(loss) & tf.math.is_finite(norm)
        first = ~finite & ~failed
        self.failed_step.assign(tf.where(first, tf.cast(step, tf.int64), self.failed_step.value))
        self.failed_values.assign(tf.where(first, tf.stack([loss, norm]), self.failed_values.value))
        replica = tf.distribute.get_replica_context()
        # The optimizer adds up the replicas' gradients, and these are the whole batch's already.
        share = 1.0 if replica is None else 1.0 / replica.num_replicas_in_sync
        return [tf.where(finite & ~failed, g * share, 0.0) for g in gradients]
