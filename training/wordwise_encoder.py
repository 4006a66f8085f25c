"""The way to encode many texts at once that suits an encoder."""

import keras

from training.wordwise_bilstm import WordwiseBiLSTM
from training.wordwise_convolution import WordwiseConvolution


def wordwise_encoder(encoder: keras.Model) -> WordwiseBiLSTM | WordwiseConvolution | None:
    """Choose how to encode texts with each distinct word multiplied once, without dropout.

    Args:
        encoder: the `encoder` part of a ranker.

    Returns:
        The encoder for distinct words; None where the encoder is not one of `models.attentive_pooling`.

    Example:
        >>> wordwise_encoder(keras.Sequential([keras.Input((2,))])) is None
        True
    """
    kinds = WordwiseConvolution, WordwiseBiLSTM
    return next((kind(encoder) for kind in kinds if kind.fits(encoder)), None)
