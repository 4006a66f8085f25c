"""Keras layers for ranking answers to questions."""

from layers.cross_temporal_encoder import CrossTemporalEncoder
from layers.cross_temporal_gate import CrossTemporalGate
from layers.hyperbolic_distance import HyperbolicDistance
from layers.masked_max import MaskedMax
from layers.masked_mean import MaskedMean
from layers.masked_sum import MaskedSum
from layers.pooling_cell import PoolingCell
from layers.quasi_recurrent_gates import QuasiRecurrentGates
from layers.recurrent_pooling import RecurrentPooling
from layers.unit_ball import UnitBall

__all__ = [
    "CrossTemporalEncoder",
    "CrossTemporalGate",
    "HyperbolicDistance",
    "MaskedMax",
    "MaskedMean",
    "MaskedSum",
    "PoolingCell",
    "QuasiRecurrentGates",
    "RecurrentPooling",
    "UnitBall",
]
