"""Hinge training against the wrong answer that the current model scores highest of those drawn."""

from typing import Any

import keras
import tensorflow as tf

from models.attentive_pooling import broadcast_scores, project_questions
from training.ranker_trainer import RankerTrainer
from training.wordwise_encoder import wordwise_encoder


class HardestNegativeTrainer(RankerTrainer):
    """Trains a ranker as dos Santos et al. (2016) do (Eq. 12): one hinge per question and correct answer.

    ```
    loss = sum over pairs of weight * max(0, margin - s(q, a+) + s(q, a-))
    a-   = the one of the drawn answers with the highest s(q, a) under the current weights
    ```

    plus `l2` times the squares of all weights but biases. The drawn answers are scored without gradient and
    without dropout: each is encoded once, however many questions are set against it, in chunks, so that
    this takes no more memory when there are more, and the questions' encodings are looked up. Only the one
    that wins is encoded again, with gradient and dropout. Of equal scores the first drawn wins. Each distinct
    word of a chunk, or of the texts that are trained on, is multiplied by the kernels once, see
    `WordwiseConvolution` and `WordwiseBiLSTM`. But where the words that are trained on have dropout, the
    encoder itself takes them.

    It is an ordinary Keras model: `compile` it with an optimizer and `fit` it on
    `HardestNegativeBatches.dataset()`.

    Args:
        ranker: `matcher([*encoder(question), *encoder(answer)])`, such as `models.attentive_pooling` builds;
            its layer `encoder` maps int32 words to a tensor or a list of tensors, texts along the first axis.
        margin: the hinge loss's margin, above 0.
        shared: whether the batches' pairs share the drawn answers: all questions are then scored against an
            answer at once. With other batches that is slow, and chunks outgrow their bounds.
        l2: weight of the L2 penalty, at least 0.
        clip_norm: the largest norm of the whole gradient; None for no limit.
        clip_value: the largest absolute value of a gradient's entry, before `clip_norm`; None for no limit.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> trainer = HardestNegativeTrainer(model, margin=0.5)  # doctest: +SKIP
        >>> trainer.compile(optimizer=keras.optimizers.SGD(1.1))  # doctest: +SKIP
        >>> history = trainer.fit(batches.dataset(), epochs=25)  # doctest: +SKIP
    """

    def __init__(
        self,
        ranker: keras.Model,
        *,
        margin: float = 0.5,
        shared: bool = False,
        l2: float = 0.0,
        clip_norm: float | None = None,
        clip_value: float | None = None,
    ):
        super().__init__(
            ranker, l2=l2, clip_norm=clip_norm, clip_value=clip_value, name="hardest_negative_trainer"
        )
        if margin <= 0:
            raise ValueError(f"`margin` must be above 0. Received: margin={margin}")
        self.margin = margin
        self.shared = shared
        encoder = ranker.get_layer("encoder")
        self._wordwise = wordwise_encoder(encoder)
        # Dropout makes a word another one wherever it stands.
        self._trains_wordwise = (
            self._wordwise is not None and encoder.get_layer("embedding_dropout").rate == 0
        )
        self.active_share = keras.metrics.Mean(name="active_share")

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """The means over an epoch: loss per pair, gradient norm, share of pairs within the margin."""
        return [*super().metrics, self.active_share]

    def train_step(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Do one step on a batch of `HardestNegativeBatches`: search, loss, gradient, update."""
        batch = {name: tf.squeeze(value, 0) for name, value in batch.items()}
        weights = [variable.value for variable in self.ranker.trainable_variables]
        wrong = tf.gather(batch["sampled"], self.hardest(batch))
        answers = _one_below_the_other(batch["correct"], wrong)
        with tf.GradientTape() as tape:
            questions, encoded = self._encode_for_training(batch["question"], answers)
            scores = self._match([tf.concat([x, x], 0) for x in questions], encoded, training=True)
            correct, wrong = tf.split(scores, 2)
            hinge = tf.nn.relu(self.margin - correct + wrong)
            loss = tf.reduce_sum(batch["weight"] * hinge)
        gradients = tape.gradient(loss, weights, unconnected_gradients="zero")
        gradients = [tf.convert_to_tensor(g) for g in gradients]  # those of embeddings come in slices
        gradients = self.with_l2(self.summed_over_replicas(gradients), weights)
        self.update(gradients, self.summed_over_replicas([loss])[0])

        counts = tf.cast(batch["weight"] > 0, tf.float32)
        self.loss_mean.update_state(hinge, sample_weight=counts)
        self.active_share.update_state(tf.cast(hinge > 0, tf.float32), sample_weight=counts)
        return {metric.name: metric.result() for metric in self.metrics}

    def hardest(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find the drawn answer of every pair that the current model scores highest.

        Args:
            batch: one replica's share of a batch of `HardestNegativeBatches`.

        Returns:
            int32 `(n,)`, rows of `batch["sampled"]`; 0 where a pair has no drawn answer.
        """
        scores = tf.concat([self._scores(batch), [float("-inf")]], 0)
        pair_text = tf.concat([batch["pair_text"], [0]], 0)
        none = tf.shape(batch["pair_text"])[0]
        choice = tf.where(batch["choice"] < 0, none, batch["choice"])
        best = tf.argmax(tf.gather(scores, choice), axis=1, output_type=tf.int32)
        return tf.gather(pair_text, tf.gather(choice, best, batch_dims=1))

    def _scores(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Score the pairs of question and drawn answer, chunk by chunk."""
        matcher = self.ranker.get_layer("matcher")
        encode = self._encode if self._wordwise is None else self._encode_wordwise
        questions = project_questions(matcher, encode(batch["question"]))
        texts, pairs, widths = (batch[f"chunk_{name}"] for name in ("texts", "pairs", "widths"))
        n_chunks = tf.reduce_sum(tf.cast(texts[1:] > texts[:-1], tf.int32))

        def score(number: tf.Tensor, scores: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            scored = slice(pairs[number], pairs[number + 1])
            answers = encode(batch["sampled"][texts[number] : texts[number + 1], : widths[number]])
            of_answer = batch["pair_text"][scored] - texts[number]
            of_question = batch["pair_question"][scored]
            if self.shared:
                of_all = broadcast_scores(
                    matcher, [x[None] for x in questions], [x[:, None] for x in answers]
                )
                found = tf.gather_nd(of_all, tf.stack([of_answer, of_question], 1))
            else:
                sides = ((questions, of_question), (answers, of_answer))
                found = broadcast_scores(matcher, *([tf.gather(x, of) for x in side] for side, of in sides))
            return number + 1, scores.write(number, found)

        # One chunk after the other: two at a time would take twice the memory.
        _, scores = tf.while_loop(
            lambda number, _: number < n_chunks,
            score,
            (0, tf.TensorArray(tf.float32, n_chunks, infer_shape=False, element_shape=(None,))),
            parallel_iterations=1,
        )
        found = scores.concat()
        # A replica's share may be filled up with pairs that are in no chunk.
        return tf.pad(found, [[0, tf.shape(batch["pair_text"])[0] - tf.shape(found)[0]]])

    def _encode_for_training(
        self, questions: tf.Tensor, answers: tf.Tensor
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        if not self._trains_wordwise:
            return self._encode(questions, training=True), self._encode(answers, training=True)
        places, rows = self._wordwise.project(_one_below_the_other(questions, answers))
        n, width = tf.shape(questions)[0], _longest(questions)
        return self._wordwise(places[:n, :width], rows), self._wordwise(places[n:], rows)

    def _encode_wordwise(self, words: tf.Tensor) -> list[tf.Tensor]:
        return self._wordwise(*self._wordwise.project(words))

    def _encode(self, words: tf.Tensor, training: bool = False) -> list[tf.Tensor]:
        encoded = keras.tree.flatten(self.ranker.get_layer("encoder")(words, training=training))
        # As tensors of their own: Keras would warn that the matcher drops the mask of a BiLSTM's states.
        return [tf.identity(x) for x in encoded]

    def _match(self, questions: list[Any], answers: list[Any], training: bool = False) -> tf.Tensor:
        return self.ranker.get_layer("matcher")([*questions, *answers], training=training)


def _one_below_the_other(*groups: tf.Tensor) -> tf.Tensor:
    """Put matrices of padded words together, as wide as their longest text."""
    width = tf.reduce_max([_longest(words) for words in groups])
    narrow = [words[:, :width] for words in groups]
    return tf.concat([tf.pad(words, [[0, 0], [0, width - tf.shape(words)[1]]]) for words in narrow], 0)


def _longest(words: tf.Tensor) -> tf.Tensor:
    """Count the words of the longest text, at least one."""
    return tf.maximum(tf.reduce_max(tf.math.count_nonzero(words, axis=1, dtype=tf.int32)), 1)
