"""Do questions have longer vectors than answers? Effects with intervals, and after correcting for length."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Effect:
    """An estimate and its 95 % interval, by the bootstrap over questions."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it as "0.71 (0.65 to 0.78)"."""
        return f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class NormComparison:
    """Questions against answers.

    Attributes:
        ratio: geometric mean of (norm of a question / geometric mean of its candidates' norms).
        standardised: mean over its standard deviation of the paired differences of these logarithms (Cohen's
            d of paired samples).
        share_longer: share of the questions whose norm is above that mean of their candidates.
        length_exponent: b in norm ~ length^b, common to questions and answers.
        ratio_at_equal_length: of a question's and an answer's norm at the same number of tokens.
        lengths_in_common: share of the questions whose length lies within the middle 90 % of the answers':
            where it is small, the ratio at equal length is an extrapolation.
        n_questions: questions that were compared.
    """

    ratio: Effect
    standardised: Effect
    share_longer: Effect
    length_exponent: Effect
    ratio_at_equal_length: Effect
    lengths_in_common: float
    n_questions: int

    def values(self) -> dict:
        """Give all as plain values."""
        return asdict(self)


def compare_norms(
    question_norms: ArrayLike,
    question_lengths: ArrayLike,
    answer_norms: ArrayLike,
    answer_lengths: ArrayLike,
    question_of_answer: ArrayLike,
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> NormComparison:
    """Compare the norms of questions with those of their candidate answers.

    A norm that is a sum over words grows with their number. So beside the plain comparison stands the one of
    log norm = a + b log length + c [is a question], fitted to all texts by least squares: exp(c) is the
    ratio at equal length. Intervals are percentiles of the bootstrap over questions, each with its
    candidates.

    Args:
        question_norms: float (n_questions,).
        question_lengths: tokens (n_questions,).
        answer_norms: float (n_answers,).
        answer_lengths: tokens (n_answers,).
        question_of_answer: index of each answer's question (n_answers,).
        resamples: number of bootstrap samples.
        seed: seed of the bootstrap.

    Returns:
        The effects; texts of norm or length 0 take no part, nor do questions that are left without answers.

    Raises:
        ValueError: the arrays do not go together, or fewer than three questions are left.

    Example:
        >>> result = compare_norms([4, 8, 6, 5], [4, 8, 6, 5], [2, 4, 3, 9], [4, 8, 6, 18], [0, 1, 2, 3])
        >>> round(result.length_exponent.estimate, 3), round(result.ratio_at_equal_length.estimate, 3)
        (1.0, 2.0)
    """
    from scipy import stats

    norms = [np.asarray(x, np.float64) for x in (question_norms, answer_norms)]
    lengths = [np.asarray(x, np.float64) for x in (question_lengths, answer_lengths)]
    owner = np.asarray(question_of_answer)
    if [len(x) for x in norms] != [len(x) for x in lengths] or len(owner) != len(norms[1]):
        raise ValueError(
            "norms, lengths and question_of_answer must go together. "
            f"Received: {[len(x) for x in (*norms, *lengths, owner)]} values."
        )
    if any(not np.isfinite(x).all() or (x < 0).any() for x in (*norms, *lengths)):
        raise ValueError("norms and lengths must be finite and not negative.")
    usable = [(n > 0) & (size > 0) for n, size in zip(norms, lengths, strict=True)]
    usable[1] = usable[1] & usable[0][owner]
    kept = usable[0] & (np.bincount(owner[usable[1]], minlength=len(norms[0])) > 0)
    if kept.sum() < 3:
        raise ValueError(f"at least three questions with answers are needed. Received: {int(kept.sum())}.")
    new_index = np.cumsum(kept) - 1
    owner = new_index[owner[usable[1]]]
    (q, a), (q_length, a_length) = (
        [np.log(values[mask]) for values, mask in zip(each, (kept, usable[1]), strict=True)]
        for each in (norms, lengths)
    )
    n = len(q)
    difference = q - np.bincount(owner, a) / np.bincount(owner)

    # Sums per question of x x^T and x y; those of a sample of questions add up to its normal equations.
    def sums(
        length: np.ndarray, is_question: float, log_norm: np.ndarray, question: np.ndarray
    ) -> np.ndarray:
        x = np.stack([np.ones_like(length), length, np.full_like(length, is_question)], axis=1)
        products = np.concatenate(
            [x[:, :, None] * x[:, None, :], (x * log_norm[:, None])[:, :, None]], axis=2
        )
        total = np.zeros((n, 3, 4))
        np.add.at(total, question, products)
        return total

    equations = sums(q_length, 1.0, q, np.arange(n)) + sums(a_length, 0.0, a, owner)

    def estimates(questions: np.ndarray) -> np.ndarray:
        of_sample, total = difference[questions], equations[questions].sum(axis=0)
        _, exponent, shift = np.linalg.lstsq(total[:, :3], total[:, 3], rcond=None)[0]
        spread = of_sample.std(ddof=1)
        standardised = of_sample.mean() / spread if spread > 0 else 0.0
        return np.array(
            [np.exp(of_sample.mean()), standardised, (of_sample > 0).mean(), exponent, np.exp(shift)]
        )

    found = stats.bootstrap(
        (np.arange(n),), estimates, n_resamples=resamples, vectorized=False, method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    effects = [
        Effect(*map(float, values))
        for values in zip(estimates(np.arange(n)), found.low, found.high, strict=True)
    ]
    low, high = np.quantile(a_length, [0.05, 0.95])
    in_common = float(((q_length >= low) & (q_length <= high)).mean())
    return NormComparison(*effects, lengths_in_common=in_common, n_questions=n)
