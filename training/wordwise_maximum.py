"""The largest value of every filter of a convolution over texts, without the states of all steps at once."""

import tensorflow as tf


def maximum_over_windows(places: tf.Tensor, rows: tf.Tensor, window: int) -> tf.Tensor:
    """Take the maximum over the steps of a convolution whose words are multiplied by its kernel already.

    ```
    maximum = max over t of sum_j rows[place of word t + j - (window - 1) // 2, j],   j = 0 ... window - 1
    ```

    Texts are taken one by one, each as long as it is: padding costs nothing, and what is held is one text's
    states. The gradient looks the winning steps up anew; the whole gradient goes to the first of steps that
    are equal.

    Args:
        places: int32 `(texts, steps)`, the places of the words among the distinct ones, 0 being padding.
        rows: `(distinct words * window, filters)`, what a word contributes at each place of the window, the
            rows of a word one below the other; those of padding are zero.
        window: words in the window, which beyond a text's ends has padding.

    Returns:
        `(texts, filters)`, without the bias; zero for a text without words.

    Example:
        >>> rows = tf.constant([[0.0], [0.0], [1.0], [2.0], [5.0], [-4.0]])  # padding and two words
        >>> maximum_over_windows(tf.constant([[1, 2, 0], [0, 0, 0]]), rows, 2).numpy().tolist()
        [[5.0], [0.0]]
    """
    lengths = tf.math.count_nonzero(places, axis=1, dtype=tf.int32)
    before = (window - 1) // 2

    def windows(text: tuple[tf.Tensor, tf.Tensor]) -> list[tf.Tensor]:
        # Of every place of the window the rows of all steps.
        words, length = text
        words = tf.pad(words[:length], [[before, window - 1 - before]])
        return [words[j : j + length] * window + j for j in range(window)]

    def of_all_texts(function, dtype: tf.DType) -> tf.Tensor:
        # One text after the other: two at a time would take twice the memory.
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
