"""Layers that compare a question with an answer, of the systems that the papers quote."""

from .circular_correlation import CircularCorrelation
from .neural_tensor import NeuralTensor
from .value_shared_weights import ValueSharedWeights

__all__ = ["CircularCorrelation", "NeuralTensor", "ValueSharedWeights"]
