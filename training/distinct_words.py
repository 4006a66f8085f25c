"""The distinct words of many texts, for work that is the same wherever a word stands."""

import keras
import tensorflow as tf


def distinct_word_vectors(words: tf.Tensor, embedding: keras.layers.Layer) -> tuple[tf.Tensor, tf.Tensor]:
    """Look every distinct word of padded texts up once.

    Args:
        words: int32 `(texts, steps)`, 0 being padding.
        embedding: the layer with the word vectors `embeddings`.

    Returns:
        For every word its place among the distinct ones, int32 `(texts, steps)`, 0 being padding; and the
        vectors of the distinct words, `(distinct words, n)`, that of padding first and zero.

    Example:
        >>> embedding = keras.layers.Embedding(10, 2)
        >>> embedding.build()
        >>> places, vectors = distinct_word_vectors(tf.constant([[7, 5, 7, 0]]), embedding)
        >>> places.numpy().tolist(), vectors.shape
        ([[1, 2, 1, 0]], TensorShape([3, 2]))
    """
    # With a padding word in front, padding has the place 0.
    distinct, places = tf.unique(tf.concat([[0], tf.reshape(words, (-1,))], 0))
    # A tensor: gathered from a variable, it would be copied whole wherever else it is read.
    vectors = tf.gather(tf.convert_to_tensor(embedding.embeddings.value), distinct)
    return tf.reshape(places[1:], tf.shape(words)), tf.where(distinct[:, None] > 0, vectors, 0.0)
