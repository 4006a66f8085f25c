"""Keras layers for ranking answers to questions."""

from layers.hyperbolic_distance import HyperbolicDistance
from layers.masked_max import MaskedMax
from layers.masked_mean import MaskedMean
from layers.masked_sum import MaskedSum
from layers.unit_ball import UnitBall

__all__ = ["HyperbolicDistance", "MaskedMax", "MaskedMean", "MaskedSum", "UnitBall"]
