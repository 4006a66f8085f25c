"""The fast way through a bag of projected words: every distinct word of a batch is projected once."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from answer_ranking.layers import MaskedMean
from answer_ranking.models.encodings.contextual_words import look_up

if TYPE_CHECKING:
    from answer_ranking.data_prep import EncodedTexts


class BagOfWords:
    """Encodes the texts of a batch with HyperQA's encoder, projecting each distinct word once.

    The projection relu(W_p z + b_p) depends on the word alone, and words repeat: a batch of 32 questions
    with their candidates holds several times more words than distinct words. So one matrix product projects
    the distinct words, and the texts are sums of its rows (a sparse matrix of counts times a dense one).
    The gradient takes the same way back, over the transposed matrix.

    It shares the weights of the encoder, and its points and gradients are those of the encoder on padded
    texts (tested). In training, `embedding_dropout` draws one mask for each distinct word of the batch, where
    the padded encoder draws one for each word of each text; the expectation is the same. The masks are drawn
    with the batch, in NumPy, which takes half the time of drawing them in the training step.

    Args:
        encoder: the `encoder` part of `models.hyperqa`.

    Example:
        >>> from answer_ranking.models import hyperqa
        >>> encoding = hyperqa(np.ones((10, 4), "float32"), dimension=3).encoding
        >>> batch = encoding.pack(split.questions, split.candidates)  # doctest: +SKIP
        >>> points, pull_back = encoding.with_pull_back(batch)  # doctest: +SKIP
    """

    kind = "packed"

    def __init__(self, encoder: keras.Model):
        self.encoder = encoder
        self._words = encoder.get_layer("word_vectors")
        self.projection = encoder.get_layer("projection")
        self.ball = encoder.get_layer("ball")
        self.takes_mean = any(isinstance(layer, MaskedMean) for layer in encoder.layers)
        self.embedding_dropout = encoder.get_layer("embedding_dropout").rate
        self.text_dropout = encoder.get_layer("text_dropout").rate

    @property
    def gives_all_gradients(self) -> bool:
        """Whether the encoder trains W_p and b_p alone, of which `with_pull_back` gives the gradients."""
        trained = [self.projection.kernel, self.projection.bias]
        return list(map(id, self.encoder.trainable_variables)) == list(map(id, trained))

    @property
    def word_vectors(self) -> keras.Variable:
        """The table of word vectors, `(words, n)`; contextual words have none in the model."""
        return self._words.embeddings

    # What `pack` returns, per text batch, with the number of dimensions of each array.
    signature = {  # noqa: RUF012
        "words": tf.TensorSpec((None,), tf.int32),
        "word_of_token": tf.TensorSpec((None, 2), tf.int64),
        "text_of_token": tf.TensorSpec((None, 2), tf.int64),
        "n_texts": tf.TensorSpec((), tf.int32),
        "kept_of_words": tf.TensorSpec((None, None), tf.uint8),
        "kept_of_texts": tf.TensorSpec((None, None), tf.uint8),
    }

    def pack(self, *groups: "EncodedTexts", rng: np.random.Generator | None = None) -> dict[str, Any]:
        """Index the tokens of all texts of all groups, one group after the other.

        `word_of_token` has, for every token in the order of texts, its text and its word's place in `words`,
        the distinct words; `text_of_token`, for every token in the order of `words`, its word's place and its
        text. `kept_of_words` and `kept_of_texts` are the entries of word vectors and text vectors that
        dropout keeps, as drawn by `rng`, without rows where there is no dropout.
        """
        tokens = np.concatenate([group.words for group in groups])
        lengths = np.concatenate([np.diff(group.offsets) for group in groups])
        present = np.zeros(int(tokens.max(initial=0)) + 1, bool)
        present[tokens] = True
        words = np.flatnonzero(present).astype(np.int32)
        # NumPy sorts 16-bit integers by radix, many times faster than wider ones.
        place = np.empty(len(present), np.uint16 if len(words) <= 1 << 16 else np.int32)
        place[words] = np.arange(len(words), dtype=place.dtype)
        word = place[tokens]
        text = np.repeat(np.arange(len(lengths)), lengths)
        by_word = np.argsort(word, kind="stable")
        n, d = self.projection.kernel.shape
        return {
            "words": words,
            "word_of_token": np.stack([text, word], axis=1),
            "text_of_token": np.stack([word[by_word], text[by_word]], axis=1),
            "n_texts": np.int32(len(lengths)),
            "kept_of_words": _draw(rng, len(words), n, self.embedding_dropout),
            "kept_of_texts": _draw(rng, len(lengths), d, self.text_dropout),
        }

    def sums(self, packed: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the sums, or means, of projected words before the ball, float32 `(n_texts, d)`.

        Nothing is dropped.
        """
        return self._sums(packed, dropout=0.0)[0]

    def __call__(self, packed: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the texts' points on the ball, without dropout, float32 `(n_texts, d)`."""
        return self.ball(self.sums(packed))

    def with_pull_back(
        self, packed: dict[str, tf.Tensor]
    ) -> tuple[tf.Tensor, Callable[[tf.Tensor], list[tf.Tensor]]]:
        """Return the texts' points under dropout, float32 `(n_texts, d)`, and their way back.

        The way back is a function from the loss's gradients with respect to the points to its gradients with
        respect to the encoder's trainable variables, W_p and b_p.
        """
        sums, vectors, projected, scale = self._sums(packed, self.embedding_dropout)
        with tf.GradientTape() as tape:
            tape.watch(sums)
            dropped = sums
            if self.text_dropout > 0:
                kept_scale = 1 / _kept_share(self.text_dropout)
                dropped = tf.where(tf.cast(packed["kept_of_texts"], tf.bool), sums * kept_scale, 0.0)
            points = self.ball(dropped)

        def pull_back(at_points: tf.Tensor) -> list[tf.Tensor]:
            at_sums = tape.gradient(points, sums, output_gradients=at_points)
            if self.takes_mean:
                at_sums /= _lengths(packed)
            shape = [tf.shape(projected)[0], packed["n_texts"]]
            at_words = _count_matrix_product(packed["text_of_token"], shape, at_sums)
            at_words = tf.raw_ops.ReluGrad(gradients=at_words, features=projected)
            # The word vectors are frozen: no gradient is worth computing for them.
            at_kernel = tf.matmul(vectors, at_words, transpose_a=True)
            # A product with ones adds the rows up several times faster than `reduce_sum` over the first axis.
            at_bias = tf.matmul(tf.ones((1, shape[0])), at_words)[0]
            return [at_kernel if scale == 1 else at_kernel * scale, at_bias]

        return points, pull_back

    def _sums(
        self, packed: dict[str, tf.Tensor], dropout: float
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, float]:
        vectors = look_up(packed["words"], self._words)
        kernel, scale = self.projection.kernel.value, 1.0
        if dropout > 0:
            vectors = tf.where(tf.cast(packed["kept_of_words"], tf.bool), vectors, 0.0)
            # The product is the same as with longer vectors, and the kernel is the smaller matrix to scale.
            scale = 1 / _kept_share(dropout)
            kernel = kernel * scale
        projected = tf.nn.relu(tf.nn.bias_add(tf.matmul(vectors, kernel), self.projection.bias.value))
        shape = [packed["n_texts"], tf.shape(projected)[0]]
        sums = _count_matrix_product(packed["word_of_token"], shape, projected)
        if self.takes_mean:
            sums /= _lengths(packed)
        return sums, vectors, projected, scale


def _lengths(packed: dict[str, tf.Tensor]) -> tf.Tensor:
    """Count the words of each text, at least 1, float32 `(n_texts, 1)`."""
    text = packed["word_of_token"][:, 0]
    counts = tf.math.unsorted_segment_sum(tf.ones_like(text, tf.float32), text, packed["n_texts"])
    return tf.maximum(counts, 1.0)[:, None]


def _count_matrix_product(ones: tf.Tensor, shape: list[tf.Tensor], dense: tf.Tensor) -> tf.Tensor:
    """Multiply the sparse matrix that has a 1 at (or adds 1 to) each place of `ones` with a dense one.

    The compressed form costs little to make, and its product is the only one that uses all cores.
    """
    sparse = tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=ones, values=tf.ones(tf.shape(ones)[:1]), dense_shape=tf.cast(tf.stack(shape), tf.int64)
    )
    return tf.ensure_shape(tf.raw_ops.SparseMatrixMatMul(a=sparse, b=dense), (None, dense.shape[1]))


def _dropped_of_256(rate: float) -> int:
    """Round a dropout rate to a multiple of 1/256, so that one random byte decides an entry."""
    return min(round(rate * 256), 255)


def _kept_share(rate: float) -> float:
    return 1 - _dropped_of_256(rate) / 256


def _draw(rng: np.random.Generator | None, rows: int, columns: int, rate: float) -> np.ndarray:
    """Draw which entries of a matrix dropout keeps; a matrix without rows stands for all of them."""
    if rng is None or rate == 0:
        return np.empty((0, columns), np.uint8)
    # Whole 64-bit numbers are several times faster than `rng.bytes`, which draws 32 bits at a time.
    numbers = rng.integers(2**64 - 1, size=-(-rows * columns // 8), dtype=np.uint64, endpoint=True)
    drawn = numbers.view(np.uint8)[: rows * columns].reshape(rows, columns)
    return (drawn >= _dropped_of_256(rate)).view(np.uint8)
