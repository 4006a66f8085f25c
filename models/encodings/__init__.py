"""Ways to encode the texts of a batch with less work than an encoder on padded texts, for TensorFlow."""

from typing import Any, Literal

from answer_ranking.models.encodings.bag_of_words import BagOfWords
from answer_ranking.models.encodings.contextual_words import ContextualWords
from answer_ranking.models.encodings.padded_texts import PaddedTexts
from answer_ranking.models.encodings.pair_states import PairStates
from answer_ranking.models.encodings.wordwise_bilstm import WordwiseBiLSTM
from answer_ranking.models.encodings.wordwise_convolution import WordwiseConvolution

__all__ = [
    "BagOfWords",
    "ContextualWords",
    "PaddedTexts",
    "PairStates",
    "WordwiseBiLSTM",
    "WordwiseConvolution",
    "encoding_of",
]


def encoding_of(ranker: Any, kind: Literal["packed", "wordwise"]) -> Any:
    """Give a ranker's own encoding of a kind, its property `encoding`; None where it has none.

    "packed" lays many texts out as one batch of tokens and gives gradients its own way back (`pack`,
    `with_pull_back`); "wordwise" multiplies each distinct word of padded texts by the kernels once
    (`project`).
    """
    own = getattr(ranker, "encoding", None)
    return own if own is not None and own.kind == kind else None
