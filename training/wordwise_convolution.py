"""A convolution over texts that multiplies each distinct word by the kernel once."""

import keras
import tensorflow as tf

from training.distinct_words import distinct_word_vectors
from training.encoder_steps import has_options, has_steps
from training.wordwise_maximum import maximum_over_windows

# What the equation below is of.
_CONVOLUTION = {
    "padding": "same",
    "activation": "linear",
    "strides": (1,),
    "dilation_rate": (1,),
    "groups": 1,
    "data_format": "channels_last",
    "use_bias": True,
}


class WordwiseConvolution:
    """Encodes many texts with a convolutional encoder, without dropout, projecting each distinct word once.

    A convolution is linear: a step's value is the sum of what each word of its window contributes, and that
    depends on the word and on its place in the window alone (W_j is the kernel's part for place j):

    ```
    state_t = b + sum_j W_j z_{t + j - (k - 1) // 2},   j = 0 ... k - 1
    ```

    So each distinct word is multiplied by W_0 ... W_{k-1} in one matrix product, and the states are sums of k
    rows of the result. Among a thousand drawn answers a word stands four times and more, and that many
    times fewer products are left. What comes out is what the encoder gives, but for rounding (tested). The
    rows of all distinct words are held at once: 4 bytes * k * filters for each, at most for the vocabulary.

    Args:
        encoder: the `encoder` part of `models.attentive_pooling.qa_cnn` or `ap_cnn`.

    Example:
        >>> convolution = WordwiseConvolution(model.get_layer("encoder"))  # doctest: +SKIP
        >>> places, rows = convolution.project(words)  # doctest: +SKIP
        >>> states, mask = convolution(places, rows)  # doctest: +SKIP
    """

    def __init__(self, encoder: keras.Model):
        self._embedding = encoder.get_layer("word_vectors")
        self._convolution = encoder.get_layer("convolution")
        self._pools = "maximum" in [layer.name for layer in encoder.layers]

    @staticmethod
    def fits(encoder: keras.Model) -> bool:
        """Tell whether an encoder has the two's steps, and no others: those are not done here."""
        if not has_steps(encoder, "convolution", "Conv1D"):
            return False
        convolution = encoder.get_layer("convolution")
        return not convolution.lora_enabled and has_options(convolution, _CONVOLUTION)

    def project(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Multiply every distinct word by the kernel.

        Args:
            words: int32 `(texts, steps)`, 0 being padding.

        Returns:
            For every word its place among the distinct ones, int32 `(texts, steps)`, 0 being padding; and
            what the distinct words contribute, of the kernel's type, `(distinct words * k, filters)`, the k
            rows of a word one below the other.
        """
        places, vectors = distinct_word_vectors(words, self._embedding)
        kernel = self._convolution.kernel.value
        vectors = tf.cast(vectors, kernel.dtype)
        window, inputs, filters = kernel.shape
        kernel = tf.transpose(kernel, (1, 0, 2))
        rows = tf.matmul(vectors, tf.reshape(kernel, (inputs, window * filters)))
        return places, tf.reshape(rows, (-1, filters))

    def __call__(self, places: tf.Tensor, rows: tf.Tensor) -> list[tf.Tensor]:
        """Return what the encoder gives for texts whose words `project` has projected.

        Args:
            places: int32 `(texts, steps)`, any rows of `project`'s, cut after the longest text.
            rows: `project`'s.

        Returns:
            The states `(texts, steps, filters)` and their mask `(texts, steps)`, or the text vectors
            `(texts, filters)`.
        """
        window, bias = self._convolution.kernel.shape[0], self._convolution.bias.value
        dtype = self._convolution.compute_dtype
        mask = places > 0
        if self._pools:
            # The bias is the same in all steps: added to the maximum, it gives the same sum.
            largest = maximum_over_windows(places, rows, window)
            vector = tf.cast(tf.nn.bias_add(largest, bias), dtype)
            return [tf.tanh(tf.where(tf.reduce_any(mask, 1, keepdims=True), vector, 0.0))]
        before = (window - 1) // 2
        steps = tf.shape(places)[1]
        padded = tf.pad(places, [[0, 0], [before, window - 1 - before]])
        parts = [tf.gather(rows, padded[:, j : j + steps] * window + j) for j in range(window)]
        return [tf.cast(tf.nn.bias_add(tf.add_n(parts), bias), dtype), mask]
