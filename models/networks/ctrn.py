"""CTRN, QRNN and the LSTM baseline (Tay, Tuan and Hui, AAAI 2018) as functional Keras models."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from answer_ranking.layers import CrossTemporalEncoder, MaskedMean
from answer_ranking.layers.common import check_option, word_embedding
from answer_ranking.layers.cross_temporal_gate import ALIGNMENTS
from answer_ranking.models.networks.pairs import dense, mlp_score, pair_inputs, with_features
from answer_ranking.models.networks.word_lstm import WordLSTM

_Pair = list[Any]


def ctrn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 512,
    *,
    projection: int | None = None,
    kernel_size: int = 2,
    alignment: str = "index",
    hidden: Sequence[int] = (128,),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer to a question by two quasi-recurrent networks that lend each other their gates.

    Candidates and gates of both texts come from shared convolutions (Eq. 1); each text is pooled over time
    with its own gates and with its partner's, and the two results are multiplied (`CrossTemporalEncoder`).
    The means over the real words, side by side, go through an MLP into a softmax over {wrong, correct}
    (Eq. 2).
    The score is the difference of the two logits: its sigmoid is the softmax's probability of "correct", so
    that binary cross entropy with logits on it is the paper's cross entropy (Eq. 3). A higher score is a
    better answer.

    The paper's "n x m projection layer" after the frozen embedding is left out of its count of parameters
    (Table 2), which starts from m-dimensional inputs. Here it is an option: a linear layer without bias. The
    paper sets dropout to 0.5 without saying where: here it falls on the means and on each hidden layer. L2
    (Eq. 3) belongs to the training.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share, see
            `word_embedding`.
        filters: d, the number of filters of each convolution.
        projection: m, the size of the projected word vectors; None leaves them as they are (m = n).
        kernel_size: k, the words in the window of the convolutions.
        alignment: "index" or "scaled", the partner's step whose gates are lent; see `CrossTemporalGate`.
        hidden: sizes of the MLP's layers, the paper's h; 1 to 3 of them in the paper.
        n_features: number of features of the pair that are appended to the means; 0 for none.
        dropout: share of the entries of the means and of the hidden layers that training sets to zero.
        embedding_dropout: share of the entries of word vectors that training sets to zero.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the int32 inputs `question` `(batch, length)` and `answer` `(batch, length)`, 0 being
        padding, which comes after a text's words; the float32 input `features` `(batch, n_features)` if there
        are any; and float32 scores `(batch,)`. Trainable parameters with one hidden layer h and without
        projection and features: 3kdm + 2dh + h, as in the paper's Table 2, and 2h + 2 of the softmax.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = ctrn(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 64)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    check_option("alignment", alignment, ALIGNMENTS)
    encode = _encoder(filters, kernel_size, "fo", alignment, seed)
    return _ranker(
        "CTRN", encode, word_vectors, projection, hidden, n_features, dropout, embedding_dropout, seed
    )


def qrnn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 512,
    *,
    projection: int | None = None,
    kernel_size: int = 2,
    pooling: str = "fo",
    hidden: Sequence[int] = (128,),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer to a question by one quasi-recurrent network for both: CTRN without the crossing.

    Its arguments, inputs, errors and number of parameters are those of `ctrn`, but for `pooling`: "f", "fo"
    (as in the paper) or "ifo"; see `RecurrentPooling`.

    Example:
        >>> model = qrnn(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 64, n_features=4)
        >>> model([np.array([[5, 7]]), np.array([[5, 9, 0]]), np.zeros((1, 4), "float32")]).shape
        TensorShape([1])
    """
    encode = _encoder(filters, kernel_size, pooling, None, seed)
    return _ranker(
        "QRNN", encode, word_vectors, projection, hidden, n_features, dropout, embedding_dropout, seed
    )


def lstm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 512,
    *,
    projection: int | None = None,
    hidden: Sequence[int] = (128,),
    n_features: int = 0,
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer to a question by one LSTM for both, with a state of `units`: the paper's baseline.

    All else is that of `ctrn`. Trainable parameters: the 4(md + d^2) + 2dh + h of the paper's Table 2, the 4d
    biases of the gates, which the paper does not count, and 2h + 2 of the softmax.

    Example:
        >>> model = lstm(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 64)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    recurrent = WordLSTM(
        units,
        return_sequences=True,
        kernel_initializer=keras.initializers.GlorotUniform(seed=seed),
        recurrent_initializer=keras.initializers.Orthogonal(seed=seed + 1),
        name="lstm",
    )
    mean = MaskedMean(name="mean_of_words")

    def encode(texts: _Pair) -> _Pair:
        return [mean(recurrent(text)) for text in texts]

    return _ranker(
        "LSTM", encode, word_vectors, projection, hidden, n_features, dropout, embedding_dropout, seed
    )


def features_alone(
    n_features: int = 4, *, hidden: Sequence[int] = (128,), dropout: float = 0.5, seed: int = 0
) -> keras.Model:
    """Score an answer by its features and nothing else: what CTRN's MLP makes of the word overlap.

    On TrecQA the overlap features are strong, so a network that has them is to be compared with this model.
    It takes the inputs of `ctrn` and does not look at the words. A ValueError is raised if `n_features` is
    below 1.

    Example:
        >>> model = features_alone(4)
        >>> model([np.array([[5, 7]]), np.array([[5, 9, 0]]), np.zeros((1, 4), "float32")]).shape
        TensorShape([1])
    """
    if n_features < 1:
        raise ValueError(f"`n_features` must be at least 1. Received: n_features={n_features}")
    seeds = iter(range(seed + 10, seed + 100))
    inputs = pair_inputs()
    inputs.append(keras.Input((n_features,), dtype="float32", name="features"))
    return keras.Model(inputs, mlp_score(inputs[-1], hidden, dropout, seeds), name="features_alone")


def _encoder(
    filters: int, kernel_size: int, pooling: str, crossing: str | None, seed: int
) -> CrossTemporalEncoder:
    return CrossTemporalEncoder(
        filters,
        kernel_size,
        pooling,
        crossing,
        kernel_initializer=keras.initializers.GlorotUniform(seed=seed),
        name="encoder",
    )


def _ranker(
    name: str,
    encode: Callable[[_Pair], _Pair],
    word_vectors: np.ndarray | keras.layers.Embedding,
    projection: int | None,
    hidden: Sequence[int],
    n_features: int,
    dropout: float,
    embedding_dropout: float,
    seed: int,
) -> keras.Model:
    """Put an encoder of pairs, from two sequences to two vectors, between the word vectors and the MLP."""
    # Seeds far from those of the encoder, which may use up several.
    seeds = iter(range(seed + 10, seed + 100))
    inputs = pair_inputs()
    embedding = word_embedding(word_vectors)
    word_dropout = keras.layers.Dropout(embedding_dropout, seed=next(seeds), name="embedding_dropout")
    texts = [word_dropout(embedding(text)) for text in inputs]
    if projection is not None:
        project = dense(projection, next(seeds), use_bias=False, name="projection")
        texts = [project(text) for text in texts]
    x = keras.layers.Concatenate(name="pair")(encode(texts))
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")(x)
    x = with_features(inputs, x, n_features)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds), name=name)
