"""What rankers of pairs share: inputs, words, convolution, and the MLP that scores the vector of a pair."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers.common import word_embedding
from answer_ranking.models.networks.word_lstm import WordLSTM


def pair_inputs() -> list[Any]:
    """Make the int32 inputs `question` and `answer`, `(batch, length)` each, 0 being padding."""
    return [keras.Input((None,), dtype="int32", name=side) for side in ("question", "answer")]


def read_pair(
    word_vectors: np.ndarray | keras.layers.Embedding, dropout: float, seeds: Iterator[int]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Begin a ranker: give its inputs, and the vectors of their words and the masks as `words_of` does."""
    inputs = pair_inputs()
    return inputs, *words_of(inputs, word_vectors, dropout, next(seeds))


def words_of(
    inputs: Sequence[Any],
    word_vectors: np.ndarray | keras.layers.Embedding,
    dropout: float,
    seed: int,
) -> tuple[list[Any], list[Any]]:
    """Look up the words of texts: their vectors, zero at padding, and the masks of the real words."""
    embedding = word_embedding(word_vectors)
    drop = keras.layers.Dropout(dropout, seed=seed, name="embedding_dropout")
    masks = [ops.not_equal(text, 0) for text in inputs]
    texts = []
    for text, mask in zip(inputs, masks, strict=True):
        # A window that reaches beyond a text's end sees zeros there, however long the padding is.
        texts.append(drop(ops.where(ops.expand_dims(mask, -1), embedding(text), 0.0)))
    return texts, masks


def bidirectional_lstm(
    units: int, seeds: Iterator[int], *, name: str = "bilstm"
) -> keras.layers.Bidirectional:
    """Make a bidirectional LSTM that gives all its states; its directions start from weights of their own."""
    directions = []
    for backwards in (False, True):
        # Bidirectional would copy the forward direction's initializers, and with them its initial weights.
        direction = WordLSTM(
            units,
            return_sequences=True,
            go_backwards=backwards,
            name="backward_lstm" if backwards else "lstm",
            kernel_initializer=keras.initializers.GlorotUniform(seed=next(seeds)),
            recurrent_initializer=keras.initializers.Orthogonal(seed=next(seeds)),
        )
        directions.append(direction)
    return keras.layers.Bidirectional(directions[0], backward_layer=directions[1], name=name)


def convolution(
    filters: int,
    window: int,
    seed: int,
    *,
    activation: str | None = "tanh",
    name: str = "convolution",
    kind: type[keras.layers.Layer] = keras.layers.Conv1D,
    use_bias: bool = True,
) -> keras.layers.Layer:
    """Make a convolution that keeps the length of a text, or with `Conv2D` the size of a grid of two."""
    initializer = keras.initializers.GlorotUniform(seed=seed)
    options = {"padding": "same", "activation": activation, "kernel_initializer": initializer}
    return kind(filters, window, name=name, use_bias=use_bias, **options)


def dense(size: int, seed: int, **options: Any) -> keras.layers.Layer:
    """Make a dense layer, whose first weights follow from the seed."""
    initializer = keras.initializers.GlorotUniform(seed=seed)
    return keras.layers.Dense(size, kernel_initializer=initializer, **options)


def bilinear(pair: Sequence[Any], seed: int) -> Any:
    """Compare two vectors by a bilinear form without bias, `(batch, 1)`."""
    question, answer = pair
    form = dense(question.shape[-1], seed, use_bias=False, name="similarity")
    return keras.layers.Dot(axes=1, name="similarity_of_texts")([question, form(answer)])


def with_features(inputs: list[Any], x: Any, n_features: int) -> Any:
    """Append to the vector of a pair `n_features` features, a further input, if there are any."""
    if n_features < 0:
        raise ValueError(f"`n_features` must not be negative. Received: n_features={n_features}")
    if n_features == 0:
        return x
    inputs.append(keras.Input((n_features,), dtype="float32", name="features"))
    return keras.layers.Concatenate(name="pair_and_features")([x, inputs[-1]])


def mlp_score(
    x: Any,
    hidden: Sequence[int],
    dropout: float,
    seeds: Iterator[int],
    *,
    activation: str = "relu",
    classes: int = 2,
) -> Any:
    """Bring the vector of a pair through an MLP to its score.

    With two classes it is the difference of the logits of a softmax over {wrong, correct}; with one it is the
    output itself.
    """
    for number, size in enumerate(hidden, start=1):
        x = dense(size, next(seeds), activation=activation, name=f"hidden_{number}")(x)
        x = keras.layers.Dropout(dropout, seed=next(seeds), name=f"hidden_dropout_{number}")(x)
    logits = dense(classes, next(seeds), dtype="float32", name="logits")(x)
    if classes == 2:
        logits = ops.diff(logits, axis=-1)
    return keras.layers.Reshape((), dtype="float32", name="score")(logits)
