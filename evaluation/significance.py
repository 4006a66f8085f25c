"""Tests of the difference of two rankers."""

import numpy as np
from numpy.typing import ArrayLike

_VALUES_AT_ONCE = 2_000_000


def paired_randomisation_test(
    a: ArrayLike, b: ArrayLike, permutations: int = 100_000, seed: int = 0
) -> float:
    """Test whether two rankers differ in a per-question metric (Fisher's paired randomisation test).

    Under the null hypothesis the two rankers are exchangeable on each question, so the sign of each
    question's difference is random. The p-value is the share of sign patterns whose mean difference is
    at least as far from zero as the one observed: over all patterns where there are no more than
    `permutations`, else over that many random ones, the observed one counted among them.

    Args:
        a: the metric of one ranker, one value per question.
        b: the metric of the other, for the same questions in the same order.
        permutations: number of sign patterns to draw.
        seed: seed of the draw.

    Returns:
        The two-sided p-value.

    Raises:
        ValueError: the lengths differ, there are no questions, or a value is not finite.

    Example:
        >>> paired_randomisation_test([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.3, 0.7, 0.5])
        0.0625
    """
    from scipy import stats

    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) == 0:
        raise ValueError(f"a and b must hold the same questions. Received: shapes {a.shape} and {b.shape}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a and b must be finite. Received: NaN or infinite values.")
    # A question on which the two agree has no sign to toss.
    differences = (a - b)[a != b]
    if len(differences) < 2:
        # One sign or the other is as extreme as what was seen; SciPy refuses so few.
        return 1.0
    result = stats.permutation_test(
        (differences,),
        lambda x, axis: np.abs(x.sum(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=permutations,
        # As many at once as fit into some 16 MB.
        batch=min(5_000, max(1, _VALUES_AT_ONCE // len(differences))),
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def holm_correction(p_values: ArrayLike) -> np.ndarray:
    """Correct p-values for the number of comparisons (Holm, 1979).

    The i-th smallest of m p-values is multiplied by m - i + 1, kept from falling below its predecessor, and
    capped at 1. The chance of any false discovery at level alpha then stays at or below alpha.

    Returns the adjusted p-values, float64, in the order given; one outside 0 to 1 is a ValueError.

    Example:
        >>> holm_correction([0.01, 0.04, 0.03]).round(3).tolist()
        [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    if p_values.ndim != 1 or not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"p_values must be a list of numbers from 0 to 1. Received: {p_values.tolist()}.")
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted
