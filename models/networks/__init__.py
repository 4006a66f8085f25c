"""The papers' rankers, and those they are compared with, as functional Keras models, a paper in a file."""

from answer_ranking.layers.common import word_embedding
from answer_ranking.models.networks.attentive_pooling import (
    ap_bilstm,
    ap_cnn,
    attention_weights,
    qa_bilstm,
    qa_cnn,
)
from answer_ranking.models.networks.compare_aggregate import compare_aggregate
from answer_ranking.models.networks.cosinet import cosinet
from answer_ranking.models.networks.ctrn import ctrn, features_alone, lstm, qrnn
from answer_ranking.models.networks.hyperqa import hyperqa

__all__ = [
    "ap_bilstm",
    "ap_cnn",
    "attention_weights",
    "compare_aggregate",
    "cosinet",
    "ctrn",
    "features_alone",
    "hyperqa",
    "lstm",
    "qa_bilstm",
    "qa_cnn",
    "qrnn",
    "word_embedding",
]
