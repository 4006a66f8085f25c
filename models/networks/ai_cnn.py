"""AI-CNN (Zhang et al., AAAI 2017) as a functional Keras model."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers.common import masked_max, masked_softmax
from answer_ranking.models.networks.pairs import convolution, dense, mlp_score, read_pair


def ai_cnn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 100,
    *,
    window: int = 3,
    hidden: Sequence[int] = (64,),
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by the interactions of all segments of both texts, pooled by attention.

    After Attentive Interactive Neural Networks for Answer Selection in Community Question Answering (AAAI
    2017): segments q_i and a_j, of convolutions of the texts, meet each other,

    ```
    m_ij = tanh((U q_i + b) * V a_j)                interaction of every two segments, by element
    r_i = max_j m_ij,   c_j = max_i m_ij            row-wise and column-wise pooling
    r = sum_i softmax_i(u . tanh(W r_i)) r_i        attention, and the same over the columns
    ```

    and an MLP over [r; c] gives the softmax over {wrong, correct}. The paper's formula of m_ij was not at
    hand; in a sum the maximum of tanh(U q_i + V a_j) over j would have the same V a_j for every q_i.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        filters: f, the size of a segment and of an interaction.
        window: the words in the window of the convolution, which both texts share.
        hidden: sizes of the layers of the MLP.
        dropout: share of the entries of [r; c] and of the hidden layers that training drops.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the inputs and scores of `ctrn`. Trainable parameters with one hidden layer h:
        window n f + f + 3ff + f + f + 2fh + h + 2h + 2.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = ai_cnn(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    convolve = convolution(filters, window, next(seeds))
    question, answer = (convolve(text) for text in texts)
    of_question = dense(filters, next(seeds), name="question_interaction")(question)
    of_answer = dense(filters, next(seeds), use_bias=False, name="answer_interaction")(answer)
    rows = _largest_interactions(of_question, of_answer, masks[1])
    columns = _largest_interactions(of_answer, of_question, masks[0])
    attend = dense(filters, next(seeds), activation="tanh", use_bias=False, name="attention")
    weigh = dense(1, next(seeds), use_bias=False, name="importance")
    pair = [_attended(rows, masks[0], attend, weigh), _attended(columns, masks[1], attend, weigh)]
    x = keras.layers.Concatenate(name="pair")(pair)
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")(x)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds), name="AI-CNN")


def _largest_interactions(segments: Any, others: Any, mask: Any) -> Any:
    """Compute max_j tanh(x_i * y_j) for the segments x_i of a text, the other's mask being that of y_j.

    Whatever the sign of x_i, the maximum stands at the largest y_j or at the smallest: no pair is computed.
    """
    real = ops.expand_dims(mask, -1)
    largest = masked_max(others, real, axis=1, keepdims=True)
    smallest = -masked_max(-others, real, axis=1, keepdims=True)
    return ops.tanh(ops.maximum(segments * largest, segments * smallest))


def _attended(x: Any, mask: Any, attention: keras.layers.Layer, importance: keras.layers.Layer) -> Any:
    """Sum the real steps `(batch, steps, filters)` by their attention."""
    weights = masked_softmax(ops.squeeze(importance(attention(x)), -1), mask)
    return ops.sum(ops.expand_dims(weights, -1) * x, axis=1)
