"""Keras layers for ranking answers to questions."""

from layers.attentive_pooling import AttentivePooling
from layers.cosine_similarity import CosineSimilarity
from layers.cross_temporal_encoder import CrossTemporalEncoder
from layers.cross_temporal_gate import CrossTemporalGate
from layers.hyperbolic_distance import HyperbolicDistance
from layers.masked_max import MaskedMax
from layers.masked_mean import MaskedMean
from layers.masked_sum import MaskedSum
from layers.pack_candidates import PackCandidates
from layers.pooled_convolution import PooledConvolution
from layers.pooling_cell import PoolingCell
from layers.quasi_recurrent_gates import QuasiRecurrentGates
from layers.recurrent_pooling import RecurrentPooling
from layers.soft_alignment import SoftAlignment
from layers.unit_ball import UnitBall
from layers.word_relatedness import WordRelatedness

__all__ = [
    "AttentivePooling",
    "CosineSimilarity",
    "CrossTemporalEncoder",
    "CrossTemporalGate",
    "HyperbolicDistance",
    "MaskedMax",
    "MaskedMean",
    "MaskedSum",
    "PackCandidates",
    "PooledConvolution",
    "PoolingCell",
    "QuasiRecurrentGates",
    "RecurrentPooling",
    "SoftAlignment",
    "UnitBall",
    "WordRelatedness",
]
