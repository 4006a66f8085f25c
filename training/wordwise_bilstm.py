"""A bidirectional LSTM over texts that multiplies each distinct word by the kernels once."""

import keras
import tensorflow as tf

from training.distinct_words import distinct_word_vectors
from training.encoder_steps import has_options, has_steps
from training.wordwise_recurrence import bilstm_states

# What the equations below are of; how weights begin and are punished in training does not matter.
_LSTM = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "use_bias": True,
    "return_sequences": True,
    "return_state": False,
    "stateful": False,
    "dropout": 0.0,
    "recurrent_dropout": 0.0,
}


class WordwiseBiLSTM:
    """Encodes many texts with a BiLSTM encoder, without dropout, projecting each distinct word once.

    A step of an LSTM multiplies the word and the state before it, each by a matrix of its own: W z + U h + b.
    W z + b depends on the word alone, and W is by far the larger matrix where word vectors are longer than
    states. So each distinct word is multiplied by the W of both directions once, and the steps, those of
    `training.wordwise_recurrence`, look the result up. What comes out at the real words is what the encoder
    gives, but for rounding (tested). The rows of all distinct words are held at once:
    32 bytes * units for each, at most for the vocabulary.

    Args:
        encoder: the `encoder` part of `models.attentive_pooling.qa_bilstm` or `ap_bilstm`.

    Example:
        >>> bilstm = WordwiseBiLSTM(model.get_layer("encoder"))  # doctest: +SKIP
        >>> places, rows = bilstm.project(words)  # doctest: +SKIP
        >>> states, mask = bilstm(places, rows)  # doctest: +SKIP
    """

    def __init__(self, encoder: keras.Model):
        self._embedding = encoder.get_layer("word_vectors")
        bilstm = encoder.get_layer("bilstm")
        self._cells = [bilstm.forward_layer.cell, bilstm.backward_layer.cell]
        self._compute_dtype = bilstm.compute_dtype
        names = [layer.name for layer in encoder.layers]
        self._pooling = [encoder.get_layer(name) for name in ("maximum", "tanh") if name in names]

    @staticmethod
    def fits(encoder: keras.Model) -> bool:
        """Tell whether an encoder has the two's steps, and no others: those are not done here."""
        if not has_steps(encoder, "bilstm", "Bidirectional"):
            return False
        bilstm = encoder.get_layer("bilstm")
        directions = (bilstm.forward_layer, False), (bilstm.backward_layer, True)
        return bilstm.merge_mode == "concat" and all(
            type(layer) is keras.layers.LSTM and has_options(layer, _LSTM | {"go_backwards": backwards})
            for layer, backwards in directions
        )

    def project(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Multiply every distinct word by the kernels of both directions, and add their biases.

        Args:
            words: int32 `(texts, steps)`, 0 being padding.

        Returns:
            For every word its place among the distinct ones, int32 `(texts, steps)`, 0 being padding; and W z
            + b of the distinct words, of the kernels' type, `(2, distinct words, 4 * units)`, the forward
            direction first.
        """
        places, vectors = distinct_word_vectors(words, self._embedding)
        vectors = tf.cast(vectors, self._cells[0].kernel.dtype)
        rows = [tf.matmul(vectors, cell.kernel.value) + cell.bias.value for cell in self._cells]
        return places, tf.stack(rows)

    def __call__(self, places: tf.Tensor, rows: tf.Tensor) -> list[tf.Tensor]:
        """Return what the encoder gives for texts whose words `project` has projected.

        Args:
            places: int32 `(texts, steps)`, any rows of `project`'s, cut after the longest text.
            rows: `project`'s.

        Returns:
            The states `(texts, steps, 2 * units)`, zero at padding, and their mask `(texts, steps)`; or the
            text vectors `(texts, 2 * units)`.
        """
        recurrent = tf.stack([cell.recurrent_kernel.value for cell in self._cells])
        states = bilstm_states(places, rows, recurrent)
        states, mask = tf.cast(states, self._compute_dtype), places > 0
        if not self._pooling:
            return [states, mask]
        maximum, tanh = self._pooling
        return [tanh(maximum(states, mask=mask))]
