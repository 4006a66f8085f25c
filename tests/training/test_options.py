import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.training import (
    FitOptions,
    HardestNegativeOptions,
    ListwiseOptions,
    PairwiseOptions,
    PointwiseOptions,
)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (FitOptions, {"epochs": -1}),
        (FitOptions, {"learning_rate": 0}),
        (PairwiseOptions, {"margin": 0}),
        (PointwiseOptions, {"batch_size": 0}),
        (ListwiseOptions, {"max_candidates": 1}),
        (HardestNegativeOptions, {"sampled_negatives": 0}),
    ],
)
def test_options_out_of_range_are_the_user_s_to_change(kind, option):
    ((name, value),) = option.items()
    with pytest.raises(UserError, match=rf"{name} must be .*Received: {value}"):
        kind(**option)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PairwiseOptions, {"eq9": "both"}, "eq9 must be one of .*Received: 'both'"),
        (PairwiseOptions, {"own_negatives": 0, "foreign_negatives": 0}, "must not both be 0"),
        (HardestNegativeOptions, {"negatives_from": "owns"}, "negatives_from must be one of .*'owns'"),
        (HardestNegativeOptions, {"reduction": "avg"}, "reduction must be one of .*Received: 'avg'"),
        (HardestNegativeOptions, {"share_negatives": True, "negatives_from": "own"}, "choose one of them"),
    ],
)
def test_options_that_exclude_each_other(kind, options, message):
    with pytest.raises(UserError, match=message):
        kind(**options)
