"""The table of word vectors that every ranker begins with."""

import keras
import numpy as np


def word_embedding(
    word_vectors: np.ndarray | keras.layers.Embedding, trainable: bool = False
) -> keras.layers.Embedding:
    """Make the layer that looks words up, named `word_vectors`, or take one over from another ranker.

    Rankers that share a frozen layer share its memory, the most of what a ranker has: 100 MB for 60,000 words
    of 450 dimensions.

    Args:
        word_vectors: float32 `(words, n)`, of which row 0 belongs to padding; or the `word_vectors` layer of
            another ranker.
        trainable: whether training changes the vectors.

    Returns:
        A built layer from int32 words to float32 vectors, which masks padding.

    Raises:
        ValueError: `word_vectors` is not a matrix, or a shared layer is to be trained.

    Example:
        >>> layer = word_embedding(np.ones((10, 4), "float32"))
        >>> layer(np.array([[1, 2, 0]])).shape
        TensorShape([1, 3, 4])
        >>> word_embedding(layer) is layer
        True
    """
    if isinstance(word_vectors, keras.layers.Embedding):
        if trainable or word_vectors.trainable:
            raise ValueError(
                "word vectors that are trained cannot be shared. Received: a layer, trainable=True"
            )
        return word_vectors
    word_vectors = np.asarray(word_vectors)
    if word_vectors.ndim != 2:
        raise ValueError(
            f"`word_vectors` must have the shape (words, dimensions). Received: shape={word_vectors.shape}"
        )
    words, n = word_vectors.shape
    layer = keras.layers.Embedding(
        words, n, mask_zero=True, trainable=trainable, weights=[word_vectors], name="word_vectors"
    )
    layer.build()
    return layer
