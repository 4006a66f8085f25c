"""MV-LSTM (Wan et al., AAAI 2016) as a functional Keras model."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.models.networks.pairs import bidirectional_lstm, dense, mlp_score, read_pair


def mv_lstm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 50,
    *,
    slices: int = 4,
    largest: int = 10,
    hidden: Sequence[int] = (64,),
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by the strongest matches between the states of a bidirectional LSTM of both texts.

    [A Deep Architecture for Semantic Matching with Multiple Positional Sentence
    Representations](https://arxiv.org/abs/1511.08277): with the states p_i of the question and q_j of the
    answer, each of the tensor's slices c has the matches

    ```
    s_ij^c = relu(p_i^T M^c q_j + W^c [p_i; q_j] + b^c)
    ```

    of which the k largest, in falling order, go on to an MLP, which gives the score.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        units: d, the size of a direction's state; 50 in the paper. Both texts have the same LSTM.
        slices: c, the slices of the tensor.
        largest: k, how many matches of a slice are kept.
        hidden: sizes of the layers of the MLP.
        dropout: share of the entries of the matches and of the hidden layers that training drops.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the inputs and scores of `arc_i`. Trainable parameters with one hidden layer h:
        2(4d(n + d) + 4d) + c(4dd + 4d + 1) + ckh + h + h + 1.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = mv_lstm(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 8)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    read = bidirectional_lstm(units, seeds)
    states = []
    for text, mask in zip(texts, masks, strict=True):
        states.append(ops.where(ops.expand_dims(mask, -1), read(text, mask=mask), 0.0))
    matches = _matches(states, 2 * units, slices, [next(seeds) for _ in range(3)])
    real = ops.logical_and(ops.expand_dims(masks[0], 2), ops.expand_dims(masks[1], 1))
    # No match is below zero.
    matches = ops.where(ops.expand_dims(real, 1), matches, 0.0)
    x = keras.layers.Reshape((slices, -1))(matches)
    x = ops.top_k(ops.pad(x, ((0, 0), (0, 0), (0, largest))), largest)[0]
    x = keras.layers.Reshape((slices * largest,))(x)
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="match_dropout")(x)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds, classes=1), name="MV-LSTM")


def _matches(states: list[Any], size: int, slices: int, seeds: Sequence[int]) -> Any:
    """Match every two states by the neural tensor, `(batch, slices, question length, answer length)`."""
    names = ("tensor", "question_linear", "answer_linear")
    sizes = (slices * size, slices, slices)
    form, of_question, of_answer = (
        dense(each, number, use_bias=name == "question_linear", name=name)
        for name, each, number in zip(names, sizes, seeds, strict=True)
    )
    question, answer = states
    forms = keras.layers.Reshape((-1, slices, size))(form(question))
    bilinear = ops.einsum("bicd,bjd->bcij", forms, answer)
    linear = ops.expand_dims(ops.transpose(of_question(question), (0, 2, 1)), 3)
    linear = linear + ops.expand_dims(ops.transpose(of_answer(answer), (0, 2, 1)), 2)
    return ops.relu(bilinear + linear)
