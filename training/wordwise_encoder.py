"""The way to encode many texts at once that suits an encoder."""

import keras
import numpy as np

from training.wordwise_bilstm import WordwiseBiLSTM
from training.wordwise_convolution import WordwiseConvolution


def wordwise_encoder(encoder: keras.Model) -> WordwiseBiLSTM | WordwiseConvolution | None:
    """Choose how to encode texts with each distinct word multiplied once, without dropout.

    An encoder of the right steps may still be wired in another way (a BiLSTM that is not told of the mask),
    so what comes out is compared on a few padded texts.

    Args:
        encoder: the `encoder` part of a ranker.

    Returns:
        The encoder for distinct words; None where the encoder is not one of `models.attentive_pooling`.

    Example:
        >>> wordwise_encoder(keras.Sequential([keras.Input((2,))])) is None
        True
    """
    for kind in (WordwiseConvolution, WordwiseBiLSTM):
        if kind.fits(encoder):
            wordwise = kind(encoder)
            return wordwise if _gives_the_same(wordwise, encoder) else None
    return None


def _gives_the_same(wordwise: WordwiseBiLSTM | WordwiseConvolution, encoder: keras.Model) -> bool:
    n_words = encoder.get_layer("word_vectors").input_dim
    words = np.random.default_rng(0).integers(min(1, n_words - 1), n_words, (4, 8))
    words = np.where(np.arange(8) < np.array([[8], [5], [1], [0]]), words, 0).astype("int32")
    biases = [(variable, variable.numpy()) for variable in encoder.weights if variable.ndim == 1]
    try:
        # Before training biases are zero, and with them what an LSTM makes of padding.
        for variable, bias in biases:
            variable.assign(bias + 0.1)
        expected = keras.tree.flatten(encoder(words))
        found = wordwise(*wordwise.project(words))
    finally:
        for variable, bias in biases:
            variable.assign(bias)
    if [x.shape for x in found] != [x.shape for x in expected]:
        return False
    if len(found) > 1 and not np.array_equal(found[1], expected[1]):
        return False
    real = words > 0 if len(found) > 1 else np.ones(len(words), bool)
    expected, found = (np.asarray(keras.ops.cast(x[0], "float32"))[real] for x in (expected, found))
    # Half precision rounds at other places on the two ways.
    tolerance = 1e-4 if encoder.compute_dtype == "float32" else 0.05
    scale = np.abs(np.nan_to_num(expected)).max(initial=0)
    return np.allclose(found, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
