"""The metrics of the retrieval study, its table and its page."""

import pandas as pd
import pytest

from answer_ranking.evaluation.retrieval_metrics import compare, measure
from answer_ranking.reports.studies.retrieval_page import results_table


def ranking(**questions):
    columns = {"question_id": list(questions), "candidate_id": list(questions.values())}
    table = pd.DataFrame(columns).explode("candidate_id")
    return table.assign(rank=table.groupby("question_id").cumcount() + 1)


def test_recall_and_reciprocal_rank():
    other = [f"x{i}" for i in range(200)]
    found = ranking(
        first=["a", *other[:50]],
        tenth=[*other[:9], "a", *other[9:50]],
        eleventh=[*other[:10], "a", "b"],
        late=[*other[:100], "a"],
    )
    correct = {"first": {"a": 1, "b": 1}, "tenth": {"a": 1}, "eleventh": {"a": 1, "b": 1}, "late": {"a": 1}}
    table = measure(found, {**correct, "nothing": {"a": 1}})
    assert table.to_numpy().tolist() == [
        [0.5, 0.5, 0.5, 1.0],
        [0.0, 1.0, 1.0, 0.1],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]


@pytest.fixture
def conditions():
    correct = {f"q{i}": {"a": 1} for i in range(12)}
    good, bad = (
        measure(ranking(**dict.fromkeys(correct, order)), correct) for order in (["a", "b"], ["b", "a"])
    )
    measured = {"BM25": [bad], "HyperQA": [good, good], "Cosinet": [bad, bad]}
    rows = compare({name: {"dev": each, "test": each} for name, each in measured.items()})
    return [{"system": name, **row, "milliseconds": 1.0} for name, row in rows.items()]


def test_every_system_is_tested_against_bm25(conditions):
    bm25, hyperqa, cosinet = conditions
    assert "p" not in bm25 and cosinet["p"] == 1.0
    # Of 2^12 patterns of signs two are as extreme; Holm's correction over two systems doubles that.
    assert hyperqa["p"] == pytest.approx(2 * 2 / 2**12)
    assert hyperqa["metrics"]["mrr@10"] == {"mean": 1.0, "ci95": 0.0, "per_seed": [1.0, 1.0]}
    assert bm25["metrics"]["mrr@10"] == {"mean": 0.5, "ci95": None, "per_seed": [0.5]}
    assert results_table(conditions).splitlines()[3].split()[:2] == ["HyperQA", "1.000"]
