"""BERT's forward pass in TensorFlow, of a frozen encoder and of one that is trained."""

from collections.abc import Callable, Mapping

import tensorflow as tf

from answer_ranking.data_prep.word_vectors.encoder_folder import BertConfig


class BertStates:
    """BERT (https://arxiv.org/abs/1810.04805): from word pieces to the states of its last layer.

    GELU is the exact one, x Phi(x), and layer normalisation has the config's epsilon, 1e-12, as BERT was
    trained; the usual approximation by tanh gives vectors that differ by 2e-3.

    Args:
        config: the sizes.
        weights: float32 tensors by the names of `BertConfig.joined_shapes`.
        drop: what the embeddings, the shares of the attention, and what each sublayer adds to its input pass
            through: dropout in a training; None for nothing.
        transposed: whether the matrices of dense layers are (inputs, outputs), not (outputs, inputs) as in
            the file. A single text, whose products have few rows, is encoded in half the time.

    Example:
        >>> states = BertStates(config, weights)(pieces, lengths)  # doctest: +SKIP
    """

    def __init__(
        self,
        config: BertConfig,
        weights: Mapping[str, tf.Tensor],
        drop: Callable[[tf.Tensor], tf.Tensor] | None = None,
        transposed: bool = False,
    ):
        self.config, self._weights, self._transposed = config, weights, transposed
        self._drop = drop or (lambda x: x)

    def __call__(
        self, pieces: tf.Tensor, lengths: tf.Tensor, token_types: tf.Tensor | None = None
    ) -> tf.Tensor:
        """Encode texts, int32 (texts, longest), and their lengths; float32 (texts, longest, hidden).

        `token_types`, int32 like the pieces, is None for the first type everywhere. What stands behind a
        text's length takes no part, and its states say nothing.
        """
        n_texts, longest = tf.shape(pieces)[0], tf.shape(pieces)[1]
        real = tf.sequence_mask(lengths, longest)
        # Not -inf, whose softmax over a text without pieces would be no number.
        hidden_steps = tf.where(real, 0.0, -1e9)[:, None, None, :]
        x = tf.gather(self._weights["embeddings.word_embeddings.weight"], pieces)
        types = self._weights["embeddings.token_type_embeddings.weight"]
        of_types = types[0] if token_types is None else tf.gather(types, token_types)
        x += self._weights["embeddings.position_embeddings.weight"][:longest] + of_types
        # The steps of all texts in one matrix: the products below are those of two dimensions.
        x = self._normalised(tf.reshape(x, (-1, self.config.hidden)), "embeddings.LayerNorm")
        x = self._drop(x)
        for layer in range(self.config.layers):
            start = f"encoder.layer.{layer}."
            attended = self._attention(x, hidden_steps, n_texts, longest, f"{start}attention.self.all")
            attended = self._drop(self._dense(attended, f"{start}attention.output.dense"))
            x = self._normalised(x + attended, f"{start}attention.output.LayerNorm")
            wide = tf.nn.gelu(self._dense(x, f"{start}intermediate.dense"), approximate=False)
            narrow = self._drop(self._dense(wide, f"{start}output.dense"))
            x = self._normalised(x + narrow, f"{start}output.LayerNorm")
        return tf.reshape(x, (n_texts, longest, self.config.hidden))

    def _attention(
        self, x: tf.Tensor, hidden_steps: tf.Tensor, n_texts: tf.Tensor, longest: tf.Tensor, name: str
    ) -> tf.Tensor:
        """Attend to all steps of each text with every head: softmax(q k' / sqrt(size)) v."""
        size = self.config.hidden // self.config.heads
        heads = tf.reshape(self._dense(x, name), (n_texts, longest, 3, self.config.heads, size))
        query, key, value = tf.unstack(tf.transpose(heads, (2, 0, 3, 1, 4)))
        logits = tf.matmul(query, key, transpose_b=True) * size**-0.5 + hidden_steps
        attended = tf.matmul(self._drop(tf.nn.softmax(logits)), value)
        return tf.reshape(tf.transpose(attended, (0, 2, 1, 3)), (-1, self.config.hidden))

    def _dense(self, x: tf.Tensor, name: str) -> tf.Tensor:
        product = tf.matmul(x, self._weights[f"{name}.weight"], transpose_b=not self._transposed)
        return tf.nn.bias_add(product, self._weights[f"{name}.bias"])

    def _normalised(self, x: tf.Tensor, name: str) -> tf.Tensor:
        centred = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
        scaled = centred * tf.math.rsqrt(variance + self.config.epsilon)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
