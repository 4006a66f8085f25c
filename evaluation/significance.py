"""Tests of the difference of two rankers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) == 0:
        raise ValueError(f"a and b must hold the same questions. Received: shapes {a.shape} and {b.shape}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a and b must be finite. Received: NaN or infinite values.")
    # A question on which the two agree has no sign to toss.
    differences = (a - b)[a != b]
    if not len(differences):
        return 1.0
    observed = differences.sum()
    # Equal sums differ by rounding, since they are added up in another order.
    least = abs(observed) - 1e-12 * np.abs(differences).sum()
    extreme = patterns = 0
    for is_kept in _sign_patterns(len(differences), permutations, seed):
        sums = 2 * (is_kept @ differences) - observed
        extreme += int(np.count_nonzero(np.abs(sums) >= least))
        patterns += len(sums)
    if 2 ** len(differences) <= permutations:
        return extreme / patterns
    return (extreme + 1) / (patterns + 1)


def _sign_patterns(n: int, most: int, seed: int) -> Iterator[np.ndarray]:
    """Give all patterns of n signs, 1 for kept, 0 for turned, (some, n); of more than most, random ones."""
    rng = np.random.default_rng(seed)
    total = min(2**n, most)
    at_once = max(1, _VALUES_AT_ONCE // n)
    for start in range(0, total, at_once):
        size = min(at_once, total - start)
        bits: np.ndarray
        if 2**n <= most:
            bits = np.arange(start, start + size)[:, None] >> np.arange(n) & 1
        else:
            # Eight signs a byte: several times as fast as drawing each.
            octets = rng.integers(0, 256, (size, -(-n // 8)), np.uint8)
            bits = np.unpackbits(octets, axis=1, count=n)
        yield bits.astype(float)


@dataclass(frozen=True)
class CrossedTest:
    """A difference with the half width of its 95 % interval and the two-sided p-value.

    `error` is its standard error and `freedom` the degrees of freedom of Student's t.
    """

    difference: float
    ci95: float
    p: float
    error: float = 0.0
    freedom: float = math.inf

    def is_within(self, margin: float, level: float = 0.05) -> bool:
        """Tell whether two one-sided tests (TOST) at `level` reject differences of `margin` and more."""
        from scipy import stats

        if not self.error:
            return abs(self.difference) < margin
        distance = (margin - abs(self.difference)) / self.error
        return bool(stats.t.sf(distance, self.freedom) < level)


def crossed_test(a: Sequence[ArrayLike], b: Sequence[ArrayLike]) -> CrossedTest:
    """Test whether two rankers differ over questions, hyperparameter searches and seeds, all crossed.

    The question's effect is common to both rankers; each search has an effect, and each seed within it:

    ```
    V = s²(d) / Q + s²(a) / S_a + s²(b) / S_b
    ```

    d are the Q questions' differences of the means over searches and seeds, a and b the means of a ranker's
    S searches. t = difference / sqrt(V) has the degrees of freedom of Welch and Satterthwaite. A ranker with
    one search has its seeds in the place of searches: what another search would choose is then not covered.

    Args:
        a: the metric of one ranker: for each search float (seeds, questions).
        b: the metric of the other, for the same questions in the same order.

    Raises:
        ValueError: the questions differ in number, or there is one question or seed only.

    Example:
        >>> one_search_each = [[[0.5, 0.7, 0.9], [0.6, 0.8, 1.0]]], [[[0.4, 0.5, 0.6], [0.3, 0.6, 0.6]]]
        >>> found = crossed_test(*one_search_each)
        >>> round(found.difference, 2), round(found.ci95, 2), round(found.p, 2)
        (0.25, 0.24, 0.05)
    """
    from scipy import stats

    questions, effects = [], []
    for searches in (a, b):
        values = [np.asarray(each, float) for each in searches]
        questions.append(np.mean([each.mean(axis=0) for each in values], axis=0))
        several = len(values) > 1
        effects.append(np.array([each.mean() for each in values]) if several else values[0].mean(axis=1))
    if questions[0].shape != questions[1].shape:
        raise ValueError(f"the rankers have other questions. Received: {[len(each) for each in questions]}.")
    samples = [questions[0] - questions[1], *effects]
    if min(map(len, samples)) < 2:
        raise ValueError("there must be at least two questions, and two seeds or searches of each ranker.")
    difference = float(samples[0].mean())
    parts = np.array([each.var(ddof=1) / len(each) for each in samples])
    if not parts.any():
        return CrossedTest(difference, 0.0, float(difference == 0))
    freedom = parts.sum() ** 2 / sum(parts**2 / [len(each) - 1 for each in samples])
    error = np.sqrt(parts.sum())
    p = float(2 * stats.t.sf(abs(difference) / error, freedom))
    half_width = float(stats.t.ppf(0.975, freedom) * error)
    return CrossedTest(difference, half_width, p, float(error), float(freedom))


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
