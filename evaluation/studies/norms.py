"""Do questions have larger norms than answers? Effects with intervals, also corrected for length."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from answer_ranking.evaluation.records import read_study
from answer_ranking.evaluation.tables import markdown_table, short_vectors

EFFECTS = {
    "ratio": "norm of a question / of its candidates",
    "standardised": "standardised difference",
    "share_longer": "questions with the larger norm",
    "length_exponent": "norm grows as length to the power",
    "ratio_at_equal_length": "question / answer at equal length",
}
_KEYS = {"title", "embeddings", "seed", "norms", "words_by_level", "figures", "command"}


@dataclass(frozen=True)
class Effect:
    """An estimate and its 95 % interval, by the bootstrap over questions."""

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

    def values(self) -> dict:
        """Return all as plain values."""
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

    A norm that is a sum over words grows with their number. Therefore log norm = a + b log length + c [is a
    question] is fitted to all texts by least squares: exp(c) is the ratio at equal length. Intervals are
    percentiles of the bootstrap over questions, each with its candidates.

    Texts of norm or length 0 are left out, and questions that then have no answers.
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
    owner = (np.cumsum(kept) - 1)[owner[usable[1]]]
    (q, a), (q_length, a_length) = (
        [np.log(values[mask]) for values, mask in zip(each, (kept, usable[1]), strict=True)]
        for each in (norms, lengths)
    )
    n = len(q)
    difference = q - np.bincount(owner, a) / np.bincount(owner)
    # Sums per question of x x^T and x y; those of a sample of questions add up to its normal equations.
    equations = np.zeros((n, 3, 4))
    for length, is_question, y, question in ((q_length, 1.0, q, np.arange(n)), (a_length, 0.0, a, owner)):
        x = np.stack([np.ones_like(length), length, np.full_like(length, is_question)], axis=1)
        products = x[:, :, None] * np.concatenate([x, y[:, None]], axis=1)[:, None, :]
        np.add.at(equations, question, products)

    def estimates(questions: np.ndarray) -> np.ndarray:
        of_sample, total = difference[questions], equations[questions].sum(axis=0)
        _, exponent, shift = np.linalg.lstsq(total[:, :3], total[:, 3], rcond=None)[0]
        spread = of_sample.std(ddof=1)
        standardised = of_sample.mean() / spread if spread > 0 else 0.0
        return np.array(
            [np.exp(of_sample.mean()), standardised, (of_sample > 0).mean(), exponent, np.exp(shift)]
        )

    everyone, options = np.arange(n), {"n_resamples": resamples, "rng": np.random.default_rng(seed)}
    found = stats.bootstrap((everyone,), estimates, vectorized=False, method="percentile", **options)
    bounds = found.confidence_interval
    effects = [
        Effect(*map(float, values))
        for values in zip(estimates(everyone), bounds.low, bounds.high, strict=True)
    ]
    low, high = np.quantile(a_length, [0.05, 0.95])
    in_common = float(((q_length >= low) & (q_length <= high)).mean())
    return NormComparison(*effects, lengths_in_common=in_common, n_questions=n)


def norms_block(folder: str | Path) -> str:
    """Write what HyperQA's page says about the records in a folder: a table, figures, commands."""
    records = [read_study(path, _KEYS) for path in sorted(Path(folder).glob("*.json"))]
    if not records:
        return "No comparison is recorded yet."
    header = ["", *EFFECTS.values(), "lengths in common", "questions"]
    return "\n\n".join([markdown_table(header, map(_row, records)), *map(_section, records)])


def _row(record: Mapping[str, Any]) -> list[str]:
    found = record["norms"]
    effects = [str(Effect(**found[name])) for name in EFFECTS]
    return [record["title"], *effects, f"{found['lengths_in_common']:.0%}", f"{found['n_questions']}"]


def _section(record: Mapping[str, Any]) -> str:
    levels = [
        [level["norms"], f"{level['words']:,}", " ".join(level["most_frequent"])]
        for level in record["words_by_level"]
    ]
    figures = "\n".join(f"![{record['title']}]({name})" for name in record["figures"])
    table = markdown_table(["norms of words", "words", "the most frequent"], levels)
    run = f"Word vectors {short_vectors(record['embeddings'])}, seed {record['seed']}:"
    return "\n\n".join([f"### {record['title']}", figures, table, f"{run}\n`{record['command']}`."])
