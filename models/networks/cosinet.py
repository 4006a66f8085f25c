"""Cosinet (Bonadiman and Moschitti, COLING 2020) as functional Keras models."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import PooledConvolution, WordRelatedness
from answer_ranking.layers.common import word_embedding
from answer_ranking.models.networks.pair_ranking import (
    SIDES,
    bucket_candidates,
    check_options,
    concatenate_buckets,
    repeat_questions,
    score_pairs,
    text_inputs,
)


def cosinet(
    word_vectors: np.ndarray | keras.layers.Embedding,
    *,
    objective: str = "pointwise",
    across: str = "none",
    filters: int = 300,
    width: int = 5,
    hidden: int | None = None,
    activation: str = "relu",
    unit_words: bool = False,
    embedding_dropout: float = 0.0,
    dropout: float = 0.0,
    seed: int = 0,
) -> keras.Model:
    """Score answers by convolutions over words that carry their relatedness to the other text.

    Each word gets the highest cosine with a word of the other text as one more feature (Eq. 1). A convolution
    reads the question, another the answer, each followed by the maximum over the words; the pair is
    [q * a ; q - a]. A linear layer makes the score; list-wise, a recurrent network may run over the pairs
    before, in the order of the candidates (section 3.2). Scores are logits, higher for a better answer.

    Both objectives have the same layers and weights; a list-wise model without a network across candidates
    gives the scores of the pointwise one. List-wise, a question's words are looked up and convolved once, and
    candidates are encoded in buckets of similar length (`BucketByLength`, which XLA cannot compile).

    Args:
        word_vectors: float32 `(words, n)`, frozen; row 0 belongs to padding. Or the `word_vectors` layer of
            another ranker, see `word_embedding`.
        objective: "pointwise" or "listwise"; decides the inputs and outputs, see below.
        across: what runs over a list's candidates: "none", "rnn", "birnn", "lstm" or "bilstm".
        filters: size of the text vectors.
        width: number of words that the convolutions see at once.
        hidden: size of the result of the network across candidates, both directions together. Defaults to
            `filters`, which fits the printed numbers of parameters (the text says the pair's size).
        activation: "relu", "tanh", "sigmoid" or "linear", of the convolutions; the paper does not name it.
        unit_words: divide every word's vector by its length, as the paper's (Numberbatch) are. Beside long
            vectors the relatedness, at most 1, counts for little.
        embedding_dropout: share of the entries of word vectors that training sets to zero, after the
            cosines. The paper names no dropout.
        dropout: share of the entries of pair vectors that training sets to zero.
        seed: seeds the initial weights and the dropout.

    Returns:
        Pointwise: a model with the int32 inputs `question` and `answer` `(batch, length)`, 0 being padding,
        and float32 scores `(batch,)`. List-wise: `answers` `(batch, candidates, length)` and scores
        `(batch, candidates)`; a candidate of padding alone changes nothing and has the score 0, which the
        loss must leave out. Trainable parameters: 904,201 for n = 300, more with a network across.

    Raises:
        ValueError: An option is unknown or does not fit the others, or `word_vectors` is not a matrix.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> model = cosinet(vectors, objective="listwise", across="birnn", filters=20)
        >>> scores = model([np.array([[5, 7, 0]]), np.array([[[5, 9, 11], [8, 2, 0], [0, 0, 0]]])])
        >>> scores.shape, float(scores[0, 2])
        (TensorShape([1, 3]), 0.0)
    """
    hidden = filters if hidden is None else hidden
    check_options(objective, across, hidden)
    question, texts = text_inputs(objective)
    candidates = bucket_candidates(texts)
    embed = _words_of(word_vectors, unit_words)
    drops = [
        keras.layers.Dropout(embedding_dropout, seed=seed + i, name=f"{side}_dropout")
        for i, side in enumerate(SIDES)
    ]
    convolutions = [
        PooledConvolution(
            filters,
            width,
            activation=activation,
            kernel_initializer=keras.initializers.GlorotUniform(seed + i),
            name=f"{side}_convolution",
        )
        for i, side in enumerate(SIDES)
    ]
    pairs = _pair_of_vectors(question, candidates, embed, drops, convolutions)
    score = score_pairs(*pairs, texts, candidates[2], across, hidden, dropout, seed + 2)
    return keras.Model([question, texts], score, name="Cosinet")


def _words_of(word_vectors: np.ndarray | keras.layers.Embedding, unit_words: bool) -> Callable[[Any], Any]:
    """Make the function from words to their vectors, of length 1 if wanted."""
    embedding = word_embedding(word_vectors)
    if not unit_words:
        return embedding
    unit = keras.layers.UnitNormalization(name="unit_words")
    return lambda words: unit(embedding(words))


def _pair_of_vectors(
    question: Any,
    candidates: tuple[list[Any], list[Any], Any],
    embed: Callable[[Any], Any],
    drops: Sequence[keras.layers.Layer],
    convolutions: Sequence[keras.layers.Layer],
) -> tuple[Any, Any]:
    """Turn a question and its candidates, in buckets, into vectors of the pairs' sides, rows aligned."""
    answers, rows, places = candidates
    relate = WordRelatedness(concatenate=False, name="word_relatedness")
    words, mask = embed(question), ops.not_equal(question, 0)
    question_channels, answer_vectors = [], []
    for answer, own in zip(answers, rows, strict=True):
        answer_words, answer_mask = embed(answer), ops.not_equal(answer, 0)
        of_question, of_answer = relate(
            [repeat_questions(words, own), answer_words], mask=[repeat_questions(mask, own), answer_mask]
        )
        question_channels.append(of_question)
        answer_vectors.append(convolutions[1]([drops[1](answer_words), of_answer], mask=answer_mask))
    # The words of a question are convolved once, whatever the number of its candidates.
    shared = [] if places is None else [concatenate_buckets(rows)]
    question_vectors = convolutions[0](
        [drops[0](words), concatenate_buckets(question_channels), *shared], mask=mask
    )
    return question_vectors, concatenate_buckets(answer_vectors)
