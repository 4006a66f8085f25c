"""The fast way through a bag of projected words: every distinct word of a batch is projected once."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from data_prep import EncodedTexts


class PackedBagOfWords:
    """Encodes many texts of one batch with HyperQA's encoder, projecting each distinct word once.

    The projection relu(W_p z + b_p) depends on the word alone, and words repeat: a batch of 32 questions
    with their candidates holds several times more words than distinct words. So the distinct words are
    projected by one matrix product, and the texts are sums of its rows (a sparse matrix of counts times a
    dense one). The gradient runs the same way back; it is written by hand over an index that is sorted by
    word beforehand, which spares the scatter that automatic differentiation would use.

    It shares the weights of the model's encoder and gives the same points and the same gradients as calling
    it on padded texts (tested). Under training, `embedding_dropout` draws one mask for each distinct word
    of the batch, where the padded encoder draws one for each word of each text; the expectation is the same.

    Args:
        encoder: the `encoder` part of `models.hyperqa`.
        seed: seeds dropout, together with the number of the step.

    Example:
        >>> encode = PackedBagOfWords(model.get_layer("encoder"))  # doctest: +SKIP
        >>> points = encode(encode.pack(split.candidates))  # doctest: +SKIP
    """

    def __init__(self, encoder: keras.Model, seed: int = 0):
        self.encoder = encoder
        self.seed = seed
        self.word_vectors = encoder.get_layer("word_vectors").embeddings
        self.projection = encoder.get_layer("projection")
        self.ball = encoder.get_layer("ball")
        self.embedding_dropout = encoder.get_layer("embedding_dropout").rate
        self.text_dropout = encoder.get_layer("text_dropout").rate

    # What `pack` returns, per text batch, with the number of dimensions of each array.
    signature = {  # noqa: RUF012
        "words": tf.TensorSpec((None,), tf.int32),
        "word_of_token": tf.TensorSpec((None,), tf.int32),
        "text_of_token": tf.TensorSpec((None,), tf.int32),
        "text_by_word": tf.TensorSpec((None,), tf.int32),
        "word_by_word": tf.TensorSpec((None,), tf.int32),
        "n_texts": tf.TensorSpec((), tf.int32),
    }

    def pack(self, *groups: EncodedTexts) -> dict[str, np.ndarray]:
        """Index the tokens of all texts of all groups, one group after the other.

        Returns:
            words: the distinct words; word_of_token, text_of_token: for every token in the order of texts
                its place in
            `words` and its text; text_by_word, word_by_word: the same pairs in the order of `words`;
            n_texts: the number of texts.
        """
        tokens = np.concatenate([group.words for group in groups])
        lengths = np.concatenate([np.diff(group.offsets) for group in groups])
        present = np.zeros(self.word_vectors.shape[0], bool)
        present[tokens] = True
        words = np.flatnonzero(present).astype(np.int32)
        place = np.empty(len(present), np.int32)
        place[words] = np.arange(len(words), dtype=np.int32)
        word_of_token = place[tokens]
        text_of_token = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        # NumPy sorts 16-bit integers by radix, many times faster than wider ones.
        narrow = word_of_token.astype(np.uint16) if len(words) <= 1 << 16 else word_of_token
        by_word = np.argsort(narrow, kind="stable")
        return {
            "words": words,
            "word_of_token": word_of_token,
            "text_of_token": text_of_token,
            "text_by_word": text_of_token[by_word],
            "word_by_word": word_of_token[by_word],
            "n_texts": np.int32(len(lengths)),
        }

    def stack(self, parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Stack packed batches of different sizes, one for each replica, padding the shorter ones.

        Padding goes into one further text and one further word (the padding word), which nothing refers to.
        """
        if len(parts) == 1:
            return {name: value[None] for name, value in parts[0].items()}
        n_words = max(len(part["words"]) for part in parts) + 1
        n_tokens = max(len(part["word_of_token"]) for part in parts)
        n_texts = max(part["n_texts"] for part in parts) + 1
        size = {"words": (n_words, 0), "word_of_token": (n_tokens, n_words - 1), "n_texts": None}
        size |= {"text_of_token": (n_tokens, n_texts - 1), "text_by_word": (n_tokens, n_texts - 1)}
        size |= {"word_by_word": (n_tokens, n_words - 1)}
        return {
            name: np.stack(
                [pad_to(part[name], *size[name]) if size[name] else np.int32(n_texts) for part in parts]
            )
            for name in self.signature
        }

    def sums(self, packed: dict[str, tf.Tensor], step: tf.Tensor | None = None) -> tf.Tensor:
        """Return the texts' sums of projected words before dropout and ball, float32 `(n_texts, d)`.

        Args:
            packed: what `pack` returned.
            step: the number of the training step, which seeds dropout; None switches dropout off.
        """
        vectors = tf.gather(self.word_vectors.value, packed["words"])
        kernel = self.projection.kernel.value
        if step is not None and self.embedding_dropout > 0:
            kept, scale = self._kept(tf.shape(vectors), self.embedding_dropout, step, salt=1)
            vectors = tf.where(kept, vectors, 0.0)
            # The product is the same as with longer vectors, and the kernel is the smaller matrix to scale.
            kernel = kernel * scale
        return _sums_of_projected_words(vectors, kernel, self.projection.bias.value, packed)

    def __call__(self, packed: dict[str, tf.Tensor], step: tf.Tensor | None = None) -> tf.Tensor:
        """Return the texts' points on the ball, float32 `(n_texts, d)`."""
        sums = self.sums(packed, step)
        if step is not None and self.text_dropout > 0:
            kept, scale = self._kept(tf.shape(sums), self.text_dropout, step, salt=2)
            sums = tf.where(kept, sums * scale, 0.0)
        return self.ball(sums)

    def _kept(self, shape: tf.Tensor, rate: float, step: tf.Tensor, salt: int) -> tuple[tf.Tensor, float]:
        """Draw which entries of a matrix dropout keeps, and give the factor that keeps their expectation.

        The rate is rounded to a multiple of 1/256, so that one random byte decides an entry: whole random
        words are most of the time that dropout takes.
        """
        seed = tf.stack([tf.constant(2 * self.seed + salt - 1, tf.int64), tf.cast(step, tf.int64)])
        replica = tf.distribute.get_replica_context()
        if replica is not None and replica.num_replicas_in_sync > 1:
            seed += tf.cast(replica.replica_id_in_sync_group, tf.int64) * 1_000_003
        dropped = min(round(rate * 256), 255)
        size = tf.reduce_prod(shape)
        words = tf.random.stateless_uniform(
            [(size + 3) // 4], seed, minval=None, maxval=None, dtype=tf.uint32, alg="philox"
        )
        drawn = tf.reshape(tf.reshape(tf.bitcast(words, tf.uint8), [-1])[:size], shape)
        return drawn >= tf.constant(dropped, tf.uint8), 256 / (256 - dropped)


def pad_to(values: np.ndarray, length: int, filling: float) -> np.ndarray:
    """Lengthen a 1-D array to `length` with `filling` at its end."""
    return np.concatenate([values, np.full(length - len(values), filling, values.dtype)])


@tf.custom_gradient
def _sums_of_projected_words(vectors, kernel, bias, packed):
    projected = tf.nn.relu(tf.nn.bias_add(tf.matmul(vectors, kernel), bias))
    sums = tf.raw_ops.SparseSegmentSumWithNumSegments(
        data=projected,
        indices=packed["word_of_token"],
        segment_ids=packed["text_of_token"],
        num_segments=packed["n_texts"],
    )

    def gradient(upstream):
        to_words = tf.raw_ops.SparseSegmentSumWithNumSegments(
            data=upstream,
            indices=packed["text_by_word"],
            segment_ids=packed["word_by_word"],
            num_segments=tf.shape(projected)[0],
        )
        before_relu = tf.raw_ops.ReluGrad(gradients=to_words, features=projected)
        to_kernel = tf.matmul(vectors, before_relu, transpose_a=True)
        # The word vectors are frozen: no gradient is worth computing for them, nor for the index.
        return None, to_kernel, tf.reduce_sum(before_relu, axis=0), dict.fromkeys(packed)

    return sums, gradient
