"""Cosinet (Bonadiman and Moschitti, COLING 2020) as functional Keras models.

List-wise, a question's words are looked up and convolved once, and candidates are encoded in buckets of
similar length (`BucketByLength`, which XLA cannot compile).
"""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import PooledConvolution, WordRelatedness
from answer_ranking.layers.common import word_embedding
from answer_ranking.models.networks.pair_ranking import (
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
    before, in the order of the candidates (section 3.2).

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 belonging to padding; or a layer to share.
        objective: "pointwise" or "listwise"; decides the inputs and outputs.
        across: what runs over a list's candidates: "none", "rnn", "birnn", "lstm" or "bilstm".
        filters, width: size of the text vectors, and number of words that the convolutions see at once.
        hidden: size of the result of the network across candidates, both directions together. Defaults to
            `filters`, which fits the printed numbers of parameters (the text says the pair's size).
        activation: "relu", "tanh", "sigmoid" or "linear", of the convolutions.
        unit_words: divide every word's vector by its length; beside long ones the relatedness counts little.
        embedding_dropout: share of the entries of word vectors that training sets to zero, after the cosines.
        dropout: share of the entries of pair vectors that training sets to zero.
        seed: seeds initial weights and dropout.

    Returns:
        Pointwise: a model with the int32 inputs `question` and `answer` `(batch, length)`, 0 being padding,
        and float32 scores (log-odds) `(batch,)`. List-wise: `answers` `(batch, candidates, length)` and
        scores `(batch, candidates)`; a candidate of padding alone has the score 0, which the loss must leave
        out. Trainable parameters: 904,201 for n = 300, more with a network across.

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
    candidates, embed = bucket_candidates(texts), _words_of(word_vectors, unit_words)
    sizes = (filters, width, activation, embedding_dropout)
    encode_question = _SideEncoder("question", *sizes, seed)
    encode_answer = _SideEncoder("answer", *sizes, seed + 1)
    pairs = _pair_of_vectors(question, candidates, embed, encode_question, encode_answer)
    score = score_pairs(*pairs, texts, candidates[2], across, hidden, dropout, seed + 2)
    return keras.Model([question, texts], score, name="Cosinet")


class _SideEncoder:
    """The dropout and the convolution of a side, question or answer."""

    def __init__(self, side: str, filters: int, width: int, activation: str, dropout: float, seed: int):
        self._drop = keras.layers.Dropout(dropout, seed=seed, name=f"{side}_dropout")
        self._convolution = PooledConvolution(
            filters,
            width,
            activation=activation,
            kernel_initializer=keras.initializers.GlorotUniform(seed),
            name=f"{side}_convolution",
        )

    def __call__(self, words: Any, mask: Any, *channels: Any) -> Any:
        """Turn words and their channels into vectors, see `PooledConvolution`."""
        return self._convolution([self._drop(words), *channels], mask=mask)


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
    encode_question: _SideEncoder,
    encode_answer: _SideEncoder,
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
        answer_vectors.append(encode_answer(answer_words, answer_mask, of_answer))
    # The words of a question are convolved once, whatever the number of its candidates.
    shared = [] if places is None else [concatenate_buckets(rows)]
    channels = concatenate_buckets(question_channels)
    question_vectors = encode_question(words, mask, channels, *shared)
    return question_vectors, concatenate_buckets(answer_vectors)
