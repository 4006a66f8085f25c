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
from answer_ranking.models.networks.pairs import dense


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
    candidates = bucket_candidates(texts)
    prepare = _preprocessing(word_vectors, dimension, embedding_dropout, seed)
    of_question, of_answer = seed + 3, seed + 3 + len(widths)
    compare_question = _comparison("question", filters, widths, activation, of_question)
    compare_answer = _comparison("answer", filters, widths, activation, of_answer)
    pairs = _pair_of_vectors(question, candidates, prepare, compare_question, compare_answer)
    after = of_answer + len(widths)
    score = score_pairs(*pairs, texts, candidates[2], across, hidden, dropout, after)
    return keras.Model([question, texts], score, name="CompareAggregate")


def _pair_of_vectors(
    question: Any,
    candidates: tuple[list[Any], list[Any], Any],
    prepare: Callable[[Any], Any],
    compare_question: Callable[[Any, Any, Any], Any],
    compare_answer: Callable[[Any, Any, Any], Any],
) -> tuple[Any, Any]:
    """Turn a question and its candidates, in buckets, into vectors of the pairs' sides, rows aligned."""
    answers, rows, _ = candidates
    align = SoftAlignment(name="alignment")
    words, mask = prepare(question), ops.not_equal(question, 0)
    question_vectors, answer_vectors = [], []
    for answer, own in zip(answers, rows, strict=True):
        pair = [repeat_questions(words, own), prepare(answer)]
        masks = [repeat_questions(mask, own), ops.not_equal(answer, 0)]
        aligned = align(pair, mask=masks)
        question_vectors.append(compare_question(pair[0], aligned[0], masks[0]))
        answer_vectors.append(compare_answer(pair[1], aligned[1], masks[1]))
    return concatenate_buckets(question_vectors), concatenate_buckets(answer_vectors)


def _preprocessing(
    word_vectors: np.ndarray | keras.layers.Embedding, dimension: int, dropout: float, seed: int
) -> Callable[[Any], Any]:
    """Make the gated projection of words, which both texts share."""
    embedding = word_embedding(word_vectors)
    drop = keras.layers.Dropout(dropout, seed=seed, name="embedding_dropout")

    gate = dense(dimension, seed + 1, activation="sigmoid", name="gate")
    content = dense(dimension, seed + 2, activation="tanh", name="content")
    product = keras.layers.Multiply(name="preprocessed")

    def preprocess(words: Any) -> Any:
        vectors = drop(embedding(words))
        return product([gate(vectors), content(vectors)])

    return preprocess


def _comparison(
    name: str, filters: int, widths: tuple[int, ...], activation: str, seed: int
) -> Callable[[Any, Any, Any], Any]:
    """Make the function from a text's words, and what stands opposite each of them, to its vector.

    Their products go through convolutions of every width, whose maxima are concatenated.
    """
    product = keras.layers.Multiply(name=f"{name}_comparison")
    convolutions = []
    for i, width in enumerate(widths):
        convolution = PooledConvolution(
            filters,
            width,
            activation=activation,
            kernel_initializer=keras.initializers.GlorotUniform(seed + i),
            name=f"{name}_convolution_{i + 1}",
        )
        convolutions.append(convolution)
    concatenate = keras.layers.Concatenate(name=f"{name}_features")

    def compare(words: Any, opposite: Any, mask: Any) -> Any:
        compared = product([words, opposite])
        return concatenate([convolve(compared, mask=mask) for convolve in convolutions])

    return compare
