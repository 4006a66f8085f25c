"""Ways to encode the texts of a batch with less work than an encoder on padded texts, for TensorFlow."""

from answer_ranking.models.encodings.bag_of_words import BagOfWords
from answer_ranking.models.encodings.padded_texts import PaddedTexts
from answer_ranking.models.encodings.wordwise_bilstm import WordwiseBiLSTM
from answer_ranking.models.encodings.wordwise_convolution import WordwiseConvolution

__all__ = ["BagOfWords", "PaddedTexts", "WordwiseBiLSTM", "WordwiseConvolution"]
