"""HyperQA and CosineQA (Tay, Tuan and Hui, WSDM 2018) as functional Keras models."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from answer_ranking.layers import CosineSimilarity, HyperbolicDistance, MaskedMean, MaskedSum, UnitBall
from answer_ranking.layers.common import check_option, word_embedding
from answer_ranking.models.networks.pairs import pair_inputs

if TYPE_CHECKING:
    from answer_ranking.models.encodings import BagOfWords

SIMILARITIES = ("hyperbolic", "cosine")
STARTS = ("glorot", "mirrored")
POOLINGS = ("sum", "mean")


def hyperqa(
    word_vectors: np.ndarray | keras.layers.Layer,
    dimension: int | None = 300,
    *,
    similarity: str = "hyperbolic",
    max_norm: float = 1.0 - 1e-5,
    projection: str = "clip",
    pooling: str = "sum",
    distance_form: str = "asinh",
    embedding_dropout: float = 0.0,
    dropout: float = 0.0,
    raw_embeddings: bool = False,
    start: str = "glorot",
    seed: int = 0,
) -> keras.Model:
    """Score answers to a question by the hyperbolic distance of two bags of projected words.

    Every word is projected by one shared layer, x = relu(W_p z + b_p) (Eq. 1); a text is the sum of its
    words (Eq. 2), brought onto the unit ball; the score is s = w_f d(q, a) + b_f (Eq. 6) with the Poincare
    distance d (Eq. 4). A higher score is a better answer. `similarity="cosine"` gives the paper's CosineQA,
    which differs in nothing but d.

    On SemEvalCQA the paper also "concatenated the raw QA embeddings before passing into the final layer":
    `raw_embeddings=True` has s = w_f d(q, a) + w_q . q + w_a . a + b_f; w_q and w_a start at 0.

    The model is `matcher([encoder(question), encoder(answer)])`, two layers of these names. Training takes it
    apart there, so that a text is encoded once, however many pairs it stands in.

    Args:
        word_vectors: float32 `(words, n)`, frozen, row 0 for padding; or a layer, see `word_embedding`.
        dimension: d, the size of projected words and of text vectors; None leaves the words as they are.
        similarity: "hyperbolic" (HyperQA) or "cosine" (CosineQA).
        max_norm, projection: the largest norm of a text, in (0, 1]; "clip" (paper) or "smooth" keeps to it.
        pooling: "sum" of the words (Eq. 2; on the ball's edge) or "mean" (in no paper; inside the ball).
        distance_form: "asinh" (exact) or "released" (the authors' own formula).
        embedding_dropout: share of the entries of word vectors that training sets to zero.
        dropout: share of the entries of text vectors that training sets to zero, before the ball.
        raw_embeddings: whether the last layer sees the text vectors beside their distance.
        start, seed: the first W_p: "glorot", or "mirrored", see `Mirrored`; seeds it and the dropout.

    Returns:
        A model with the int32 inputs `question` `(batch, length)` and `answer` `(batch, length)`, 0 being
        padding, and float32 scores `(batch,)`. It trains n d + d + 2 numbers, as the paper's "90K" for 300.

    Raises:
        ValueError: an option has no such value, or `word_vectors` is not a matrix.

    Example:
        >>> model = hyperqa(np.random.default_rng(0).normal(size=(1000, 50)).astype("float32"), dimension=100)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    check_option("similarity", similarity, SIMILARITIES)
    options = dimension, max_norm, projection, pooling, embedding_dropout, dropout, start, seed
    encoder = _encoder(word_embedding(word_vectors), *options)
    matcher = _matcher(encoder.outputs[0].shape[-1], similarity, distance_form, raw_embeddings)
    inputs = pair_inputs()
    score = matcher([encoder(text) for text in inputs])
    return HyperQA(inputs, score, name="HyperQA" if similarity == "hyperbolic" else "CosineQA")


@keras.saving.register_keras_serializable("answer_ranking")
class HyperQA(keras.Model):
    """A functional model of `hyperqa`, which knows the encoding of its texts."""

    @cached_property
    def encoding(self) -> "BagOfWords | None":
        """Encodes the texts of a batch, each distinct word once. It shares the model's weights.

        None where words are not projected: there is no work to save.
        """
        from answer_ranking.models.encodings import BagOfWords  # needs TensorFlow

        encoder = self.get_layer("encoder")
        projected = any(layer.name == "projection" for layer in encoder.layers)
        return BagOfWords(encoder) if projected else None


@keras.saving.register_keras_serializable("answer_ranking")
class Mirrored(keras.initializers.Initializer):
    """Draws a projection that is near to none at all: W = [Q, -Q], the columns of Q orthonormal, its rows
    where it has more columns than rows.

    relu(Q'z) and relu(-Q'z) are the two halves of Q'z, and keep it whole. So an untrained HyperQA ranks
    nearly as the cosine of the sums of word vectors does. After the "looks-linear" start of
    https://arxiv.org/abs/1702.08591.

    Args:
        seed: int, seeds Q.
    """

    def __init__(self, seed: int = 0):
        self.seed = seed

    def __call__(self, shape: tuple[int, int], dtype: str | None = None) -> Any:
        n, d = shape
        half = keras.initializers.Orthogonal(seed=self.seed)((n, (d + 1) // 2), dtype=dtype)
        return keras.ops.concatenate([half, -half], axis=1)[:, :d]

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed}


def _encoder(
    words: keras.layers.Layer,
    dimension: int | None,
    max_norm: float,
    projection: str,
    pooling: str,
    embedding_dropout: float,
    dropout: float,
    start: str,
    seed: int,
) -> keras.Model:
    check_option("start", start, STARTS)
    check_option("pooling", pooling, POOLINGS)
    text = keras.Input((None,), dtype="int32", name="text")
    x = words(text)
    x = keras.layers.Dropout(embedding_dropout, seed=seed + 1, name="embedding_dropout")(x)
    if dimension is not None:
        kernel = keras.initializers.GlorotUniform if start == "glorot" else Mirrored
        x = keras.layers.Dense(
            dimension, activation="relu", kernel_initializer=kernel(seed=seed), name="projection"
        )(x)
    # A long text's sum may exceed the 65,504 that float16 holds; the ball takes float32 anyway.
    pooled = MaskedSum if pooling == "sum" else MaskedMean
    x = pooled(name=f"{pooling}_of_words", dtype="float32")(x)
    x = keras.layers.Dropout(dropout, seed=seed + 2, name="text_dropout", dtype="float32")(x)
    point = UnitBall(max_norm=max_norm, projection=projection, name="ball")(x)
    return keras.Model(text, point, name="encoder")


def _matcher(dimension: int, similarity: str, distance_form: str, raw_embeddings: bool) -> keras.Model:
    # Scores that lie close together are told apart in float32 only, so nothing here is cast down.
    layers, exact = keras.layers, {"dtype": "float32"}
    question = keras.Input((dimension,), name="question_point")
    answer = keras.Input((dimension,), name="answer_point")
    if similarity == "hyperbolic":
        x = HyperbolicDistance(form=distance_form, name="distance")([question, answer])
    else:
        x = CosineSimilarity(name="cosine")([question, answer])
    x = layers.Reshape((1,), **exact)(x)
    # A far answer is a bad one: with a positive first weight the ranking would start upside down.
    first_weight = keras.initializers.Constant(-1.0 if similarity == "hyperbolic" else 1.0)
    x = layers.Dense(1, kernel_initializer=first_weight, name="score", **exact)(x)
    if raw_embeddings:
        # The columns that the concatenated text vectors add to the linear layer, as a layer of their own: so
        # w_f starts where it does without them, and Eq. 9 takes it for the same parameter.
        texts = layers.Concatenate(name="texts", **exact)([question, answer])
        linear = layers.Dense(1, use_bias=False, kernel_initializer="zeros", name="score_of_texts", **exact)
        x = layers.Add(name="sum_of_scores", **exact)([x, linear(texts)])
    score = layers.Reshape((), name="squeeze", **exact)(x)
    return keras.Model([question, answer], score, name="matcher")
