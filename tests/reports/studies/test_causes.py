"""Causes of results below the printed values, on made-up records."""

import pytest

from answer_ranking.reports.studies.causes import OPEN, RULED_OUT, SUPPORTED, WORSE, verdict


@pytest.mark.parametrize(
    ("gain", "noise", "gap", "expected"),
    [
        (0.02, 0.01, 0.05, SUPPORTED),
        (-0.02, 0.01, 0.05, WORSE),
        (0.005, 0.01, 0.05, RULED_OUT),
        (-0.005, 0.01, 0.05, RULED_OUT),
        (0.005, 0.05, 0.05, OPEN),
    ],
)
def test_verdicts(gain, noise, gap, expected):
    assert verdict(gain, noise, gap) == expected
