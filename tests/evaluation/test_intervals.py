import numpy as np
import pytest
from scipy import stats

from evaluation import mean_confidence_interval


def test_equals_scipys_interval():
    values = [0.701, 0.716, 0.709, 0.722, 0.698]
    mean, half_width = mean_confidence_interval(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (mean - half_width, mean + half_width) == pytest.approx((expected.low, expected.high))


def test_equals_the_textbook_value_for_five_values():
    # t(0.975, 4) = 2.7764 (any table of Student's t); the values have standard deviation sqrt(2.5).
    mean, half_width = mean_confidence_interval([1, 2, 3, 4, 5])
    assert mean == 3
    assert half_width == pytest.approx(2.7764 * np.sqrt(2.5 / 5), abs=1e-4)


def test_one_value_has_no_interval():
    mean, half_width = mean_confidence_interval([0.7])
    assert mean == 0.7
    assert np.isnan(half_width)


@pytest.mark.parametrize(("values", "level"), [([], 0.95), ([0.1, 0.2], 1.0)])
def test_nonsense_is_refused(values, level):
    with pytest.raises(ValueError, match="Received"):
        mean_confidence_interval(values, level)
