"""Pointwise training: every question-answer pair is a binary classification of its own."""

import tensorflow as tf

from training.ranker_trainer import RankerTrainer


class PointwiseTrainer(RankerTrainer):
    """Trains a ranker of padded pairs by binary cross entropy (CTRN's Eq. 3; Cosinet's pointwise objective).

    The ranker's score is the log-odds that the answer is correct. The loss is the mean over the batch of
    -log sigmoid(s) for correct answers and -log(1 - sigmoid(s)) for wrong ones, plus `l2` times the squares
    of all weights but biases. `compile` it with an optimizer and `fit` it on `PointwiseBatches.dataset()`.

    Args:
        ranker: a model with the inputs `question`, `answer` and, if it has any, `features`.
        l2: weight of the L2 penalty, at least 0.
        clip_norm: the largest norm of the whole gradient; None for no limit.
        clip_value: the largest absolute value of a gradient's entry, before `clip_norm`; None for no limit.

    Example:
        >>> trainer = PointwiseTrainer(model, l2=4e-6)  # doctest: +SKIP
        >>> trainer.compile(optimizer=keras.optimizers.Adam(1e-3))  # doctest: +SKIP
        >>> history = trainer.fit(batches.dataset(), epochs=25)  # doctest: +SKIP
    """

    def train_step(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Do one step on a batch of `PointwiseBatches`: loss, gradient, update."""
        batch = {name: tf.squeeze(value, 0) for name, value in batch.items()}
        weights = [variable.value for variable in self.ranker.trainable_variables]
        with tf.GradientTape() as tape:
            scores = self.ranker([batch[x.name] for x in self.ranker.inputs], training=True)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=batch["label"], logits=scores)
            loss = tf.reduce_sum(batch["weight"] * losses)
        gradients = tape.gradient(loss, weights, unconnected_gradients="zero")
        gradients = [tf.convert_to_tensor(g) for g in gradients]  # those of embeddings come in slices
        gradients = self.with_l2(self.summed_over_replicas(gradients), weights)
        self.update(gradients, self.summed_over_replicas([loss])[0])
        total = tf.reduce_sum(batch["weight"])
        self.loss_mean.update_state(tf.math.divide_no_nan(loss, total), sample_weight=total)
        return {metric.name: metric.result() for metric in self.metrics}
