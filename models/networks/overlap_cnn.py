"""The networks that add counts of common words to a convolution, as functional Keras models.

Severyn and Moschitti (SIGIR 2015), Yang et al. (EMNLP 2015) after Yu et al. (2014), and the plain CNN of the
tables of CTRN and HyperQA.
"""

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import MaskedMean, PooledConvolution
from answer_ranking.models.networks.pairs import bilinear, convolution, mlp_score, read_pair, with_features


def severyn_moschitti(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 100,
    *,
    window: int = 5,
    hidden: Sequence[int] = (205,),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by an MLP over two convolutions, their similarity, and the overlap of the words.

    [Learning to Rank Short Text Pairs with Convolutional Deep Neural
    Networks](https://doi.org/10.1145/2766462.2767738), Section 3: x_q, x_d are maxima of a convolution each;

    ```
    sim(x_q, x_d) = x_q^T M x_d
    x_join = [x_q; sim; x_d; x_feat]
    ```

    and a hidden layer of the size of x_join (205) and the softmax over {wrong, correct}. The paper's
    convolutions are wide; here a window of five is centred on a word.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        filters: the feature maps of each convolution; 100 in the paper.
        window: the words in the window of a convolution; 5 in the paper.
        hidden: sizes of the layers of the MLP.
        n_features: number of features of the pair, the paper's overlap counts; 0 for none.
        dropout: share of the entries of x_q, sim, x_d and of the hidden layers that training drops.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the inputs and scores of `ctrn`. Trainable parameters with f filters, a joint vector of
        j = 2f + 1 + n_features and one hidden layer h: 2(5nf + f) + ff + jh + h + 2h + 2.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(100, 50)).astype("float32")
        >>> model = severyn_moschitti(vectors, 16, n_features=4)
        >>> words = [np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]
        >>> model([*words, np.zeros((1, 4), "float32")]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    pooled = []
    for side, text, mask in zip(("question", "answer"), texts, masks, strict=True):
        kernel = keras.initializers.GlorotUniform(seed=next(seeds))
        convolve = PooledConvolution(filters, window, kernel_initializer=kernel, name=f"{side}_convolution")
        pooled.append(convolve(text, mask=mask))
    similarity = bilinear(pooled, next(seeds))
    x = keras.layers.Concatenate(name="pair")([pooled[0], similarity, pooled[1]])
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")(x)
    x = with_features(inputs, x, n_features)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds), name="SeverynMoschitti")


def cnn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 128,
    *,
    window: int = 3,
    hidden: Sequence[int] = (128,),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by an MLP over a convolution of each text, the same for both, and the overlap.

    The plain "CNN" of the tables of [CTRN](https://arxiv.org/abs/1711.07656) and HyperQA, probably that of
    [Learning to Rank Question Answer Pairs with Holographic Dual LSTM
    Architecture](https://arxiv.org/abs/1707.06372): maxima over the words, hidden layers and the softmax over
    {wrong, correct}. No paper at hand states its sizes.

    Args:
        filters: the feature maps of the convolution.
        window: the words in the window of the convolution.
        The other arguments are those of `severyn_moschitti`.

    Returns:
        A model with the inputs and scores of `ctrn`. Trainable parameters with f filters, k words in the
        window and one hidden layer h: knf + f + (2f + n_features)h + h + 2h + 2.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(100, 50)).astype("float32")
        >>> cnn(vectors, 16)([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    kernel = keras.initializers.GlorotUniform(seed=next(seeds))
    convolve = PooledConvolution(filters, window, kernel_initializer=kernel, name="convolution")
    pooled = [convolve(text, mask=mask) for text, mask in zip(texts, masks, strict=True)]
    x = keras.layers.Concatenate(name="pair")(pooled)
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")(x)
    x = with_features(inputs, x, n_features)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds), name="CNN")


def cnn_cnt(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 100,
    *,
    n_features: int = 0,
    dropout: float = 0.0,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by a bilinear form of the averages of bigrams, and the counts of common words.

    [Deep Learning for Answer Sentence Selection](https://arxiv.org/abs/1412.1632), which
    [WikiQA](https://aclanthology.org/D15-1237)'s authors call CNN-Cnt:

    ```
    s = mean_i tanh(T_L x_i + T_R x_{i+1} + b)
    p(correct) = sigmoid(q^T M a + b')
    ```

    and a logistic regression over q^T M a, not its sigmoid, and the counts. The papers train the network
    first and the regression after; here they are trained together, and the weights of the counts start at
    0.

    Args:
        filters: the size of a text's vector.
        n_features: number of features of the pair, the counts; 0 for none.
        dropout: share of the entries of the texts' vectors that training drops; the papers have none.
        The other arguments are those of `severyn_moschitti`.

    Returns:
        A model with the inputs and scores of `ctrn`, the score being the log-odds. A text of one word has no
        bigram and the vector zero. Trainable parameters with f filters: 2nf + f + ff + 1 + n_features + 1.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(100, 50)).astype("float32")
        >>> cnn_cnt(vectors, 16)([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    convolve = convolution(filters, 2, next(seeds), name="bigrams")
    drop = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")
    means = []
    for text, mask in zip(texts, masks, strict=True):
        # The window of a text's last word reaches beyond its end.
        followed = ops.logical_and(mask, ops.pad(mask[:, 1:], ((0, 0), (0, 1))))
        means.append(drop(MaskedMean()(convolve(text), mask=followed)))
    x = with_features(inputs, bilinear(means, next(seeds)), n_features)
    # It starts as the network alone: with random weights of the counts it takes long to turn round.
    regression = keras.layers.Dense(1, kernel_initializer="identity", dtype="float32", name="logits")
    score = keras.layers.Reshape((), dtype="float32", name="score")(regression(x))
    return keras.Model(inputs, score, name="CNN-Cnt")
