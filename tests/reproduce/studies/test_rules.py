"""The baselines' script on the sample, and on the real data the values that papers print."""

import re

import numpy as np
import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.evaluation import (
    METRICS,
    evaluate_ranking,
    expected_random_ranking,
    load_records,
    summarise,
)
from answer_ranking.evaluation.rules import measure_rules
from answer_ranking.reproduce.studies.rules import Config, main


@pytest.fixture
def rows_of(real):
    def measured(name, rule="answerable", tie_seeds=5):
        dataset = real(name)
        rows = measure_rules(dataset.test, dataset.description, tie_seeds)
        return {row: summarise(table, rule) for row, table in rows.items()}

    return measured


def test_records_hold_what_was_measured_and_printed(tmp_path, capsys):
    main(Config(dataset="sample", tie_seeds=3, record="rules/sample", results=tmp_path))
    printed = capsys.readouterr().out
    records = {record.model: record for record in load_records(tmp_path)}
    assert set(records) == {"Random", "RR", "WO", "WO+RR", "IDF-WO", "BM25"}
    assert {name for name, record in records.items() if record.main} == {"Random", "RR", "WO", "WO+RR"}
    speeds = {name: record.questions_per_second for name, record in records.items()}
    assert speeds["Random"] is None and speeds["RR"] is None and speeds["WO"] > speeds["BM25"] > 0
    dataset = load_dataset("sample")
    for split, key in (("test", "metrics"), ("dev", "metrics_dev")):
        measured = measure_rules(getattr(dataset, split), dataset.description, 3)
        for name, record in records.items():
            expected = summarise(measured[name], "answerable")
            found = {metric: each["mean"] for metric, each in getattr(record, key).items()}
            assert found == pytest.approx(expected, abs=1e-6)
            assert (record.paper, record.parameters) == ("cosinet", 0)
    for name in ("Random", "WO", "BM25", "IDF-WO"):
        assert re.search(rf"^{re.escape(name)} +0\.\d{{4}}", printed, re.MULTILINE)
    assert "mean over 3 orders" in records["WO"].notes
    # The sample was written so that shared words alone do not solve it.
    assert records["WO"].metrics["map"]["mean"] <= 0.75


@pytest.mark.real_data
def test_original_order_on_wikiqa_gives_the_printed_values(rows_of):
    rows = rows_of("wikiqa")
    # Bonadiman & Moschitti (2020), Tables 2 and 4: RR 64.21 / 46.09.
    assert round(rows["RR"]["map"], 4) == 0.6421
    assert round(rows["RR"]["p@1"], 4) == 0.4609
    # WO+RR is printed as 68.25 / 69.43 / 56.38, WO as 51.02 / 51.24 / 32.51; the latter is what ties against
    # the correct answer give.
    assert rows["WO+RR"]["p@1"] == pytest.approx(0.5638, abs=5e-5)
    assert rows["WO+RR"]["map"] == pytest.approx(0.6825, abs=0.003)
    pessimistic = rows["WO, every tie against the correct answer"]
    assert pessimistic["p@1"] == pytest.approx(0.3251, abs=5e-5)
    assert pessimistic["map"] == pytest.approx(0.5102, abs=0.001)
    assert rows["WO"]["map"] > 0.59


@pytest.mark.real_data
def test_a_constant_scorer_gets_on_trecqa_what_a_random_one_gets(real):
    table = real("trecqa").test
    evaluations = [
        evaluate_ranking(table["question_id"], table["label"], np.zeros(len(table)), tie_seed=seed)
        for seed in range(60)
    ]
    expected = expected_random_ranking(evaluations[0]["n_correct"], evaluations[0]["n_wrong"])
    for rule in ("answerable", "clean", "all"):
        values = np.array([[summarise(each, rule)[metric] for metric in METRICS] for each in evaluations])
        standard_error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        deviation = values.mean(axis=0) - list(summarise(expected, rule).values())
        assert (abs(deviation) < 4 * standard_error).all()
    # While file order would give 1.
    in_order = evaluate_ranking(table["question_id"], table["label"], -np.arange(len(table)))
    assert summarise(in_order, "answerable")["map"] == 1.0


@pytest.mark.real_data
def test_a_perfect_ranking_of_trecqa_raw_has_map_0_937_where_all_questions_count(real):
    table = real("trecqa").test
    perfect = evaluate_ranking(table["question_id"], table["label"], table["label"])
    assert round(summarise(perfect, "all")["map"], 3) == 0.937
    assert len(perfect) == 95


@pytest.mark.real_data
def test_the_tie_trap_of_trecqa_is_shown(rows_of):
    rows = rows_of("trecqa")
    trap, reverse = (
        rows[f"WO, ties in {order}: do not use"]["map"] for order in ("file order", "reversed file order")
    )
    assert trap == pytest.approx(0.827, abs=5e-4)
    assert reverse == pytest.approx(0.649, abs=5e-4)
    assert reverse < rows["WO"]["map"] < trap
    assert rows["RR, file order: do not use"]["map"] == 1.0


def test_an_encoder_has_no_words_to_split_at_white_space():
    with pytest.raises(UserError, match="--white-space"):
        Config(dataset="sample", encoder="minilm", white_space=True)
