"""What the training steps of all losses share: L2, clipping, the update, and the watch over both."""

import keras
import tensorflow as tf


class RankerTrainer(keras.Model):
    """Base of the models that train a ranker; a subclass's `train_step` computes loss and gradient.

    The first step whose loss or gradient is not finite is remembered in `failed_step`, as are the loss and
    the gradient's norm at that step in `failed_values`; neither it nor any step after it applies a gradient,
    and `StopOnDivergence` ends the run.

    Args:
        ranker: the model to train.
        l2: weight of the L2 penalty on all weights but biases, at least 0.
        clip_norm: the largest norm of the whole gradient; None for no limit.
        clip_value: the largest absolute value of a gradient's entry, before `clip_norm`; None for no limit.
        name: the name of the trainer.

    Raises:
        ValueError: an option is out of range.
    """

    def __init__(
        self,
        ranker: keras.Model,
        *,
        l2: float = 0.0,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        name: str | None = None,
    ):
        super().__init__(name=name)
        if l2 < 0 or not all(c is None or c > 0 for c in (clip_norm, clip_value)):
            raise ValueError(
                "`clip_norm` and `clip_value` must be above 0 and `l2` not below. Received: "
                f"clip_norm={clip_norm}, clip_value={clip_value}, l2={l2}"
            )
        self.ranker = ranker
        self.l2 = l2
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.loss_mean = keras.metrics.Mean(name="loss")
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
        """The means over an epoch: loss and gradient norm."""
        return [self.loss_mean, self.gradient_norm]

    def call(self, inputs, training=None):
        """Score padded pairs, as the ranker does."""
        return self.ranker(inputs, training=training)

    def summed_over_replicas(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Add up the replicas' shares under a distribution strategy."""
        replica = tf.distribute.get_replica_context()
        if replica is None or replica.num_replicas_in_sync == 1:
            return tensors
        return replica.all_reduce("SUM", tensors)

    def with_l2(self, gradients: list[tf.Tensor], weights: list[tf.Tensor]) -> list[tf.Tensor]:
        """Add the gradient of `l2` times the squares of all weights but biases."""
        if not self.l2:
            return gradients
        return [
            g + 2 * self.l2 * w if w.shape.rank > 1 else g for g, w in zip(gradients, weights, strict=True)
        ]

    def update(self, gradients: list[tf.Tensor], loss: tf.Tensor) -> None:
        """Clip the whole batch's gradients and let the optimizer apply them, unless something is not finite.

        Args:
            gradients: one for each trainable variable of the ranker, summed over the replicas.
            loss: the batch's loss, summed over the replicas.
        """
        gradients, norm = self._clipped(gradients)
        gradients = self._checked(gradients, loss, norm, self.optimizer.iterations.value)
        self.optimizer.apply(gradients, self.ranker.trainable_variables)
        self.gradient_norm.update_state(norm)

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
