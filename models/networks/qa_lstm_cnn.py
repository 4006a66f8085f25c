"""QA-LSTM/CNN (Tan et al., ACL 2016) as a functional Keras model."""

import keras
import numpy as np

from answer_ranking.layers import PooledConvolution
from answer_ranking.models.networks.matchers import cosine_matcher
from answer_ranking.models.networks.pairs import bidirectional_lstm, pair_inputs, words_of


def qa_lstm_cnn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 400,
    *,
    units: int = 141,
    window: int = 2,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by the cosine of two texts that an LSTM and then a convolution read.

    [Improved Representation Learning for Question Answer Matching](https://aclanthology.org/P16-1044),
    Section 3.2: over the states of a bidirectional LSTM goes a convolution, C = tanh(W H + b), with the
    maximum over its steps; the score is the cosine. Both texts have the same weights.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        filters: c, the feature maps of the convolution; 1000 to 4000 in the paper.
        units: d, the size of a direction's state; 141 in the paper.
        window: k, the steps in the window of the convolution; 2 in the paper.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model `matcher([encoder(question), encoder(answer)])` as of `qa_cnn`. Trainable parameters:
        2(4d(n + d) + 4d) + 2kdc + c.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = qa_lstm_cnn(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    text = keras.Input((None,), dtype="int32", name="text")
    (words,), (mask,) = words_of([text], word_vectors, embedding_dropout, next(seeds))
    states = bidirectional_lstm(units, seeds)(words, mask=mask)
    convolve = PooledConvolution(
        filters,
        window,
        "tanh",
        kernel_initializer=keras.initializers.GlorotUniform(seed=next(seeds)),
        name="convolution",
    )
    encoder = keras.Model(text, convolve(states, mask=mask), name="encoder")
    inputs = pair_inputs()
    score = cosine_matcher(filters)([encoder(each) for each in inputs])
    return keras.Model(inputs, score, name="QA-LSTM-CNN")
