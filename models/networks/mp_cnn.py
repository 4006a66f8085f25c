"""MP-CNN (He et al. 2015), also trained pairwise (Rao et al. 2016), as a functional Keras model."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import CosineSimilarity, MaskedMax, MaskedMean
from answer_ranking.models.networks.pairs import convolution, mlp_score, read_pair


def mp_cnn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 525,
    *,
    dimension_filters: int = 20,
    widths: Sequence[int] = (1, 2, 3),
    hidden: Sequence[int] = (150,),
    dropout: float = 0.0,
    embedding_dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score an answer by comparisons of many convolutions of both texts, pooled in several ways.

    [Multi-Perspective Sentence Similarity Modeling with Convolutional Neural
    Networks](https://aclanthology.org/D15-1181), Sections 3 and 4. Both texts go through the same

    * holistic filters of the widths 1 to 3 over whole words, pooled by maximum, minimum and mean (block A),
    * filters of each dimension of the word vectors, pooled by maximum and minimum (block B),
    * the same poolings as A of the words themselves (the width infinity).

    What is compared, by cosine and distance, and where two vectors stand for texts also by |x - y|:

    * for each filter of A, its values over the widths (Algorithm 1),
    * for each pooling of A, every width of the question with every one of the answer; the words' poolings
      with their own; and for each filter of B, its values over the dimensions (Algorithm 2).

    Then come hidden layers (tanh) and the softmax over {wrong, correct}.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        filters: f, the holistic filters of each width; 525 in the paper.
        dimension_filters: g, the filters of each dimension and width; 20 in the paper.
        widths: w widths, the words in the windows of the filters.
        hidden: sizes of the hidden layers; 150 in the paper.
        dropout: share of the entries of the comparisons and of the hidden layers that training drops.
        embedding_dropout: share of the entries of word vectors that training drops.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the inputs and scores of `ctrn`. Comparisons:
        c = 6f + 3ww(f + 2) + 3(n + 2) + 2wg(n + 2). Trainable parameters with widths of sum s and one hidden
        layer h: s(nf + ng) + w(f + ng) + ch + h + 2h + 2, which is 9.2M at the paper's sizes.

    Raises:
        ValueError: `word_vectors` is not a matrix, or an option is out of range.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(100, 50)).astype("float32")
        >>> model = mp_cnn(vectors, 16, dimension_filters=2)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    seeds = iter(range(seed, seed + 100))
    inputs, texts, masks = read_pair(word_vectors, embedding_dropout, seeds)
    sides = list(zip(texts, masks, strict=True))
    compared = _compare_holistic(sides, widths, filters, seeds)
    compared += _compare_by_dimension(sides, widths, dimension_filters, seeds)
    x = keras.layers.Concatenate(name="comparisons")([keras.layers.Flatten()(each) for each in compared])
    x = keras.layers.Dropout(dropout, seed=next(seeds), name="comparison_dropout")(x)
    return keras.Model(inputs, mlp_score(x, hidden, dropout, seeds, activation="tanh"), name="MP-CNN")


_Sides = Sequence[tuple[Any, Any]]
"""The words of both texts `(batch, length, n)` and their masks."""


def _compare_holistic(sides: _Sides, widths: Sequence[int], filters: int, seeds: Iterator[int]) -> list[Any]:
    """Compare the texts by filters over whole words (block A), and by the words themselves."""
    holistic: dict[str, list[Any]] = {"max": [], "min": [], "mean": []}
    for width in widths:
        convolve = convolution(filters, width, next(seeds), name=f"holistic_{width}")
        convolved = [(convolve(text), mask) for text, mask in sides]
        for pooling, pooled in holistic.items():
            pooled.append([_pooled(x, mask, pooling) for x, mask in convolved])
    compared = []
    for pooled in holistic.values():
        # (batch, widths, filters) of each text
        pair = [ops.stack(side, axis=1) for side in zip(*pooled, strict=True)]
        compared += _comparisons([ops.swapaxes(x, 1, 2) for x in pair])
        each_with_each = [ops.expand_dims(pair[0], 2), ops.expand_dims(pair[1], 1)]
        compared += _comparisons(each_with_each, with_differences=True)
    for pooling in holistic:
        words = [_pooled(text, mask, pooling) for text, mask in sides]
        compared += _comparisons(words, with_differences=True)
    return compared


def _compare_by_dimension(
    sides: _Sides, widths: Sequence[int], dimension_filters: int, seeds: Iterator[int]
) -> list[Any]:
    """Compare the texts by filters of each dimension of the word vectors (block B)."""
    by_filter = keras.layers.Reshape((sides[0][0].shape[-1], dimension_filters))
    compared = []
    for width in widths:
        convolve = keras.layers.DepthwiseConv1D(
            width,
            padding="same",
            depth_multiplier=dimension_filters,
            depthwise_initializer=keras.initializers.GlorotUniform(seed=next(seeds)),
            name=f"by_dimension_{width}",
        )
        read = _extremes(sides) if width == 1 else sides
        convolved = [(convolve(text), mask) for text, mask in read]
        for pooling in ("max", "min"):
            # tanh is increasing: that of the extremes is enough.
            pooled = [by_filter(ops.tanh(_pooled(x, mask, pooling))) for x, mask in convolved]
            compared += _comparisons([ops.swapaxes(x, 1, 2) for x in pooled], with_differences=True)
    return compared


def _extremes(sides: _Sides) -> list[tuple[Any, Any]]:
    """Give each text's largest and smallest value of each dimension as two steps.

    A filter of one word and one dimension is linear in one number, so that its extremes stand at these.
    """
    extremes = []
    for text, mask in sides:
        steps = ops.stack([_pooled(text, mask, pooling) for pooling in ("max", "min")], axis=1)
        extremes.append((steps, ops.repeat(ops.any(mask, axis=1, keepdims=True), 2, axis=1)))
    return extremes


def _pooled(x: Any, mask: Any, pooling: str) -> Any:
    if pooling == "mean":
        return MaskedMean()(x, mask=mask)
    if pooling == "max":
        return MaskedMax()(x, mask=mask)
    return -MaskedMax()(-x, mask=mask)


def _comparisons(pair: Sequence[Any], *, with_differences: bool = False) -> list[Any]:
    """Compare vectors along the last axis by cosine, distance and, if wanted, |x - y|."""
    differences = ops.subtract(*pair)
    squares = ops.sum(ops.square(differences), axis=-1)
    # The root has no gradient at 0.
    distance = ops.sqrt(squares + 1e-8)
    found = [CosineSimilarity()(list(pair)), distance]
    return [*found, ops.abs(differences)] if with_differences else found
