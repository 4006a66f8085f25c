"""Compare-Aggregate, in the forms of Bonadiman and Moschitti (2020) and of Bian et al. (2017), in Keras."""

from collections.abc import Callable, Sequence
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
    score_vectors,
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
    question, texts = text_inputs(objective)
    candidates = bucket_candidates(texts)
    prepare = _preprocessing(word_vectors, dimension, embedding_dropout, seed)
    compare = _comparisons(filters, widths, activation, seed + 3)
    pairs = _pair_of_vectors(question, candidates, prepare, SoftAlignment(name="alignment"), compare)
    after = seed + 3 + 2 * len(widths)
    score = score_pairs(*pairs, texts, candidates[2], across, hidden, dropout, after)
    return keras.Model([question, texts], score, name="CompareAggregate")


def clipped_compare_aggregate(
    word_vectors: np.ndarray | keras.layers.Embedding,
    *,
    threshold: float = 0.08,
    dimension: int = 300,
    filters: int = 300,
    widths: tuple[int, ...] = (1, 2, 3, 4, 5),
    activation: str = "relu",
    embedding_dropout: float = 0.0,
    dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score the answers of a list by Compare-Aggregate whose attention leaves out small weights.

    [A Compare-Aggregate Model with Dynamic-Clip Attention for Answer
    Selection](https://doi.org/10.1145/3132847.3133089), after the code that its authors published: words,
    comparison and convolutions are those of `compare_aggregate`. Weights of attention up to the threshold
    count nothing, and the others are divided by their sum (`SoftAlignment`). Each text's vector goes through
    a dense layer (tanh), both through one more, and a linear layer gives the score.

    Args:
        threshold: the largest weight of attention that counts nothing; 0 keeps all. The authors have 0.08 on
            WikiQA.
        dimension: size of the preprocessed words, and of the dense layers.
        dropout: share of the entries of the pairs' vectors that training drops; the authors have none.
        The other arguments are those of `compare_aggregate`.

    Returns:
        A model with the inputs and scores of `cosinet`, list-wise. Trainable parameters, for m dimensions,
        words of n numbers, f filters and w widths of sum s: 2(nm + m) + 2(smf + wf) + 2(wfm + m) + 2m^2 + m +
        m + 1.

    Raises:
        ValueError: An option is out of range, or `word_vectors` is not a matrix.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> model = clipped_compare_aggregate(vectors, dimension=20, filters=20)
        >>> model([np.array([[5, 7, 0]]), np.array([[[5, 9, 11, 0], [7, 8, 0, 0]]])]).shape
        TensorShape([1, 2])
    """
    question, texts = text_inputs("listwise")
    candidates = bucket_candidates(texts)
    prepare = _preprocessing(word_vectors, dimension, embedding_dropout, seed)
    compare = _comparisons(filters, widths, activation, seed + 3)
    align = SoftAlignment(threshold, name="alignment")
    pair = _pair_of_vectors(question, candidates, prepare, align, compare)
    after = seed + 3 + 2 * len(widths)
    sides = []
    for number, (name, vector) in enumerate(zip(("question", "answer"), pair, strict=True)):
        sides.append(dense(dimension, after + number, activation="tanh", name=f"{name}_vector")(vector))
    x = keras.layers.Concatenate(name="pair")(sides)
    x = dense(dimension, after + 2, activation="tanh", name="pair_vector")(x)
    x = keras.layers.Dropout(dropout, seed=after + 4, name="pair_dropout")(x)
    score = score_vectors(x, texts, candidates[2], keras.initializers.GlorotUniform(after + 3))
    return keras.Model([question, texts], score, name="ClippedCompareAggregate")


_Comparison = Callable[[Any, Any, Any], Any]


def _pair_of_vectors(
    question: Any,
    candidates: tuple[list[Any], list[Any], Any],
    prepare: Callable[[Any], Any],
    align: SoftAlignment,
    compare: Sequence[_Comparison],
) -> tuple[Any, Any]:
    """Turn a question and its candidates, in buckets, into vectors of the pairs' sides, rows aligned."""
    answers, rows, _ = candidates
    compare_question, compare_answer = compare
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


def _comparisons(
    filters: int, widths: tuple[int, ...], activation: str, seed: int
) -> tuple[_Comparison, _Comparison]:
    """Make the functions of both sides, each with convolutions of its own, whose seeds begin with `seed`."""
    if not widths:
        raise ValueError(f"`widths` must name at least one width. Received: widths={widths}")
    question = _comparison("question", filters, widths, activation, seed)
    return question, _comparison("answer", filters, widths, activation, seed + len(widths))


def _comparison(name: str, filters: int, widths: tuple[int, ...], activation: str, seed: int) -> _Comparison:
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
