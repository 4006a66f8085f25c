import pytest

from answer_ranking.evaluation.tables import format_difference


@pytest.mark.parametrize(
    ("scale", "printed", "expected"),
    [(1, "0.712", "-0.004"), (100, "71.2", "-0.4"), (1, "0.7012", "+0.0068")],
)
def test_a_difference_has_its_sign_and_the_printed_digits(scale, printed, expected):
    assert format_difference({"mean": 0.708}, printed, scale=scale) == expected
