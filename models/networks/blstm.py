"""BLSTM (Wang and Nyberg, ACL 2015) as a functional Keras model."""

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import MaskedMean
from answer_ranking.models.networks.pairs import bidirectional_lstm, mlp_score, read_pair, with_features


def blstm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 64,
    *,
    layers: int = 3,
    hidden: Sequence[int] = (),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by stacked bidirectional LSTMs that read the question, a separator and the answer.

    [A Long Short-Term Memory Model for Answer Sentence Selection in Question
    Answering](https://aclanthology.org/P15-2116). The states of the last layer are averaged over all steps,
    and a softmax over {wrong, correct} follows. The paper combines its score with BM25 by boosted trees; here
    features of the pair stand beside the average. The separator is a step of zeros.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        units: d, the size of a state of each direction.
        layers: how many bidirectional LSTMs lie one upon another; 3 in the paper.
        hidden: sizes of hidden layers before the softmax.
        n_features: number of features of the pair, such as the word overlap; 0 for none.
        dropout: share of the entries of each layer's states and of hidden layers that training drops.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the inputs and scores of `ctrn`. Trainable parameters without hidden layers:
        2(4d(n + d) + 4d), 2(4d(2d + d) + 4d) for each further layer, and 2(2d + n_features) + 2.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = blstm(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    if layers < 1:
        raise ValueError(f"`layers` must be at least 1. Received: layers={layers}")
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    separator = ops.zeros_like(texts[0][:, :1])
    x = ops.concatenate([texts[0], separator, texts[1]], axis=1)
    mask = ops.concatenate([masks[0], ops.ones_like(masks[0][:, :1]), masks[1]], axis=1)
    for number in range(1, layers + 1):
        x = bidirectional_lstm(units, seeds, name=f"bilstm_{number}")(x, mask=mask)
        x = keras.layers.Dropout(dropout, seed=next(seeds), name=f"dropout_{number}")(x)
    x = with_features(inputs, MaskedMean()(x, mask=mask), n_features)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds), name="BLSTM")
