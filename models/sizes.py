"""How large a model is."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


def n_trained(model: "keras.Model") -> int:
    """Count the numbers that a model trains.

    Example:
        >>> import keras
        >>> n_trained(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]))
        8
    """
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)
