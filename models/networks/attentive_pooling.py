"""QA-CNN, QA-BiLSTM, AP-CNN and AP-BiLSTM (dos Santos et al. 2016) as functional Keras models."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from answer_ranking.layers import AttentivePooling, MaskedMax
from answer_ranking.layers.common import word_embedding
from answer_ranking.models.networks.matchers import attentive_matcher, cosine_matcher
from answer_ranking.models.networks.pairs import bidirectional_lstm, convolution, pair_inputs

if TYPE_CHECKING:
    from answer_ranking.models.encodings import WordwiseBiLSTM, WordwiseConvolution


def qa_cnn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 4000,
    window: int = 2,
    *,
    embedding_dropout: float = 0.0,
    train_word_vectors: bool = False,
    seed: int = 0,
) -> keras.Model:
    """Score answers by the cosine of two max-pooled convolutions (Section 2 of the paper).

    Q = W_1 Z^q + b_1 over windows of words (Eq. 1), A likewise with the same W_1 and b_1 (Eq. 2),
    r = tanh(max over the steps) (Eq. 9, 10), s = cosine(r^q, r^a) (Eq. 11).

    The model is `matcher([encoder(question), encoder(answer)])`, and both parts are layers of it under these
    names: the encoder maps words to the vector r, the matcher maps pairs of these, rows aligned, to scores.
    So a text is encoded once, however many pairs it stands in.

    Args:
        word_vectors: float32 `(words, n)`; row 0 belongs to padding.
        filters: c, the number of features of a step. The paper's is 4000.
        window: k, the words in the window around a step, beyond the text's ends zeros; where k is even, the
            window reaches one word further to the right. The paper's is 2.
        embedding_dropout: share of the entries of word vectors that training sets to zero. The paper has
            none.
        train_word_vectors: whether the word vectors are trained too; the paper does not say.
        seed: seeds the initial weights and the dropout.

    Returns:
        A model with the int32 inputs `question` `(batch, length)` and `answer` `(batch, length)`, 0 being
        padding, and float32 scores `(batch,)`. Trainable parameters: k n c + c. The texts' lengths may
        differ, and padding changes nothing.

    Raises:
        ValueError: `word_vectors` is not a matrix, or a number is out of its range.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> model = qa_cnn(vectors, filters=100)
        >>> model([np.array([[5, 7, 0]]), np.array([[5, 9, 11, 0]])]).shape
        TensorShape([1])
    """
    states = _convolution(filters, window, seed)
    encoder = _encoder(word_vectors, states, True, embedding_dropout, train_word_vectors, seed)
    return _ranker(ConvolutionRanker, encoder, cosine_matcher(filters), "QA-CNN")


def ap_cnn(
    word_vectors: np.ndarray | keras.layers.Embedding,
    filters: int = 400,
    window: int = 4,
    *,
    embedding_dropout: float = 0.0,
    train_word_vectors: bool = False,
    seed: int = 0,
) -> keras.Model:
    """Score answers by the cosine of two convolutions, pooled by attention to each other (Section 3).

    Q and A are those of `qa_cnn`; `layers.AttentivePooling` makes r^q and r^a of them (Eq. 13 to 18), and
    s = cosine(r^q, r^a) (Eq. 11). As in `qa_cnn` a text is encoded once; but here the encoder gives two
    tensors, its states `(batch, length, c)` and its mask `(batch, length)`, bool, true at the real words,
    and the model is `matcher([*encoder(question), *encoder(answer)])`. `keras.tree.flatten(encoder(text))`
    is the list of a text's tensors for every ranker.

    Args:
        filters: c, the number of features of a step. The paper's is 400.
        window: k, the words in the window around a step, see `qa_cnn`. The paper's is 4 for TrecQA and WikiQA
            and 3 for InsuranceQA.
        The other arguments are those of `qa_cnn`.

    Returns:
        A model as of `qa_cnn`. Trainable parameters: k n c + c + c c.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> model = ap_cnn(vectors, filters=20, window=3)
        >>> states, mask = model.get_layer("encoder")(np.array([[5, 7, 0]]))
        >>> states.shape, mask.numpy().tolist()
        (TensorShape([1, 3, 20]), [[True, True, False]])
    """
    states = _convolution(filters, window, seed)
    encoder = _encoder(word_vectors, states, False, embedding_dropout, train_word_vectors, seed)
    return _ranker(ConvolutionRanker, encoder, attentive_matcher(filters, seed), "AP-CNN")


def qa_bilstm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 141,
    *,
    embedding_dropout: float = 0.0,
    train_word_vectors: bool = False,
    seed: int = 0,
) -> keras.Model:
    """Score answers by the cosine of the max-pooled states of a bidirectional LSTM (Section 2).

    The states of both directions side by side are the columns of Q and A (Eq. 3 to 8; the same weights read
    both texts); r = tanh(max over the steps) (Eq. 9, 10), s = cosine(r^q, r^a) (Eq. 11).

    Args:
        units: h, the size of a direction's state. The paper's is 141.
        The other arguments are those of `qa_cnn`.

    Returns:
        A model as of `qa_cnn`. Trainable parameters: 2 (4 h (n + h) + 4 h).

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> qa_bilstm(vectors, units=10).name
        'QA-BiLSTM'
    """
    encoder = _encoder(word_vectors, _bilstm(units, seed), True, embedding_dropout, train_word_vectors, seed)
    return _ranker(BiLSTMRanker, encoder, cosine_matcher(2 * units), "QA-BiLSTM")


def ap_bilstm(
    word_vectors: np.ndarray | keras.layers.Embedding,
    units: int = 141,
    *,
    embedding_dropout: float = 0.0,
    train_word_vectors: bool = False,
    seed: int = 0,
) -> keras.Model:
    """Score answers by the cosine of the states of a bidirectional LSTM, pooled by attention (Section 3).

    Q and A are those of `qa_bilstm`, all else is as in `ap_cnn`.

    Args:
        units: h, the size of a direction's state. The paper's is 141.
        The other arguments are those of `qa_cnn`.

    Returns:
        A model as of `ap_cnn`. Trainable parameters: 2 (4 h (n + h) + 4 h) + 4 h h.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> ap_bilstm(vectors, units=10).name
        'AP-BiLSTM'
    """
    encoder = _encoder(word_vectors, _bilstm(units, seed), False, embedding_dropout, train_word_vectors, seed)
    return _ranker(BiLSTMRanker, encoder, attentive_matcher(2 * units, seed), "AP-BiLSTM")


def attention_weights(
    ranker: keras.Model, question: np.ndarray, answer: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give what an AP ranker attends to in each pair of word matrices `(batch, length)` (Eq. 13 to 16).

    Returns:
        The attention to the question's words, float32 `(batch, question length)`, and to the answer's,
        `(batch, answer length)`, zero at padding and of sum 1, or 0 for a text without words; and G,
        `(batch, question length, answer length)`.

    Raises:
        ValueError: the ranker does not pool by attention.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(1000, 50)).astype("float32")
        >>> of_question, of_answer, _ = attention_weights(
        ...     ap_cnn(vectors, filters=20), np.array([[5, 7, 0]]), np.array([[5, 0]]))
        >>> of_question.shape, of_answer.tolist()
        ((1, 3), [[1.0, 0.0]])
    """
    matcher, encoder = ranker.get_layer("matcher"), ranker.get_layer("encoder")
    pooling = next((layer for layer in matcher.layers if layer.name == "attentive_pooling"), None)
    if pooling is None:
        raise ValueError(f"only AP-CNN and AP-BiLSTM have attention. Received: ranker={ranker.name}")
    (question_states, question_mask), (answer_states, answer_mask) = encoder(question), encoder(answer)
    shown = AttentivePooling(return_attention=True)
    shown.build([tuple(states.shape) for states in (question_states, answer_states)])
    shown.set_weights(pooling.get_weights())
    results = shown([question_states, answer_states], mask=[question_mask, answer_mask])
    return tuple(ops.convert_to_numpy(result) for result in results[2:])


def _convolution(filters: int, window: int, seed: int) -> Callable[[Any, Any], Any]:
    convolve = convolution(filters, window, seed, activation=None)
    return lambda vectors, mask: convolve(vectors)


def _bilstm(units: int, seed: int) -> Callable[[Any, Any], Any]:
    bilstm = bidirectional_lstm(units, iter([seed, seed + 1, seed + 10, seed + 11]))
    return lambda vectors, mask: bilstm(vectors, mask=mask)


def _encoder(
    word_vectors: np.ndarray | keras.layers.Embedding,
    states_of: Callable[[Any, Any], Any],
    pools: bool,
    embedding_dropout: float,
    train_word_vectors: bool,
    seed: int,
) -> keras.Model:
    text = keras.Input((None,), dtype="int32", name="text")
    embedding = word_embedding(word_vectors, train_word_vectors)
    mask = ops.not_equal(text, 0)
    # A window that reaches beyond a text's end sees zeros there, however long the padding is.
    x = ops.where(ops.expand_dims(mask, -1), embedding(text), 0.0)
    x = keras.layers.Dropout(embedding_dropout, seed=seed + 2, name="embedding_dropout")(x)
    states = states_of(x, mask)
    if not pools:
        return keras.Model(text, [states, mask], name="encoder")
    vector = keras.layers.Activation("tanh", name="tanh")(MaskedMax(name="maximum")(states, mask=mask))
    return keras.Model(text, vector, name="encoder")


@keras.saving.register_keras_serializable("answer_ranking")
class ConvolutionRanker(keras.Model):
    """A functional model of `qa_cnn` or `ap_cnn`, which knows the encoding of its texts."""

    @cached_property
    def encoding(self) -> "WordwiseConvolution":
        """Multiplies each distinct word by the kernel once. It shares the model's weights."""
        from answer_ranking.models.encodings import WordwiseConvolution  # needs TensorFlow

        return WordwiseConvolution(self.get_layer("encoder"))


@keras.saving.register_keras_serializable("answer_ranking")
class BiLSTMRanker(keras.Model):
    """A functional model of `qa_bilstm` or `ap_bilstm`, which knows the encoding of its texts."""

    @cached_property
    def encoding(self) -> "WordwiseBiLSTM":
        """Multiplies each distinct word by the kernels once. It shares the model's weights."""
        from answer_ranking.models.encodings import WordwiseBiLSTM  # needs TensorFlow

        return WordwiseBiLSTM(self.get_layer("encoder"))


def _ranker(kind: type[keras.Model], encoder: keras.Model, matcher: keras.Model, name: str) -> keras.Model:
    inputs = pair_inputs()
    score = matcher(keras.tree.flatten([encoder(text) for text in inputs]))
    return kind(inputs, score, name=name)
