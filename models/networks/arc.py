"""ARC-I and ARC-II (Hu et al., NIPS 2014) as functional Keras models."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import MaskedMax
from answer_ranking.models.networks.pairs import convolution, mlp_score, read_pair

_OUTSIDE = -1e30
"""Of the steps outside of a text: no sum with it is above 0."""


def arc_i(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 200,
    *,
    layers: int = 2,
    window: int = 3,
    hidden: Sequence[int] = (200,),
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by an MLP over two texts that a convolutional network reads apart.

    [Convolutional Neural Network Architectures for Matching Natural Language
    Sentences](https://arxiv.org/abs/1503.03244), Sections 2 and 3.1. In each layer a convolution

    ```
    z_i = relu(W [x_i; x_{i+1}; ...] + b)
    ```

    over windows of words, zero where the text has ended (the paper's gate g), and the larger of every two
    neighbours. Both texts have the same weights; the MLP reads them side by side.

    The paper pads all texts to one length and flattens the last layer; here texts have any length, so the
    last layer's maximum is over all of its steps.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        filters: the feature maps of every convolution; 200 to 500 in the paper.
        layers: the number of convolutions, each with its pooling; 2 in the paper.
        window: the words in the window of a convolution; 3 in the paper.
        hidden: sizes of the layers of the MLP.
        dropout: share of the entries of the pair's vector and of the hidden layers that training drops.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the inputs and scores of `ctrn`. Trainable parameters with two layers of f filters and
        one hidden layer h: 3nf + f + 3ff + f + 2fh + h + h + 1.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> model = arc_i(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    for number in range(1, layers + 1):
        convolve = convolution(filters, window, next(seeds), activation="relu", name=f"convolution_{number}")
        texts = [_gated(convolve(x), mask) for x, mask in zip(texts, masks, strict=True)]
        if number < layers:
            texts = [keras.layers.MaxPooling1D(2, padding="same")(x) for x in texts]
            masks = [_halved(mask) for mask in masks]
    pooled = [MaskedMax()(x, mask=mask) for x, mask in zip(texts, masks, strict=True)]
    x = keras.layers.Concatenate(name="pair")(pooled)
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")(x)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds, classes=1), name="ARC-I")


def arc_ii(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 64,
    *,
    layers: int = 3,
    window: int = 3,
    hidden: Sequence[int] = (64,),
    dropout: float = 0.5,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by convolutions over the grid of all pairs of windows of question and answer.

    [Section 3.2](https://arxiv.org/abs/1503.03244). The first layer meets every window of the question with
    every window of the answer,

    ```
    z_ij = relu(W [x_i; ...; y_j; ...] + b)
    ```

    which is a convolution of each text and the sum of every two of their steps. The grid is zero outside of
    the texts; then follow the largest of every 2 x 2 neighbours, and 3 x 3 convolutions, each
    with such a pooling. The last layer's maximum is over the whole grid, see `arc_i`.

    Args:
        filters: the feature maps of every convolution.
        layers: the number of convolutions, the first layer included; 3 in the paper.
        The other arguments are those of `arc_i`.

    Returns:
        A model as of `arc_i`. Trainable parameters: 6nf + f + (layers - 1)(9ff + f) + fh + h + h + 1.

    Example:
        >>> model = arc_ii(np.random.default_rng(0).normal(size=(100, 50)).astype("float32"), 16)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    sides = []
    for side, text, mask in zip(("question", "answer"), texts, masks, strict=True):
        name, bias = f"{side}_convolution", side == "question"  # one bias for the sum of both
        convolve = convolution(filters, window, next(seeds), activation=None, use_bias=bias, name=name)
        side = ops.where(ops.expand_dims(mask, -1), convolve(text), _OUTSIDE)
        if layers > 1:
            # The largest of 2 x 2 sums is the sum of the larger ones of each text: a quarter of the grid.
            side = keras.layers.MaxPooling1D(2, padding="same")(side)
        sides.append(side)
    grid = ops.relu(ops.expand_dims(sides[0], 2) + ops.expand_dims(sides[1], 1))
    for number in range(2, layers + 1):
        masks = [_halved(mask) for mask in masks]
        if number > 2:
            grid = keras.layers.MaxPooling2D(2, padding="same")(grid)
        options = {"activation": "relu", "name": f"convolution_{number}", "kind": keras.layers.Conv2D}
        convolve = convolution(filters, window, next(seeds), **options)
        grid = _gated(convolve(grid), _both(masks))
    # Nothing in it is below zero, and so the zeros outside of the texts never win.
    x = keras.layers.GlobalMaxPooling2D(name="maximum")(grid)
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="text_dropout")(x)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds, classes=1), name="ARC-II")


def _gated(x: Any, mask: Any) -> Any:
    """Set what lies outside of the text, or of the grid of both texts, to zero."""
    return ops.where(ops.expand_dims(mask, -1), x, 0.0)


def _both(masks: list[Any]) -> Any:
    """Make the mask of a grid of those of its sides."""
    return ops.logical_and(ops.expand_dims(masks[0], 2), ops.expand_dims(masks[1], 1))


def _halved(mask: Any) -> Any:
    """Give the mask after a pooling of two steps: true where one of them is real."""
    real = ops.expand_dims(ops.cast(mask, "float32"), -1)
    return ops.squeeze(keras.layers.MaxPooling1D(2, padding="same")(real), -1) > 0
