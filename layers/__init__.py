"""Keras layers for ranking answers to questions, for TensorFlow, JAX and PyTorch.

On a GPU JAX multiplies float32 matrices in TF32, which keeps three digits: set the environment variable
JAX_DEFAULT_MATMUL_PRECISION=highest for all of float32's.
"""

from .attentive_pooling import AttentivePooling
from .bucket_by_length import BucketByLength
from .cosine_similarity import CosineSimilarity
from .cross_temporal_encoder import CrossTemporalEncoder
from .cross_temporal_gate import CrossTemporalGate
from .hyperbolic_distance import HyperbolicDistance
from .masked_pooling import MaskedMax, MaskedMean, MaskedSum
from .pairs import CircularCorrelation, NeuralTensor, ValueSharedWeights
from .pooled_convolution import PooledConvolution
from .pooling_cell import PoolingCell
from .quasi_recurrent_gates import QuasiRecurrentGates
from .recurrent_pooling import RecurrentPooling
from .riemannian_gradient import RiemannianGradient
from .soft_alignment import SoftAlignment
from .unit_ball import UnitBall
from .word_relatedness import WordRelatedness

__all__ = [
    "AttentivePooling",
    "BucketByLength",
    "CircularCorrelation",
    "CosineSimilarity",
    "CrossTemporalEncoder",
    "CrossTemporalGate",
    "HyperbolicDistance",
    "MaskedMax",
    "MaskedMean",
    "MaskedSum",
    "NeuralTensor",
    "PooledConvolution",
    "PoolingCell",
    "QuasiRecurrentGates",
    "RecurrentPooling",
    "RiemannianGradient",
    "SoftAlignment",
    "UnitBall",
    "ValueSharedWeights",
    "WordRelatedness",
]
