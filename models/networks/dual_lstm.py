"""HD-LSTM and NTN-LSTM (Tay et al. 2017) and CNTN (Qiu and Huang 2015) as functional Keras models."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import CircularCorrelation, NeuralTensor
from answer_ranking.models.networks.pairs import bilinear, convolution, mlp_score, read_pair, with_features
from answer_ranking.models.networks.word_lstm import WordLSTM


def hd_lstm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 128,
    *,
    hidden: Sequence[int] = (64,),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by an MLP over the circular correlation of the last states of two LSTMs.

    [Learning to Rank Question Answer Pairs with Holographic Dual LSTM
    Architecture](https://arxiv.org/abs/1707.06372): question and answer have an LSTM each, whose last states
    q and a make

    ```
    [q * a; q^T M a; x_feat]          q * a: `layers.CircularCorrelation`
    ```

    Then come hidden layers (tanh) and the softmax over {wrong, correct}.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        units: d, the size of each LSTM's state; 512 to 640 in the paper.
        hidden: sizes of the hidden layers; one of 32 to 128 in the paper.
        n_features: number of features of the pair, such as the word overlap; 0 for none.
        dropout: share of the entries of the last states and of the hidden layers that training drops.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the inputs and scores of `ctrn`. Trainable parameters with one hidden layer h:
        2(4d(n + d) + 4d) + dd + (d + 1 + n_features)h + h + 2h + 2.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = hd_lstm(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    states = _last_states(texts, masks, units, dropout, seeds)
    similarity = bilinear(states, next(seeds))
    x = CircularCorrelation(name="correlation")(states)
    x = keras.layers.Concatenate(name="pair")([x, similarity])
    x = with_features(inputs, x, n_features)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds, activation="tanh"), name="HD-LSTM")


def ntn_lstm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 128,
    *,
    slices: int = 5,
    hidden: Sequence[int] = (64,),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer as `hd_lstm` does, with a neural tensor in the place of correlation and similarity.

    Args:
        slices: r, the slices of the tensor, see `layers.NeuralTensor`.
        The other arguments are those of `hd_lstm`.

    Returns:
        A model as of `hd_lstm`. Trainable parameters with one hidden layer h:
        2(4d(n + d) + 4d) + r(dd + 2d + 1) + (r + n_features)h + h + 2h + 2.

    Example:
        >>> model = ntn_lstm(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    states = _last_states(texts, masks, units, dropout, seeds)
    x = with_features(inputs, _tensor(slices, seeds)(states), n_features)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds, activation="tanh"), name="NTN-LSTM")


def cntn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 64,
    *,
    window: int = 3,
    largest: int = 4,
    slices: int = 5,
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by a neural tensor over the largest values of a convolution of each text, in order.

    [Convolutional Neural Tensor Network Architecture for Community-Based Question
    Answering](https://www.ijcai.org/Proceedings/15/Papers/188.pdf), Section 3:

    ```
    s(q, a) = u^T f(q^T M^[1:r] a + V [q; a] + b)
    ```

    where q and a are the k largest values of every feature map, in the order of the text. The paper stacks
    several convolutions; here there is one. Features of the pair, such as the word overlap, stand beside f.

    Args:
        filters: the feature maps of the convolution, which both texts share.
        window: the words in the window of the convolution.
        largest: k, how many values of a feature map are kept.
        slices: r, the slices of the tensor.
        n_features: number of features of the pair; 0 for none, as in the paper.
        dropout: share of the entries of the texts' vectors that training drops.
        The other arguments are those of `hd_lstm`.

    Returns:
        A model with the inputs and scores of `arc_i`. Trainable parameters with v = k f:
        window n f + f + r(vv + 2v + 1) + r + n_features + 1.

    Example:
        >>> model = cntn(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    convolve = convolution(filters, window, next(seeds))
    drop = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")
    vectors = []
    for text, mask in zip(texts, masks, strict=True):
        kept = _largest_in_order(convolve(text), mask, largest)
        vectors.append(drop(keras.layers.Reshape((filters * largest,))(kept)))
    x = with_features(inputs, _tensor(slices, seeds)(vectors), n_features)
    return keras.Model(inputs, mlp_score(x, (), 0.0, seeds, classes=1), name="CNTN")


def _last_states(
    texts: list[Any], masks: list[Any], units: int, dropout: float, seeds: Iterator[int]
) -> list[Any]:
    """Read each text by an LSTM of its own, up to its last real word."""
    drop = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")
    states = []
    for side, text, mask in zip(("question", "answer"), texts, masks, strict=True):
        recurrent = WordLSTM(
            units,
            kernel_initializer=keras.initializers.GlorotUniform(seed=next(seeds)),
            recurrent_initializer=keras.initializers.Orthogonal(seed=next(seeds)),
            name=f"{side}_lstm",
        )
        states.append(drop(recurrent(text, mask=mask)))
    return states


def _tensor(slices: int, seeds: Iterator[int]) -> NeuralTensor:
    initializers = [keras.initializers.GlorotUniform(seed=next(seeds)) for _ in range(2)]
    return NeuralTensor(slices, "tanh", *initializers, name="tensor")


def _largest_in_order(x: Any, mask: Any, k: int) -> Any:
    """Keep the k largest values of each feature over the real steps, in order; 0 for what is missing."""
    x = ops.where(ops.expand_dims(mask, -1), x, -2.0)  # below every tanh
    x = ops.pad(x, ((0, 0), (0, k), (0, 0)), constant_values=-2.0)
    x = ops.transpose(x, (0, 2, 1))
    places = ops.sort(ops.top_k(x, k)[1], axis=-1)
    kept = ops.take_along_axis(x, places, axis=-1)
    return ops.where(kept < -1.5, 0.0, kept)
