"""What Cosinet and Compare-Aggregate share: inputs, pair vectors, and the scores over them.

Both are networks of Bonadiman & Moschitti (2020) that turn a question and an answer into one vector. They
differ in how; what goes in and what follows is here.
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from answer_ranking.layers import BucketByLength
from answer_ranking.layers.common import check_option
from answer_ranking.models.sizes import n_trained

OBJECTIVES = ("pointwise", "listwise")
ACROSS = ("none", "rnn", "birnn", "lstm", "bilstm")


def check_options(objective: str, across: str, hidden: int) -> None:
    """Raise ValueError if an option is unknown or does not fit the others."""
    check_option("objective", objective, OBJECTIVES)
    check_option("across", across, ACROSS)
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


def text_inputs(objective: str) -> tuple[Any, Any]:
    """Make the int32 inputs `question` and `answer`, or, list-wise, `answers`."""
    question = keras.Input((None,), dtype="int32", name="question")
    if objective == "pointwise":
        return question, keras.Input((None,), dtype="int32", name="answer")
    return question, keras.Input((None, None), dtype="int32", name="answers")


def bucket_candidates(texts: Any) -> tuple[list[Any], list[Any], Any]:
    """Turn lists of answers into pairs in buckets of similar length, see `BucketByLength`.

    Pairs stay as they are, as one bucket, with None for its rows and for the places.
    """
    if len(texts.shape) == 2:
        return [texts], [None], None
    return BucketByLength(name="buckets")(texts)


def concatenate_buckets(buckets: Sequence[Any]) -> Any:
    """Concatenate what was computed for the buckets, `(pairs, ...)` each."""
    # Also a single bucket: then pointwise and list-wise models have their weights in the same order.
    return ops.concatenate(buckets, axis=0)


def repeat_questions(question: Any, rows: Any) -> Any:
    """Repeat the questions `(batch, ...)` for the answers `(pairs, ...)` of a bucket.

    `rows` `(pairs,)` are the questions' rows, or None where questions and answers are pairs already.
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
    """Score vectors `(pairs, n)`: [q * a ; q - a], a network across candidates, a linear layer.

    `texts` is the model's input of answers; `places` says where each list has its answers, None outside of
    lists. The network across the candidates runs in the order of the list. Padded candidates come last and
    are skipped in both directions, so that they change nothing. (On a CPU they may also stand between real
    ones; cuDNN refuses such masks.) Returns float32 scores `(batch,)`, or `(batch, candidates)` with 0 at
    padded candidates.
    """
    product = keras.layers.Multiply(name="product")([question, answer])
    difference = keras.layers.Subtract(name="difference")([question, answer])
    x = keras.layers.Concatenate(name="pair")([product, difference])
    x = keras.layers.Dropout(dropout, seed=seed, name="pair_dropout")(x)
    layer_across = None if across == "none" else _across(across, hidden, seed + 1)
    return score_vectors(x, texts, places, keras.initializers.GlorotUniform(seed), layer_across)


def score_vectors(
    x: Any,
    texts: Any,
    places: Any,
    kernel: keras.initializers.Initializer,
    across: keras.layers.Layer | None = None,
) -> Any:
    """Score vectors of pairs `(pairs, n)` by a linear layer, in lists after a layer `across` if there is one.

    `kernel` gives the first weights; `texts`, `places` and the result are those of `score_pairs`.
    """
    score = keras.layers.Dense(1, kernel_initializer=kernel, name="score")
    if places is None:
        return ops.cast(ops.squeeze(score(x), axis=-1), "float32")
    real = ops.any(ops.not_equal(texts, 0), axis=-1)
    x = ops.take(x, places, axis=0)
    if across is not None:
        x = across(x, mask=real)
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
    # By default Bidirectional starts both directions from the same weights.
    return keras.layers.Bidirectional(
        one_way(seed), backward_layer=one_way(seed + 2, go_backwards=True), name="across"
    )


def printed_parameters(model: keras.Model) -> int:
    """Count the trainable parameters of `cosinet` or `compare_aggregate` as the paper's table does.

    The paper's recurrent layers, as cuDNN's, have two biases for each gate, which only occur as their sum;
    Keras' layers have one. So the biases of the network across the candidates count twice.
    """
    recurrent = []
    for layer in model.layers:
        both = isinstance(layer, keras.layers.Bidirectional)
        recurrent += [layer.forward_layer, layer.backward_layer] if both else [layer]
    gates = {keras.layers.SimpleRNN: 1, keras.layers.LSTM: 4}
    biases = sum(gates[type(layer)] * layer.units for layer in recurrent if type(layer) in gates)
    return biases + n_trained(model)
