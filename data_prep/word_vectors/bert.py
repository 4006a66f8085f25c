"""BERT's forward pass: from word pieces to a vector for each."""

from typing import TYPE_CHECKING

import numpy as np

from answer_ranking.data_prep.word_vectors.encoder_folder import BertConfig

if TYPE_CHECKING:
    import tensorflow as tf


class Bert:
    """A frozen BERT (https://arxiv.org/abs/1810.04805): the states of its last layer.

    GELU is the exact one, x Phi(x), and layer normalisation has the config's epsilon, 1e-12, as BERT was
    trained; the usual approximation by tanh gives vectors that differ by 2e-3.

    Args:
        config: the sizes.
        weights: as `read_encoder` gives them.

    Example:
        >>> states = Bert(files.config, files.weights)(pieces, lengths)  # doctest: +SKIP
    """

    def __init__(self, config: BertConfig, weights: dict[str, np.ndarray]):
        import tensorflow as tf

        self.config = config
        self._weights = {name: tf.constant(array) for name, array in weights.items()}
        for layer in range(config.layers):
            self._join_projections(f"encoder.layer.{layer}.attention.self.")
        signature = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
        self._states = tf.function(self._forward, input_signature=signature)

    def __call__(self, pieces: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Encode texts, int32 (texts, longest) and their lengths; float32 (texts, longest, hidden).

        What stands behind a text's length takes no part, and its states say nothing.
        """
        return self._states(np.asarray(pieces, np.int32), np.asarray(lengths, np.int32)).numpy()

    def _join_projections(self, start: str) -> None:
        """Put queries, keys and values into one matrix: one product for three."""
        import tensorflow as tf

        for kind in ("weight", "bias"):
            parts = [self._weights.pop(f"{start}{name}.{kind}") for name in ("query", "key", "value")]
            self._weights[f"{start}all.{kind}"] = tf.concat(parts, 0)

    def _forward(self, pieces: "tf.Tensor", lengths: "tf.Tensor") -> "tf.Tensor":
        import tensorflow as tf

        n_texts, longest = tf.shape(pieces)[0], tf.shape(pieces)[1]
        real = tf.sequence_mask(lengths, longest)
        # Not -inf, whose softmax over a text without pieces would be no number.
        hidden_steps = tf.where(real, 0.0, -1e9)[:, None, None, :]
        x = tf.gather(self._weights["embeddings.word_embeddings.weight"], pieces)
        x += self._weights["embeddings.position_embeddings.weight"][:longest] + self._weights["token_types"]
        # The steps of all texts in one matrix: the products below are those of two dimensions.
        x = self._normalised(tf.reshape(x, (-1, self.config.hidden)), "embeddings.LayerNorm")
        for layer in range(self.config.layers):
            start = f"encoder.layer.{layer}."
            attended = self._attention(x, hidden_steps, n_texts, longest, f"{start}attention.self.all")
            attended = self._dense(attended, f"{start}attention.output.dense")
            x = self._normalised(x + attended, f"{start}attention.output.LayerNorm")
            wide = tf.nn.gelu(self._dense(x, f"{start}intermediate.dense"), approximate=False)
            x = self._normalised(x + self._dense(wide, f"{start}output.dense"), f"{start}output.LayerNorm")
        return tf.reshape(x, (n_texts, longest, self.config.hidden))

    def _attention(
        self, x: "tf.Tensor", hidden_steps: "tf.Tensor", n_texts: "tf.Tensor", longest: "tf.Tensor", name: str
    ) -> "tf.Tensor":
        """Attend to all steps of each text with every head: softmax(q k' / sqrt(size)) v."""
        import tensorflow as tf

        size = self.config.hidden // self.config.heads
        heads = tf.reshape(self._dense(x, name), (n_texts, longest, 3, self.config.heads, size))
        query, key, value = tf.unstack(tf.transpose(heads, (2, 0, 3, 1, 4)))
        logits = tf.matmul(query, key, transpose_b=True) * size**-0.5 + hidden_steps
        attended = tf.matmul(tf.nn.softmax(logits), value)
        return tf.reshape(tf.transpose(attended, (0, 2, 1, 3)), (-1, self.config.hidden))

    def _dense(self, x: "tf.Tensor", name: str) -> "tf.Tensor":
        import tensorflow as tf

        product = tf.matmul(x, self._weights[f"{name}.weight"], transpose_b=True)
        return tf.nn.bias_add(product, self._weights[f"{name}.bias"])

    def _normalised(self, x: "tf.Tensor", name: str) -> "tf.Tensor":
        import tensorflow as tf

        centred = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
        scaled = centred * tf.math.rsqrt(variance + self.config.epsilon)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
