"""The baselines' script on the sample, and on the real data the values that papers print."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data_prep import UserError, load_dataset
from evaluation import METRICS, evaluate_ranking, expected_random_ranking, summarise
from evaluation.paper_results import read_paper_results
from evaluation.records import load_records
from evaluation.report import readme_table
from evaluation.results_document import results_document
from reproduce.lexical_baselines import LexicalBaselinesConfig, main, measure_baselines

ROOT = Path(__file__).parents[2]


def real(name):
    if "QA_DATA_HOME" not in os.environ:
        pytest.skip("QA_DATA_HOME is not set: the real data sets are not at hand")
    try:
        return load_dataset(name)
    except UserError as error:
        pytest.skip(str(error))


def rows_of(dataset, tie_seeds=5, **wanted):
    rows = measure_baselines(LexicalBaselinesConfig(dataset=dataset, tie_seeds=tie_seeds))
    return {row["baseline"]: row for row in rows if all(row[key] == value for key, value in wanted.items())}


def test_the_sample_is_measured_printed_as_sample_and_written(tmp_path, capsys):
    main(LexicalBaselinesConfig(dataset="sample", tie_seeds=3, output=tmp_path))
    printed = capsys.readouterr().out
    assert re.search(r"sample, test, filtered: \d+ questions with a correct answer", printed, re.IGNORECASE)
    written = json.loads((tmp_path / "sample.json").read_text())
    names = {row["baseline"] for row in written["rows"]}
    assert {"Random", "RR", "WO", "WO+RR", "IDF-WO", "BM25"} <= names
    for row in written["rows"]:
        assert all(0 <= row[metric] <= 1 for metric in METRICS)
        assert row["paper"] == {}


def test_records_hold_what_was_measured_and_fill_the_rows_of_a_report(tmp_path):
    config = LexicalBaselinesConfig(
        dataset="sample", tie_seeds=3, output=tmp_path, record=True, results=tmp_path / "results"
    )
    main(config)
    measured = rows_of("sample", tie_seeds=3, split="test")
    in_dev = rows_of("sample", tie_seeds=3, split="dev")
    records = {record.model: record for record in load_records(tmp_path / "results")}
    assert set(records) == {"Random", "RR", "WO", "WO+RR"}
    for name, record in records.items():
        assert (record.paper, record.parameters, record.main) == ("cosinet", 0, True)
        for metric in METRICS:
            assert record.metrics[metric]["mean"] == measured[name][metric]
            assert record.metrics_dev[metric]["mean"] == in_dev[name][metric]
    assert "against the correct answer" in records["WO"].notes
    assert "mean over 3 orders" in records["WO"].notes

    # The report leaves the sample out, and shows the same on WikiQA in every table that prints the rule.
    records = [replace(record, dataset="wikiqa") for record in records.values()]
    paper_results = read_paper_results(ROOT / "reproduce" / "paper_results.csv")
    document = results_document(records, paper_results)
    for name, tables in (("Random", 1), ("RR", 2), ("WO", 2), ("WO+RR", 2)):
        cell = f"{100 * measured[name]['map']:.2f}"
        rows = [line for line in document.splitlines() if line.startswith(f"| {name} |") and cell in line]
        assert len(rows) == tables, name
    # Rules have no parameters and no place in the README.
    assert readme_table(records, paper_results) == "No result is recorded yet."


def test_word_overlap_alone_stays_low_on_the_sample_as_it_was_written_to():
    assert rows_of("sample", split="test")["WO"]["map"] <= 0.75


def test_an_unknown_data_set_and_a_bad_option_end_with_code_2():
    for options, message in (
        (["--dataset", "nope"], r"error: unknown data set 'nope'"),
        (["--dataset", "sample", "--tie-seeds", "0"], r"error: --tie-seeds must be at least 1"),
    ):
        command = [sys.executable, "reproduce/lexical_baselines.py", *options]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 2
        assert re.match(message, done.stderr)


@pytest.mark.real_data
def test_original_order_on_wikiqa_gives_the_printed_values():
    real("wikiqa")
    rows = rows_of("wikiqa", split="test")
    # Bonadiman & Moschitti (2020), Tables 2 and 4: RR 64.21 / 46.09.
    assert round(rows["RR"]["map"], 4) == 0.6421
    assert round(rows["RR"]["p@1"], 4) == 0.4609
    assert rows["RR"]["n_questions"] == 243
    assert rows["RR"]["paper"] == {"map": 0.6421, "mrr": 0.6426, "p@1": 0.4609}
    # WO+RR is printed as 68.25 / 69.43 / 56.38, WO as 51.02 / 51.24 / 32.51; the latter is what ties against
    # the correct answer give.
    assert rows["WO+RR"]["p@1"] == pytest.approx(0.5638, abs=5e-5)
    assert rows["WO+RR"]["map"] == pytest.approx(0.6825, abs=0.003)
    pessimistic = rows["WO, every tie against the correct answer"]
    assert pessimistic["p@1"] == pytest.approx(0.3251, abs=5e-5)
    assert pessimistic["map"] == pytest.approx(0.5102, abs=0.001)
    assert rows["WO"]["map"] > 0.59


@pytest.mark.real_data
def test_a_constant_scorer_gets_on_trecqa_what_a_random_one_gets():
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
def test_a_perfect_ranking_of_trecqa_raw_has_map_0_937_where_all_questions_count():
    table = real("trecqa").test
    perfect = evaluate_ranking(table["question_id"], table["label"], table["label"])
    assert round(summarise(perfect, "all")["map"], 3) == 0.937
    assert len(perfect) == 95


@pytest.mark.real_data
def test_the_tie_trap_of_trecqa_is_shown():
    real("trecqa")
    rows = rows_of("trecqa", split="test", protocol="raw", rule="answerable")
    trap, reverse = (
        rows[f"WO, ties in {order}: do not use"]["map"] for order in ("file order", "reversed file order")
    )
    assert trap == pytest.approx(0.827, abs=5e-4)
    assert reverse == pytest.approx(0.649, abs=5e-4)
    assert reverse < rows["WO"]["map"] < trap
    assert rows["RR, file order: do not use"]["map"] == 1.0
