"""Compare-Aggregate, in the form of Bonadiman and Moschitti (COLING 2020), as functional Keras models."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import PooledConvolution, SoftAlignment
from answer_ranking.layers.common import word_embedding
from answer_ranking.models.networks.pair_ranking import (
    bucket_candidates,
    check_options,
    concatenate_buckets,
    repeat_questions,
    score_pairs,
    text_inputs,
)


def compare_aggregate(
    word_vectors: np.ndarray | keras.layers.Embedding,
    *,
    objective: str = "pointwise",
    across: str = "none",
    dimension: int = 300,
    filters: int = 300,
    widths: tuple[int, ...] = (1, 2, 3, 4, 5),
    hidden: int | None = None,
    activation: str = "relu",
    embedding_dropout: float = 0.0,
    dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score answers by attention between the words, comparison of the aligned words, and convolutions.

    The paper's comparison to Cosinet, its reading of Wang & Jiang (2016):

    * each word becomes x = sigmoid(W_i z + b_i) * tanh(W_u z + b_u), with the same weights in both texts;
    * dot-product attention both ways (`SoftAlignment`), and each word's product with what stands opposite;
    * convolutions of several widths over the products, one set per text, and their maxima over the words;
    * the pair [q * a ; q - a], and scores as those of `models.cosinet`.

    Args:
        dimension: size of the preprocessed words.
        filters: number of features of each convolution.
        widths: the number of words that each convolution sees at once.
        hidden: size of the result of the network across candidates, both directions together. Defaults to
            twice the `filters`, which fits the printed numbers of parameters.
        The other arguments are those of `cosinet`, but for `unit_words`.

    Returns:
        A model with the inputs and scores of `cosinet`. Trainable parameters: 2,886,601 for n = 300, and more
        with a network across the candidates.

    Raises:
        ValueError: An option is unknown or does not fit the others, or `word_vectors` is not a matrix.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> model = compare_aggregate(vectors, dimension=20, filters=20)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    hidden = 2 * filters if hidden is None else hidden
    check_options(objective, across, hidden)
    if not widths:
        raise ValueError(f"`widths` must name at least one width. Received: widths={widths}")
    question, texts = text_inputs(objective)
    answers, rows, places = bucket_candidates(texts)
    embedding = word_embedding(word_vectors)
    preprocess = _preprocessing(dimension, embedding_dropout, seed)
    align = SoftAlignment(name="alignment")
    compare = [keras.layers.Multiply(name=f"{name}_comparison") for name in ("question", "answer")]
    aggregate = [
        _aggregation(name, filters, widths, activation, seed + 3 + i * len(widths))
        for i, name in enumerate(("question", "answer"))
    ]
    question_words, question_mask = preprocess(embedding(question)), ops.not_equal(question, 0)
    vectors: tuple[list[Any], list[Any]] = ([], [])
    for answer, own in zip(answers, rows, strict=True):
        words = [repeat_questions(question_words, own), preprocess(embedding(answer))]
        masks = [repeat_questions(question_mask, own), ops.not_equal(answer, 0)]
        aligned = align(words, mask=masks)
        for i in range(2):
            vectors[i].append(aggregate[i](compare[i]([words[i], aligned[i]]), masks[i]))
    question_vectors, answer_vectors = map(concatenate_buckets, vectors)
    score = score_pairs(
        question_vectors, answer_vectors, texts, places, across, hidden, dropout, seed + 3 + 2 * len(widths)
    )
    return keras.Model([question, texts], score, name="CompareAggregate")


def _preprocessing(dimension: int, dropout: float, seed: int) -> Callable[[Any], Any]:
    """Make the gated projection of words, which both texts share."""
    drop = keras.layers.Dropout(dropout, seed=seed, name="embedding_dropout")
    gate, content = (
        keras.layers.Dense(
            dimension,
            activation=activation,
            kernel_initializer=keras.initializers.GlorotUniform(seed + 1 + i),
            name=name,
        )
        for i, (name, activation) in enumerate((("gate", "sigmoid"), ("content", "tanh")))
    )
    product = keras.layers.Multiply(name="preprocessed")

    def preprocess(words: Any) -> Any:
        words = drop(words)
        return product([gate(words), content(words)])

    return preprocess


def _aggregation(
    name: str, filters: int, widths: tuple[int, ...], activation: str, seed: int
) -> Callable[[Any, Any], Any]:
    """Make the convolutions of one text, of every width, whose maxima are concatenated."""
    convolutions = [
        PooledConvolution(
            filters,
            width,
            activation=activation,
            kernel_initializer=keras.initializers.GlorotUniform(seed + i),
            name=f"{name}_convolution_{i + 1}",
        )
        for i, width in enumerate(widths)
    ]
    concatenate = keras.layers.Concatenate(name=f"{name}_features")
    return lambda compared, mask: concatenate([convolve(compared, mask=mask) for convolve in convolutions])
