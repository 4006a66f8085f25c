"""Do questions have larger norms than answers, and rare words than common ones? Effects with intervals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Effect:
    """An estimate and its 95 % interval, by the bootstrap."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class NormComparison:
    """Questions against answers."""

    # Geometric mean of (norm of a question / geometric mean of its candidates' norms).
    ratio: Effect
    # Mean over standard deviation of the paired differences of these logarithms (Cohen's d).
    standardised: Effect
    # Share of the questions whose norm is above that mean of their candidates.
    share_longer: Effect
    # b in norm ~ length^b, common to questions and answers.
    length_exponent: Effect
    # Of a question's and an answer's norm at the same number of tokens.
    ratio_at_equal_length: Effect
    # Share of the questions whose length lies within the middle 90 % of the answers'; where it is small, the
    # ratio at equal length is an extrapolation.
    lengths_in_common: float
    n_questions: int


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

    A norm that is a sum over words grows with their number. Therefore log norm = a + b log length + c [is a
    question] is fitted to all texts by least squares: exp(c) is the ratio at equal length. Intervals are
    percentiles of the bootstrap over questions, each with its candidates.

    Texts of norm or length 0 are left out, and questions that then have no answers.
    """
    questions, answers, owner = _usable(
        _Texts(np.asarray(question_norms, np.float64), np.asarray(question_lengths, np.float64)),
        _Texts(np.asarray(answer_norms, np.float64), np.asarray(answer_lengths, np.float64)),
        np.asarray(question_of_answer),
    )
    differences = questions.log_norms - np.bincount(owner, answers.log_norms) / np.bincount(owner)
    equations = _equations_of_questions(questions, answers, owner)

    def estimates(sample: np.ndarray) -> np.ndarray:
        return _estimates(differences[sample], equations[sample].sum(axis=0))

    effects = _effects(len(differences), estimates, resamples, seed)
    low, high = np.quantile(answers.log_lengths, [0.05, 0.95])
    in_common = (questions.log_lengths >= low) & (questions.log_lengths <= high)
    return NormComparison(*effects, lengths_in_common=float(in_common.mean()), n_questions=len(differences))


def rank_correlation(x: ArrayLike, y: ArrayLike, *, resamples: int = 1000, seed: int = 0) -> Effect:
    """Compute Spearman's rank correlation of two values of the same words, with a 95 % interval.

    The interval has the percentiles of the bootstrap over words.
    """
    from scipy import stats

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 3:
        raise ValueError(
            f"two lists of the same length, at least 3, are needed. Received: {x.shape}, {y.shape}."
        )

    def estimate(sample: np.ndarray) -> np.ndarray:
        return np.array([stats.spearmanr(x[sample], y[sample]).statistic])

    (effect,) = _effects(len(x), estimate, resamples, seed)
    return effect


def _effects(
    n: int, estimates: Callable[[np.ndarray], np.ndarray], resamples: int, seed: int
) -> list[Effect]:
    """Estimate from all n items, by their numbers, with intervals by the bootstrap over them."""
    from scipy import stats

    everyone = np.arange(n)
    bounds = stats.bootstrap(
        (everyone,),
        estimates,
        vectorized=False,
        method="percentile",
        n_resamples=resamples,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    values = zip(estimates(everyone), bounds.low, bounds.high, strict=True)
    return [Effect(*map(float, each)) for each in values]


@dataclass(frozen=True)
class _Texts:
    """Norms and lengths of the texts of one side."""

    norms: np.ndarray
    lengths: np.ndarray

    @property
    def log_norms(self) -> np.ndarray:
        return np.log(self.norms)

    @property
    def log_lengths(self) -> np.ndarray:
        return np.log(self.lengths)

    @property
    def sizes(self) -> list[int]:
        return [len(self.norms), len(self.lengths)]

    def check(self) -> None:
        for values in (self.norms, self.lengths):
            if not np.isfinite(values).all() or (values < 0).any():
                raise ValueError("norms and lengths must be finite and not negative.")

    def at(self, rows: np.ndarray) -> "_Texts":
        return _Texts(self.norms[rows], self.lengths[rows])


def _usable(
    questions: _Texts,
    answers: _Texts,
    owner: np.ndarray,
) -> tuple[_Texts, _Texts, np.ndarray]:
    """Check the texts and leave out those of norm or length 0, and questions without answers.

    `owner` has the number of each answer's question; it is returned for the texts that are left.
    """
    sizes = [*questions.sizes, *answers.sizes, len(owner)]
    if len(set(questions.sizes)) > 1 or len({*answers.sizes, len(owner)}) > 1:
        raise ValueError(f"norms, lengths and question_of_answer must go together. Received: {sizes} values.")
    questions.check()
    answers.check()
    question_counts = (questions.norms > 0) & (questions.lengths > 0)
    answer_counts = (answers.norms > 0) & (answers.lengths > 0) & question_counts[owner]
    question_counts &= np.bincount(owner[answer_counts], minlength=len(question_counts)) > 0
    if question_counts.sum() < 3:
        raise ValueError(
            f"at least three questions with answers are needed. Received: {question_counts.sum()}."
        )
    numbers = np.cumsum(question_counts) - 1
    return questions.at(question_counts), answers.at(answer_counts), numbers[owner[answer_counts]]


def _equations_of_questions(questions: _Texts, answers: _Texts, owner: np.ndarray) -> np.ndarray:
    """Sum x x^T and x y for each question; those of a sample of questions add up to its normal equations."""
    n = len(questions.norms)
    equations = np.zeros((n, 3, 4))
    for texts, is_question, question in ((questions, 1.0, np.arange(n)), (answers, 0.0, owner)):
        length = texts.log_lengths
        x = np.stack([np.ones_like(length), length, np.full_like(length, is_question)], axis=1)
        x_and_y = np.concatenate([x, texts.log_norms[:, None]], axis=1)
        np.add.at(equations, question, x[:, :, None] * x_and_y[:, None, :])
    return equations


def _estimates(differences: np.ndarray, equations: np.ndarray) -> np.ndarray:
    """Estimate the five effects of a sample of questions, in the order of `NormComparison`."""
    _, exponent, shift = np.linalg.lstsq(equations[:, :3], equations[:, 3], rcond=None)[0]
    mean, spread = differences.mean(), differences.std(ddof=1)
    standardised = mean / spread if spread > 0 else 0.0
    share_longer = (differences > 0).mean()
    return np.array([np.exp(mean), standardised, share_longer, exponent, np.exp(shift)])
