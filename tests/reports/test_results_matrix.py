"""The verdicts on printed values, against t tests by SciPy."""

import numpy as np
import pytest
from made_records import made_record
from scipy import stats

from answer_ranking.evaluation.metrics import spreads
from answer_ranking.evaluation.papers import read_papers
from answer_ranking.reports.results import results_document
from answer_ranking.reports.results_matrix import counted, results_matrix, verdict

PAPERS = read_papers()
# HyperQA's Table 2 prints a MAP of 0.712 and an MRR of 0.727.
MAP, MRR = 0.712, 0.727


def of_seeds(mean, deviation, seeds=5):
    """Sum up seeds with this mean and standard deviation."""
    values = np.linspace(-1, 1, seeds)
    values *= deviation / values.std(ddof=1)
    return spreads({"x": (mean + values).tolist()})["x"]


@pytest.mark.parametrize("deviation", [0.002, 0.01, 0.03])
@pytest.mark.parametrize("shift", [-0.05, -0.02, -0.012, -0.004, 0.0, 0.004, 0.012, 0.05])
def test_a_verdict_is_that_of_a_t_test_against_the_printed_value(shift, deviation):
    measured = of_seeds(MAP + shift, deviation)
    differs = stats.ttest_1samp(measured["per_seed"], MAP).pvalue < 0.05
    low, _ = stats.t.interval(0.95, 4, MAP + shift, deviation / np.sqrt(5))
    expected = "reproduced"
    if differs and shift > 0:
        expected = "above"
    elif differs:
        expected = "within 0.02" if low >= MAP - 0.02 else "short"
    assert verdict(MAP, measured) == expected
    assert verdict(MAP, measured, same_edition=False) == "other edition"


@pytest.mark.parametrize("values", [[0.1], [0.712], [0.9], [0.65, 0.67], [0.3, 0.31]])
def test_one_seed_or_two_are_not_judged(values):
    assert verdict(MAP, spreads({"x": values})["x"]) == "few seeds"


def test_a_row_is_judged_by_map_and_by_mrr():
    metrics = {"map": of_seeds(MAP + 0.05, 0.001), "mrr": of_seeds(MRR - 0.05, 0.001)}
    record = made_record(main=True, metrics=metrics)
    matrix = results_matrix([record], PAPERS)
    (row,) = matrix.to_dict("records")
    assert (row["metric"], row["printed"], row["verdict"]) == ("MAP", "0.712", "above")
    assert (row["MRR, printed"], row["MRR, verdict"]) == ("0.727", "short")
    assert counted(matrix) == {"above": 1} and counted(matrix, "MRR, verdict") == {"short": 1}
    page = " ".join(results_document([record], PAPERS).split())
    assert "answers: 1 above. By MRR, where it is printed beside MAP: 1 short." in page


def test_a_row_whose_metric_is_mrr_is_judged_once():
    # Cosinet's Table 5 prints P@1 and MRR.
    squad = {"paper": "cosinet", "dataset": "squad-sent", "protocol": "answerable", "model": "CA list"}
    record = made_record(**squad, main=True, metrics={"mrr": of_seeds(0.9069, 0.001)})
    (row,) = results_matrix([record], PAPERS).to_dict("records")
    assert (row["metric"], row["printed"], row["verdict"]) == ("MRR", "0.9069", "reproduced")
    assert row["MRR, printed"] == row["MRR, verdict"] == ""
