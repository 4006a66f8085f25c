"""The training step that all losses share."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from answer_ranking.base.errors import UserError
from answer_ranking.layers.riemannian_gradient import convert_parameter_gradients

if TYPE_CHECKING:
    from answer_ranking.training.options import FitOptions


class RankerTrainer(keras.Model):
    """A Keras model whose training step trains a ranker.

    ```
    loss and gradient (the subclass) -> L2 -> Eq. 9 -> clip -> finite? -> update
    ```

    A subclass may set `eq9` and `further_metrics`. It implements `losses`, or `losses_and_gradients` where it
    computes its gradient itself. A batch holds the `weight` of every loss.

    `failed_step` keeps the number of the first step whose loss or gradient is not finite, and `failed_values`
    its loss and gradient norm. From that step on the optimizer gets zeros in place of gradients.
    """

    eq9: str = "none"
    further_metrics: tuple[keras.metrics.Metric, ...] = ()

    def __init__(self, ranker: keras.Model, options: "FitOptions"):
        super().__init__()
        self.ranker = ranker
        self.options = options
        self.loss_mean = keras.metrics.Mean(name="loss")
        self.gradient_norm = keras.metrics.Mean(name="gradient_norm")
        self.failed_step = self.add_weight(
            shape=(), dtype="int64", initializer=keras.initializers.Constant(-1), trainable=False, name="step"
        )
        self.failed_values = self.add_weight(shape=(2,), initializer="zeros", trainable=False, name="values")
        self.built = True

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        return [self.loss_mean, self.gradient_norm, *self.further_metrics]

    def call(self, inputs, training=None):
        return self.ranker(inputs, training=training)

    @abstractmethod
    def losses(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the loss of every item of a batch, as many as `batch["weight"]` has."""

    def losses_and_gradients(
        self, batch: dict[str, tf.Tensor], weights: list[tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """Return the losses, their weights, and the gradient of their weighted sum."""
        with tf.GradientTape() as tape:
            losses = self.losses(batch)
            loss = tf.reduce_sum(batch["weight"] * losses)
        gradients = tape.gradient(loss, weights, unconnected_gradients="zero")
        # The gradients of embeddings come in slices.
        return losses, batch["weight"], [tf.convert_to_tensor(g) for g in gradients]

    def train_step(self, batch: dict[str, tf.Tensor]) -> dict[str, Any]:
        variables = self.ranker.trainable_variables
        weights = [variable.value for variable in variables]
        losses, counts, gradients = self.losses_and_gradients(batch, weights)
        loss = tf.reduce_sum(counts * losses)
        if self.options.l2:
            gradients = list(map(self._with_penalty, gradients, weights))
        gradients = convert_parameter_gradients(gradients, weights, self.eq9)
        gradients, norm = self._clip(gradients)
        self.optimizer.apply(self._hold_back_failures(gradients, loss, norm), variables)
        self.loss_mean.update_state(losses, sample_weight=counts)
        self.gradient_norm.update_state(norm)
        return {metric.name: metric.result() for metric in self.metrics}

    def _with_penalty(self, gradient: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
        """Add the gradient of the L2 penalty, which biases do not have."""
        return gradient + 2 * self.options.l2 * weight if weight.shape.rank > 1 else gradient

    def _clip(self, gradients: list[tf.Tensor]) -> tuple[list[tf.Tensor], tf.Tensor]:
        norm = tf.linalg.global_norm(gradients)
        if self.options.clip_norm is None:
            return gradients, norm
        scale = tf.minimum(1.0, self.options.clip_norm / tf.maximum(norm, 1e-30))
        return [g * scale for g in gradients], norm

    def _hold_back_failures(
        self, gradients: list[tf.Tensor], loss: tf.Tensor, norm: tf.Tensor
    ) -> list[tf.Tensor]:
        """Note the first step that is not finite; from it on return zeros in place of the gradients."""
        failed = self.failed_step.value >= 0
        finite = tf.math.is_finite(loss) & tf.math.is_finite(norm)
        first = ~finite & ~failed
        step = tf.cast(self.optimizer.iterations.value, tf.int64)
        self.failed_step.assign(tf.where(first, step, self.failed_step.value))
        self.failed_values.assign(tf.where(first, tf.stack([loss, norm]), self.failed_values.value))
        return [tf.where(finite & ~failed, g, 0.0) for g in gradients]


def reads_apart(ranker: keras.Model) -> bool:
    """Tell whether a ranker is an `encoder` of texts and a `matcher`, whose scores are the ranker's own."""
    parts = {layer.name: layer for layer in ranker.layers}
    if not {"encoder", "matcher"} <= parts.keys():
        return False
    return ranker.outputs[0]._keras_history.operation is parts["matcher"]


def encoder_of(ranker: keras.Model) -> keras.Model:
    """Return the part of a ranker that encodes texts apart; a UserError says that it has none."""
    if reads_apart(ranker):
        return ranker.get_layer("encoder")
    raise UserError(f"{ranker.name} reads question and answer together: train it with Pointwise or Listwise.")
