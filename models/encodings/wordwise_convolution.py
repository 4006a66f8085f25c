"""A convolution over texts that multiplies each distinct word by the kernel once."""

import keras
import tensorflow as tf

from answer_ranking.models.encodings.contextual_words import ContextualWords, look_up


class WordwiseConvolution:
    """Encodes texts with a convolutional encoder, multiplying each distinct word by the kernel once.

    A convolution is linear: a step's value is the sum of what each word of its window contributes, which
    depends only on the word and its place in the window (W_j is the kernel's part for place j):

    ```
    state_t = b + sum_j W_j z_{t + j - (k - 1) // 2},   j = 0 ... k - 1
    ```

    So `project` multiplies each distinct word by W_0 ... W_{k-1} in one matrix product, and the states are
    sums of k rows of the result. Among a thousand drawn answers a word occurs four times and more. The
    results are those of the encoder, up to rounding (tested). The rows of all distinct words take 4 bytes *
    k * filters each.

    Args:
        encoder: the `encoder` part of `models.qa_cnn` or `ap_cnn`.

    Example:
        >>> import numpy as np
        >>> from answer_ranking.models import ap_cnn
        >>> encoding = ap_cnn(np.ones((10, 4), "float32"), filters=3).encoding
        >>> states, mask = encoding(*encoding.project(np.array([[5, 7, 0]], "int32")))
        >>> states.shape, mask.numpy().tolist()
        (TensorShape([1, 3, 3]), [[True, True, False]])
    """

    kind = "wordwise"

    def __init__(self, encoder: keras.Model):
        self.encoder = encoder
        self._words = DistinctWords(encoder)
        self.trains = self._words.trains
        self._convolution = encoder.get_layer("convolution")
        self._pools = "maximum" in [layer.name for layer in encoder.layers]

    def project(self, words: tf.Tensor, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """Multiply every distinct word of int32 `(texts, steps)`, 0 being padding, by the kernel.

        Returns for every word its place among the distinct ones, 0 being padding; and the rows of the
        distinct words, `(distinct words * k, filters)`, the k rows of a word together.
        """
        places, vectors = self._words(words, training)
        kernel = self._convolution.kernel.value
        vectors = tf.cast(vectors, kernel.dtype)
        window, inputs, filters = kernel.shape
        kernel = tf.transpose(kernel, (1, 0, 2))
        rows = tf.matmul(vectors, tf.reshape(kernel, (inputs, window * filters)))
        return places, tf.reshape(rows, (-1, filters))

    def __call__(self, places: tf.Tensor, rows: tf.Tensor) -> list[tf.Tensor]:
        """Return the encoder's output, as a list: states and mask, or text vectors.

        `places` and `rows` are those of `project`; any rows of `places`, perhaps cut after the longest text.
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


def maximum_over_windows(places: tf.Tensor, rows: tf.Tensor, window: int) -> tf.Tensor:
    """Take the maximum over the steps of a convolution whose words are multiplied by its kernel already.

    ```
    maximum = max over t of sum_j rows[place of word t + j - (window - 1) // 2, j],   j = 0 ... window - 1
    ```

    `places` and `rows` are those of `WordwiseConvolution.project`; the result, `(texts, filters)`, is
    without the bias, and zero for a text without words. Texts are processed one by one at their own length,
    so that the states of only one text are in memory. The gradient recomputes the winning steps; of equal
    steps the first gets the whole gradient.
    """
    lengths = tf.math.count_nonzero(places, axis=1, dtype=tf.int32)
    before = (window - 1) // 2

    def windows(text: tuple[tf.Tensor, tf.Tensor]) -> list[tf.Tensor]:
        # Of every place of the window the rows of all steps.
        words, length = text
        words = tf.pad(words[:length], [[before, window - 1 - before]])
        return [words[j : j + length] * window + j for j in range(window)]

    def of_all_texts(function, dtype: tf.DType) -> tf.Tensor:
        # One at a time: two would take twice the memory.
        return tf.map_fn(function, (places, lengths), parallel_iterations=1, fn_output_signature=dtype)

    @tf.custom_gradient
    def maximum(rows: tf.Tensor):
        def states(text: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
            return tf.add_n([tf.gather(rows, at) for at in windows(text)])

        n_filters = rows.shape[1]
        largest = of_all_texts(
            lambda text: tf.reduce_max(states(text), 0), tf.TensorSpec((n_filters,), rows.dtype)
        )
        largest = tf.where(lengths[:, None] > 0, largest, 0.0)

        def gradient(at_largest: tf.Tensor) -> tf.Tensor:
            def winners(text: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
                # A text without words gets a step of padding, so that there is one to win.
                text = text[0], tf.maximum(text[1], 1)
                step = tf.argmax(states(text), 0, output_type=tf.int32)
                return tf.stack([tf.gather(at, step) for at in windows(text)])

            of_winners = of_all_texts(winners, tf.TensorSpec((window, n_filters), tf.int32))
            at_largest = tf.where(lengths[:, None] > 0, at_largest, 0.0)
            entries = of_winners * n_filters + tf.range(n_filters)
            each = tf.broadcast_to(at_largest[:, None], tf.shape(entries))
            total = tf.math.unsorted_segment_sum(
                tf.reshape(each, (-1,)), tf.reshape(entries, (-1,)), tf.size(rows)
            )
            return tf.reshape(total, tf.shape(rows))

        return largest, gradient

    return maximum(rows)


class DistinctWords:
    """Looks up every distinct word of padded texts once.

    Args:
        encoder: has the layers `word_vectors` and `embedding_dropout`.

    Attributes:
        trains: whether training may use it. Dropout draws a mask for every place of a word, but a token of
            contextual words stands in one text alone; where a batch has that text twice, both have the same
            mask.
    """

    def __init__(self, encoder: keras.Model):
        self._embedding = encoder.get_layer("word_vectors")
        self._dropout = encoder.get_layer("embedding_dropout")
        self.trains = self._dropout.rate == 0 or isinstance(self._embedding, ContextualWords)

    def __call__(self, words: tf.Tensor, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """Give for every word of int32 `(texts, steps)` its place among the distinct ones, 0 being padding.

        Returns the places, int32 `(texts, steps)`, and the vectors of the distinct words, `(distinct words,
        n)`, that of padding first and zero.
        """
        # With a padding word in front, padding has the place 0.
        distinct, places = tf.unique(tf.concat([[0], tf.reshape(words, (-1,))], 0))
        vectors = look_up(distinct, self._embedding)
        if training:
            vectors = self._dropout(vectors, training=True)
        return tf.reshape(places[1:], tf.shape(words)), tf.where(distinct[:, None] > 0, vectors, 0.0)
