import numpy as np
import pytest
from scipy import stats

from answer_ranking.evaluation.norm_comparison import compare_norms, rank_correlation


def texts(n_questions=200, ratio=1.0, exponent=0.5, spread=0.1, seed=0):
    """Norms that follow norm = ratio (of questions) * length^exponent * noise; answers are longer texts."""
    rng = np.random.default_rng(seed)
    question_lengths = rng.integers(4, 15, n_questions)
    owner = np.repeat(np.arange(n_questions), 5)
    answer_lengths = rng.integers(8, 40, len(owner))
    question_norms = ratio * question_lengths**exponent * np.exp(rng.normal(0, spread, n_questions))
    answer_norms = answer_lengths**exponent * np.exp(rng.normal(0, spread, len(owner)))
    return question_norms, question_lengths, answer_norms, answer_lengths, owner


def test_what_was_put_in_is_found_within_its_interval():
    found = compare_norms(*texts(ratio=1.3, exponent=0.7), resamples=500)
    for effect, truth in ((found.ratio_at_equal_length, 1.3), (found.length_exponent, 0.7)):
        assert effect.low < truth < effect.high
        assert effect.low < effect.estimate < effect.high
        assert effect.high - effect.low < 0.2
    assert found.n_questions == 200


def test_shorter_questions_have_smaller_norms_though_at_equal_length_there_is_no_difference():
    found = compare_norms(*texts(ratio=1.0, exponent=1.0), resamples=500)
    assert found.ratio.high < 1 and found.standardised.high < 0 and found.share_longer.high < 0.5
    assert found.ratio_at_equal_length.low < 1 < found.ratio_at_equal_length.high


def test_the_estimates_are_those_of_their_formulas():
    q, q_length, a, a_length, owner = texts(30, ratio=1.2)
    found = compare_norms(q, q_length, a, a_length, owner, resamples=50)
    pairs = np.log(q) - np.array([np.log(a[owner == i]).mean() for i in range(30)])
    assert found.ratio.estimate == pytest.approx(np.exp(pairs.mean()))
    assert found.standardised.estimate == pytest.approx(pairs.mean() / pairs.std(ddof=1))
    assert found.share_longer.estimate == (pairs > 0).mean()
    x = np.stack([np.ones(180), np.log([*q_length, *a_length]), np.repeat([1.0, 0.0], [30, 150])], axis=1)
    _, exponent, shift = np.linalg.lstsq(x, np.log([*q, *a]), rcond=None)[0]
    assert found.length_exponent.estimate == pytest.approx(exponent)
    assert found.ratio_at_equal_length.estimate == pytest.approx(np.exp(shift))
    low, high = np.quantile(a_length, [0.05, 0.95])
    assert found.lengths_in_common == pytest.approx(((q_length >= low) & (q_length <= high)).mean())


def test_texts_without_words_take_no_part():
    whole = texts(50)
    q, q_length, a, a_length, owner = (array.copy() for array in whole)
    q[3], q_length[3] = 0, 0
    a[owner == 7] = 0
    kept = ~np.isin(np.arange(50), [3, 7])
    rows = ~np.isin(owner, [3, 7])
    index = np.cumsum(kept) - 1
    expected = compare_norms(
        q[kept], q_length[kept], a[rows], a_length[rows], index[owner[rows]], resamples=50
    )
    assert compare_norms(q, q_length, a, a_length, owner, resamples=50) == expected
    assert expected.n_questions == 48


def test_what_does_not_go_together_is_refused():
    q, q_length, a, a_length, owner = texts(10)
    with pytest.raises(ValueError, match="must go together"):
        compare_norms(q, q_length[1:], a, a_length, owner)
    with pytest.raises(ValueError, match="finite"):
        compare_norms(q * np.nan, q_length, a, a_length, owner)
    with pytest.raises(ValueError, match="at least three questions"):
        compare_norms(q[:2], q_length[:2], a[:10], a_length[:10], owner[:10])


def test_the_rank_correlation_is_scipys_and_its_interval_fishers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = np.round(x + rng.normal(size=400))  # with ties
    found = rank_correlation(x, y)
    assert found.estimate == pytest.approx(stats.spearmanr(x, y).statistic)
    half_width = 1.96 * np.sqrt(
        (1 + found.estimate**2 / 2) / (400 - 3)
    )  # Bonett and Wright, on the scale of atanh
    expected = np.tanh(np.arctanh(found.estimate) + np.array([-half_width, half_width]))
    np.testing.assert_allclose([found.low, found.high], expected, atol=0.03)
    with pytest.raises(ValueError, match="at least 3"):
        rank_correlation([1, 2], [1, 2])
