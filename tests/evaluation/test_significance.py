import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from answer_ranking.evaluation import (
    holm_correction,
    mean_confidence_interval,
    paired_randomisation_test,
)
from answer_ranking.evaluation.significance import crossed_test


def test_equals_the_enumeration_of_all_sign_patterns():
    rng = np.random.default_rng(0)
    a, b = rng.random(11), rng.random(11)
    sums = [abs(np.dot(signs, a - b)) for signs in itertools.product((-1, 1), repeat=11)]
    expected = np.mean(np.array(sums) >= abs((a - b).sum()) - 1e-12)
    assert paired_randomisation_test(a, b) == pytest.approx(expected)


def test_random_patterns_come_close_to_scipys_t_test_on_many_questions():
    rng = np.random.default_rng(1)
    a = rng.normal(0.5, 0.3, 200)
    noise = rng.normal(0, 0.25, 200)
    b = a + noise - noise.mean() + 0.03
    expected = stats.ttest_rel(a, b).pvalue
    assert 0.05 < expected < 0.2
    assert paired_randomisation_test(a, b, permutations=20_000) == pytest.approx(expected, abs=0.015)


def test_random_patterns_never_give_zero_and_repeat_with_the_seed():
    a = np.linspace(0.5, 1, 60)
    p = paired_randomisation_test(a, a - 0.4, permutations=999, seed=3)
    assert p == pytest.approx(1 / 1000)
    assert p == paired_randomisation_test(a, a - 0.4, permutations=999, seed=3)


@pytest.mark.parametrize("b", [[0.1], [0.1, np.nan]])
def test_unpaired_or_missing_values_are_refused(b):
    with pytest.raises(ValueError, match="Received"):
        paired_randomisation_test([0.1, 0.2], b)


def test_holm_on_a_worked_example():
    # Sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, and .04 may not fall below .06.
    np.testing.assert_allclose(holm_correction([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.001, 0.999))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values, level):
    rejected = set()
    order = np.argsort(p_values, kind="stable")
    for step, i in enumerate(order):
        if p_values[i] * (len(p_values) - step) > level:
            break
        rejected.add(i)
    assert set(np.flatnonzero(holm_correction(p_values) <= level)) == rejected


def test_holm_refuses_what_is_no_p_value():
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm_correction([0.5, 1.5])


def test_a_single_difference_says_nothing():
    # Both sign patterns are as extreme as the one that was seen.
    assert paired_randomisation_test([0.5, 0.9], [0.5, 0.1]) == 1.0
    assert paired_randomisation_test([1.0], [0.0]) == 1.0


def test_equals_scipys_interval():
    values = [0.701, 0.716, 0.709, 0.722, 0.698]
    mean, half_width = mean_confidence_interval(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (mean - half_width, mean + half_width) == pytest.approx((expected.low, expected.high))


def test_one_value_has_no_interval():
    mean, half_width = mean_confidence_interval([0.7])
    assert mean == 0.7
    assert np.isnan(half_width)


def searches(rng, questions, n_searches, of_search):
    """Simulate a ranker's metric: effects of question, search, seed of a search, and the rest."""
    own = questions + rng.normal(0, 0.1, len(questions))
    found = []
    for effect in rng.normal(0, of_search, n_searches):
        seeds = rng.normal(0, 0.01, (10, 1)) + rng.normal(0, 0.1, (10, len(questions)))
        found.append(own + effect + seeds)
    return found


def coverage(n_searches, of_search):
    """How often the interval of the crossed test holds the true difference."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(800):
        questions = rng.normal(0.6, 0.3, 100)
        a, b = (searches(rng, questions, n_searches, of_search) for _ in "ab")
        found = crossed_test([each + 0.05 for each in a], b)
        covered.append(abs(found.difference - 0.05) <= found.ci95)
    return np.mean(covered)


@pytest.mark.parametrize(("n_searches", "of_search"), [(3, 0.0), (3, 0.03), (5, 0.02), (1, 0.0)])
def test_the_crossed_interval_covers_the_true_difference(n_searches, of_search):
    # 95 %, and at most 1.5 % above or 2 % below it, which is 2.6 standard errors of 800 trials.
    assert 0.93 <= coverage(n_searches, of_search) <= 0.975


def test_with_one_search_the_crossed_interval_leaves_the_spread_over_searches_out():
    assert coverage(1, 0.03) < 0.8


def test_the_crossed_test_is_welch_s_without_questions_effects():
    rng = np.random.default_rng(3)
    # Every question has the same values: what is left are the seeds of two independent samples.
    a, b = (np.tile(rng.normal(0.5, 0.1, (10, 1)), (1, 30)) for _ in "ab")
    found = crossed_test([a], [b])
    expected = stats.ttest_ind(a[:, 0], b[:, 0], equal_var=False)
    assert found.p == pytest.approx(expected.pvalue)
    assert crossed_test([b], [a]).p == pytest.approx(found.p)


def test_the_crossed_test_refuses_other_questions_and_single_seeds():
    with pytest.raises(ValueError, match="other questions"):
        crossed_test([np.ones((2, 3))], [np.ones((2, 4))])
    with pytest.raises(ValueError, match="two seeds"):
        crossed_test([np.ones((1, 3))], [np.ones((2, 3))])
