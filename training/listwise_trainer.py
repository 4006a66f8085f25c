"""List-wise training: the candidates of a question share one probability distribution."""

import tensorflow as tf

from training.ranker_trainer import RankerTrainer


class ListwiseTrainer(RankerTrainer):
    """Trains a ranker of lists by the divergence of its scores' softmax from the normalised labels.

    Cosinet's list-wise objective (section 3.2), after Bian et al. (2017): with p the labels of a question's
    candidates divided by their sum, and q the softmax of their scores, the loss is the mean over a batch's
    questions of

    ```
    KL(p || q) = sum_i p_i (log p_i - log q_i)
    ```

    over the real candidates, 0 log 0 being 0, plus `l2` times the squares of all weights but biases.
    `compile` it with an optimizer and `fit` it on `ListwiseBatches.dataset()`.

    Args:
        ranker: a model with the inputs `question` `(batch, length)` and `answers`
            `(batch, candidates, length)`, which gives scores `(batch, candidates)`.
        l2: weight of the L2 penalty, at least 0.
        clip_norm: the largest norm of the whole gradient; None for no limit.
        clip_value: the largest absolute value of a gradient's entry, before `clip_norm`; None for no limit.

    Example:
        >>> trainer = ListwiseTrainer(model)  # doctest: +SKIP
        >>> trainer.compile(optimizer=keras.optimizers.Adam(2e-4))  # doctest: +SKIP
        >>> history = trainer.fit(batches.dataset(), epochs=3)  # doctest: +SKIP
    """

    def train_step(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Do one step on a batch of `ListwiseBatches`: loss, gradient, update."""
        batch = {name: tf.squeeze(value, 0) for name, value in batch.items()}
        weights = [variable.value for variable in self.ranker.trainable_variables]
        with tf.GradientTape() as tape:
            scores = self.ranker([batch["question"], batch["answers"]], training=True)
            losses = divergence(scores, batch["label"], batch["real"])
            loss = tf.reduce_sum(batch["weight"] * losses)
        gradients = tape.gradient(loss, weights, unconnected_gradients="zero")
        gradients = [tf.convert_to_tensor(g) for g in gradients]  # those of embeddings come in slices
        gradients = self.with_l2(self.summed_over_replicas(gradients), weights)
        self.update(gradients, self.summed_over_replicas([loss])[0])
        total = tf.reduce_sum(batch["weight"])
        self.loss_mean.update_state(tf.math.divide_no_nan(loss, total), sample_weight=total)
        return {metric.name: metric.result() for metric in self.metrics}


def divergence(scores: tf.Tensor, label: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
    """Give the Kullback-Leibler divergence of the scores' softmax from the labels, for every list.

    Args:
        scores: float32 `(lists, candidates)`; those of padded candidates take no part.
        label: float32 `(lists, candidates)`, the labels divided by their sum, 0 at padding.
        real: bool `(lists, candidates)`, false at padding; every list has a real candidate.

    Returns:
        float32 `(lists,)`, at least 0 up to rounding.

    Example:
        >>> scores, label = tf.zeros((1, 3)), tf.constant([[1.0, 0.0, 0.0]])
        >>> float(tf.exp(divergence(scores, label, tf.constant([[True, True, False]])))[0])
        2.0
    """
    # Not -inf, whose product with a label of 0 would be NaN.
    log_q = tf.nn.log_softmax(tf.where(real, scores, -1e30))
    terms = tf.math.xlogy(label, label) - label * tf.where(real, log_q, 0.0)
    return tf.reduce_sum(terms, axis=-1)
