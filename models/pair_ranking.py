"""What Cosinet and Compare-Aggregate share: inputs, word vectors, pair vectors, and the scores over them.

Both are networks of Bonadiman & Moschitti (2020) that turn a question and an answer into one vector. They
differ in how; what goes in and what follows is here.
"""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from layers import PackCandidates

OBJECTIVES = ("pointwise", "listwise")
ACROSS = ("none", "rnn", "birnn", "lstm", "bilstm")


def check_options(
    word_vectors: np.ndarray | keras.layers.Embedding, objective: str, across: str, hidden: int
) -> np.ndarray | keras.layers.Embedding:
    """Check the arguments that both networks take.

    Args:
        word_vectors: should be a matrix, or the layer of word vectors of another model.
        objective: should be one of `OBJECTIVES`.
        across: should be one of `ACROSS`, and "none" where the objective is "pointwise".
        hidden: should be positive, and even where `across` runs both ways.

    Returns:
        The word vectors as an array, or the layer as it is.

    Raises:
        ValueError: One of them is not what it should be.

    Example:
        >>> check_options(np.zeros((3, 2)), "listwise", "birnn", 4).shape
        (3, 2)
    """
    for name, value, options in (("objective", objective, OBJECTIVES), ("across", across, ACROSS)):
        if value not in options:
            raise ValueError(f"`{name}` must be one of {options}. Received: {name}={value!r}")
    if objective == "pointwise" and across != "none":
        raise ValueError(
            "Only a list-wise model sees the other candidates. "
            f"Received: objective={objective!r}, across={across!r}"
        )
    if hidden < 1 or (across.startswith("bi") and hidden % 2):
        raise ValueError(
            "`hidden` must be positive, and even where it is shared by two directions. "
            f"Received: hidden={hidden}, across={across!r}"
        )
    if isinstance(word_vectors, keras.layers.Embedding):
        return word_vectors
    word_vectors = np.asarray(word_vectors)
    if word_vectors.ndim != 2:
        raise ValueError(
            f"`word_vectors` must have the shape (words, dimensions). Received: shape={word_vectors.shape}"
        )
    return word_vectors


def text_inputs(objective: str) -> tuple[Any, Any]:
    """Make the inputs of question and answer, or of question and answers.

    Args:
        objective: "pointwise" or "listwise".

    Returns:
        The int32 inputs `question` `(batch, length)` and `answer` `(batch, length)`, or, list-wise, `answers`
        `(batch, candidates, length)`.

    Example:
        >>> [text.shape for text in text_inputs("listwise")]
        [(None, None), (None, None, None)]
    """
    question = keras.Input((None,), dtype="int32", name="question")
    if objective == "pointwise":
        return question, keras.Input((None,), dtype="int32", name="answer")
    return question, keras.Input((None, None), dtype="int32", name="answers")


def pair_texts(texts: Any) -> tuple[list[Any], list[Any], Any]:
    """Turn lists of answers into pairs in groups of like length; give pairs as they are, as one group.

    Args:
        texts: int32 tensor of answers `(batch, length)`, or of lists of answers
            `(batch, candidates, length)`.

    Returns:
        For each group the answers `(pairs, length)`; for each group the rows of the questions that they
        belong to `(pairs,)`, or None for pairs; and where in the concatenated groups each list has its
        answers `(batch, candidates)`, or None for pairs. See `PackCandidates`.

    Example:
        >>> answers, rows, places = pair_texts(text_inputs("listwise")[1])
        >>> len(answers), answers[0].shape, rows[0].shape, places.shape
        (4, (None, None), (None,), (None, None))
    """
    if len(texts.shape) == 2:
        return [texts], [None], None
    return PackCandidates(name="pack_candidates")(texts)


def joined(groups: Sequence[Any]) -> Any:
    """Concatenate what was computed for the groups of pairs.

    Args:
        groups: tensors `(pairs, ...)` that differ in nothing but their first axis.

    Returns:
        Tensor `(all pairs, ...)`.

    Example:
        >>> joined([np.array([1.0]), np.array([2.0, 3.0])]).numpy().tolist()
        [1.0, 2.0, 3.0]
    """
    # A single group as well: then the weights of pointwise and list-wise models stand in the same order.
    return ops.concatenate(groups, axis=0)


def beside(question: Any, rows: Any) -> Any:
    """Put the question's part of each pair beside the answer's.

    Args:
        question: tensor `(batch, ...)`.
        rows: the questions' rows `(pairs,)`, or None where questions and answers are pairs already.

    Returns:
        Tensor `(pairs, ...)`.

    Example:
        >>> beside(np.array([3.0, 4.0]), np.array([0, 0, 1])).numpy().tolist()
        [3.0, 3.0, 4.0]
    """
    return question if rows is None else ops.take(question, rows, axis=0)


def score_pairs(
    question: Any,
    answer: Any,
    texts: Any,
    places: Any,
    across: str,
    hidden: int,
    dropout: float,
    seed: int,
) -> Any:
    """Score vectors of questions and answers: [q * a ; q - a], a network across candidates, a linear layer.

    The networks across the candidates run in the order of the list. A list is real candidates first and
    padding after them; padded candidates are skipped, in both directions, so they change nothing, and
    on a CPU not even if they stood between real ones (cuDNN refuses such masks).

    Args:
        question: tensor `(pairs, n)`.
        answer: tensor `(pairs, n)`.
        texts: the model's input of answers, `(batch, length)` or `(batch, candidates, length)`.
        places: where each list has its answers, `(batch, candidates)`, or None outside of lists.
        across: "none", "rnn", "birnn", "lstm" or "bilstm".
        hidden: size of its result, of both directions together.
        dropout: share of the entries of pair vectors that training sets to zero.
        seed: seeds the initial weights and the dropout.

    Returns:
        float32 scores `(batch,)`, or `(batch, candidates)` with 0 at padded candidates.

    Example:
        >>> vectors, (_, texts) = keras.Input((8,)), text_inputs("pointwise")
        >>> score_pairs(vectors, vectors, texts, None, "none", 1, 0.0, 0).shape
        (None,)
    """
    product = keras.layers.Multiply(name="product")([question, answer])
    difference = keras.layers.Subtract(name="difference")([question, answer])
    x = keras.layers.Concatenate(name="pair")([product, difference])
    x = keras.layers.Dropout(dropout, seed=seed, name="pair_dropout")(x)
    score = keras.layers.Dense(1, kernel_initializer=keras.initializers.GlorotUniform(seed), name="score")
    if places is None:
        return ops.cast(ops.squeeze(score(x), axis=-1), "float32")
    real = ops.any(ops.not_equal(texts, 0), axis=-1)
    x = ops.take(x, places, axis=0)
    if across != "none":
        x = _across(across, hidden, seed + 1)(x, mask=real)
    return ops.where(real, ops.cast(ops.squeeze(score(x), axis=-1), "float32"), 0.0)


def _across(across: str, hidden: int, seed: int) -> keras.layers.Layer:
    """Make the recurrent layer over the candidates."""
    layer_class = keras.layers.LSTM if across.endswith("lstm") else keras.layers.SimpleRNN
    two_ways = across.startswith("bi")

    def one_way(seed: int, **arguments: Any) -> keras.layers.Layer:
        return layer_class(
            hidden // 2 if two_ways else hidden,
            return_sequences=True,
            kernel_initializer=keras.initializers.GlorotUniform(seed),
            recurrent_initializer=keras.initializers.Orthogonal(seed=seed + 1),
            **arguments,
        )

    if not two_ways:
        return one_way(seed, name="across")
    # Without a layer of its own the way back would start from the same weights as the way forth.
    return keras.layers.Bidirectional(
        one_way(seed), backward_layer=one_way(seed + 2, go_backwards=True), name="across"
    )


def trainable_parameters(model: keras.Model) -> int:
    """Count the trainable parameters of a model.

    Args:
        model: any model.

    Returns:
        Their number.

    Example:
        >>> trainable_parameters(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]))
        8
    """
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)


def printed_parameters(model: keras.Model) -> int:
    """Count the trainable parameters as the paper's table does.

    The paper's recurrent layers, as cuDNN's, have two biases for each gate, which only ever occur as their
    sum; Keras' layers have one. Everything else is the same.

    Args:
        model: a model of `cosinet` or `compare_aggregate`.

    Returns:
        `trainable_parameters(model)`, and once more the biases of the network across the candidates.

    Example:
        >>> layers = [keras.Input((None, 3)), keras.layers.LSTM(2)]
        >>> printed_parameters(keras.Sequential(layers)) - trainable_parameters(keras.Sequential(layers))
        8
    """
    recurrent = []
    for layer in model.layers:
        both = isinstance(layer, keras.layers.Bidirectional)
        recurrent += [layer.forward_layer, layer.backward_layer] if both else [layer]
    gates = {keras.layers.SimpleRNN: 1, keras.layers.LSTM: 4}
    biases = sum(gates[type(layer)] * layer.units for layer in recurrent if type(layer) in gates)
    return trainable_parameters(model) + biases
