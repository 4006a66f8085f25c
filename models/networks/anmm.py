"""aNMM-1 and aNMM-2 (Yang et al., CIKM 2016) as functional Keras models."""

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import ValueSharedWeights
from answer_ranking.layers.common import masked_softmax
from answer_ranking.models.networks.pairs import dense, read_pair


def anmm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 0,
    *,
    bins: int = 600,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by the cosines of its words with the question's, weighted by their values.

    [aNMM: Ranking Short Answer Texts with Attention-Based Neural Matching
    Model](https://arxiv.org/abs/1801.01641), Section 3. Each question word j sums its cosines with weights
    that their values choose (`layers.ValueSharedWeights`),

    ```
    h_j = sigmoid(sum_k w_k x_jk)                                       aNMM-1
    h_j = sigmoid(sum_t r_t sigmoid(sum_k w_kt x_jk))                   aNMM-2, with T nodes
    ```

    and the words count by a softmax over v . q_j:

    ```
    s(q, a) = sum_j softmax_j(v . q_j) h_j
    ```

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        units: T, the nodes of aNMM-2; 0 for aNMM-1.
        bins: the number of ranges of cosines below 1.
        embedding_dropout: share of the entries of word vectors that training drops, for the attention alone.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the int32 inputs `question` and `answer` `(batch, length)`, 0 being padding, and float32
        scores `(batch,)` between 0 and 1. Trainable parameters: bins + 1 + n of aNMM-1, and
        T(bins + 1) + T + n of aNMM-2.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = anmm(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"))
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    if units < 0:
        raise ValueError(f"`units` must not be negative. Received: units={units}")
    inputs, texts, masks = read_pair(word_vectors, 0.0, iter([seed]))
    # Near 0: else a long answer starts with a large sum of nothing but chance.
    near_zero = keras.initializers.RandomNormal(stddev=0.01, seed=seed)
    weigh = ValueSharedWeights(units or 1, bins, kernel_initializer=near_zero, name="values")
    x = ops.sigmoid(weigh(texts, mask=masks))
    if units:
        x = dense(1, seed + 1, use_bias=False, activation="sigmoid", name="nodes")(x)
    attend = dense(1, seed + 2, use_bias=False, name="attention")
    drop = keras.layers.Dropout(embedding_dropout, seed=seed + 3, name="attention_dropout")
    attention = masked_softmax(ops.squeeze(attend(drop(texts[0])), -1), masks[0])
    score = ops.sum(attention * ops.squeeze(x, -1), axis=-1)
    score = keras.layers.Activation("linear", dtype="float32", name="score")(score)
    return keras.Model(inputs, score, name="aNMM-2" if units else "aNMM-1")
