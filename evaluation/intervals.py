"""Confidence intervals of a mean over repeated runs."""

import numpy as np
from numpy.typing import ArrayLike


def mean_confidence_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Compute the mean and the half width of its Student t interval.

    Args:
        values: one number per run (such as per seed).
        level: the share of intervals that hold the true mean, between 0 and 1.

    Returns:
        Mean and half width; the half width of a single value is NaN.

    Raises:
        ValueError: there are no values, or `level` is not between 0 and 1.

    Example:
        >>> mean, half_width = mean_confidence_interval([0.70, 0.72])
        >>> round(mean, 3), round(half_width, 3)
        (0.71, 0.127)
    """
    from scipy import stats

    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"values must be a list of at least one number. Received: shape {values.shape}.")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1. Received: {level}.")
    if len(values) == 1:
        return float(values[0]), float("nan")
    half_width = stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values)
    return float(values.mean()), float(half_width)
