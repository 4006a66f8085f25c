import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from scipy import stats

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import (
    METRICS,
    compare_runs,
    paired_randomisation_test,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)


def test_a_run_is_read_back_with_its_float32_scores(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=50) * 10.0 ** rng.integers(-20, 20, 50)
    candidates = [f"c{i}" for i in range(50)]
    write_run(tmp_path / "run", ["q1"] * 25 + ["q2"] * 25, candidates, scores, tag="test")
    run = read_run(tmp_path / "run").set_index("candidate_id")
    np.testing.assert_array_equal(run.loc[candidates, "score"].astype(np.float32), scores.astype(np.float32))
    for _, ranked in run.groupby("question_id"):
        assert ranked["rank"].tolist() == list(range(1, 26))
        assert (np.diff(ranked["score"]) < 0).all()
    assert set(run["tag"]) == {"test"}


def test_ties_are_set_apart_by_the_least_step(tmp_path):
    scores = np.array([0.5, 0.5, 0.5, np.nextafter(np.float32(0.5), np.float32(0))])
    write_run(tmp_path / "run", ["q"] * 4, list("abcd"), scores)
    run = read_run(tmp_path / "run")
    assert (np.diff(run["score"]) < 0).all()
    assert run["candidate_id"].iloc[-1] == "d"
    np.testing.assert_allclose(run["score"], 0.5, rtol=1e-6)


def test_files_are_what_ir_measures_reads(tmp_path):
    write_run(tmp_path / "run", ["q1", "q1"], ["a", "b"], [0.25, 2.0])
    write_qrels(tmp_path / "qrels", ["q1", "q1"], ["a", "b"], [1, 0])
    run = [(r.query_id, r.doc_id, r.score) for r in ir_measures.read_trec_run(str(tmp_path / "run"))]
    qrels = [
        (r.query_id, r.doc_id, r.relevance) for r in ir_measures.read_trec_qrels(str(tmp_path / "qrels"))
    ]
    assert run == [("q1", "b", 2.0), ("q1", "a", 0.25)]
    assert qrels == [("q1", "a", 1), ("q1", "b", 0)]


def test_columns_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"parallel.*\[2, 2, 1\]"):
        write_run(tmp_path / "run", ["q", "q"], ["a", "b"], [0.5])
    with pytest.raises(ValueError, match=r"must be 0 or 1.*2"):
        write_qrels(tmp_path / "qrels", ["q", "q"], ["a", "b"], [2, 1])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("questions", "candidates", "message"),
    [
        (["q 1", "q1"], ["a", "b"], r"question id of row 1 is 'q 1'"),
        (["q1", "q1"], ["a", "b\u00a0c"], r"candidate id of row 2"),
        (["q1", "q1"], ["a", ""], r"candidate id of row 2 is ''"),
        (["q1", "q1"], ["a", "a"], r"two candidates with the id 'a'"),
    ],
)
def test_ids_that_the_format_cannot_hold_are_refused_and_nothing_is_written(
    tmp_path, questions, candidates, message
):
    with pytest.raises(UserError, match=message):
        write_run(tmp_path / "run", questions, candidates, [0.0, 1.0])
    with pytest.raises(UserError, match=message):
        write_qrels(tmp_path / "qrels", questions, candidates, [0, 1])
    assert list(tmp_path.iterdir()) == []


def test_a_malformed_line_is_named(tmp_path):
    (tmp_path / "run").write_text("q1 Q0 a 1 0.5 tag\nq1 Q0 b two 0.5 tag\n")
    with pytest.raises(UserError, match=r"run, line 2: expected 'question Q0"):
        read_run(tmp_path / "run")
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b yes\n")
    with pytest.raises(UserError, match=r"qrels, line 2: expected 'question 0 candidate label'"):
        read_qrels(tmp_path / "qrels")
    for read in (read_run, read_qrels):
        with pytest.raises(UserError, match=r"absent does not exist"):
            read(tmp_path / "absent")


MEASURES = dict(
    zip(METRICS, (ir_measures.AP, ir_measures.RR, ir_measures.P @ 1, ir_measures.nDCG @ 10), strict=True)
)


@pytest.fixture
def files(tmp_path):
    """Two runs and their relevance file; the runs miss some candidates, and one question each."""
    rng = np.random.default_rng(1)
    questions = np.repeat([f"q{i}" for i in range(25)], 12)
    candidates = [f"c{i}" for i in range(300)]
    labels = (rng.random(300) < 0.2).astype(int)
    write_qrels(tmp_path / "qrels", questions.tolist(), candidates, labels)
    for name, missing in (("run", "q3"), ("other", "q4")):
        rows = np.flatnonzero((rng.random(300) < 0.9) & (questions != missing))
        scores = labels[rows] + rng.normal(0, 1.5, len(rows))
        write_run(tmp_path / name, questions[rows].tolist(), [candidates[row] for row in rows], scores)
    return tmp_path


def test_a_run_file_gets_the_values_of_trec_eval_with_intervals(files):
    found = compare_runs(files / "run", files / "qrels")
    run, qrels = (
        pd.DataFrame(read(str(files / name)))
        for read, name in ((ir_measures.read_trec_run, "run"), (ir_measures.read_trec_qrels, "qrels"))
    )
    counted = qrels[qrels["relevance"] > 0]["query_id"].unique()
    assert found.questions == len(counted) and found.unranked == (1,) and found.tied == (0,)
    theirs = pd.DataFrame(ir_measures.iter_calc(MEASURES.values(), qrels, run))
    for metric, measure in MEASURES.items():
        values = theirs[theirs["measure"] == measure].set_index("query_id")["value"]
        values = values.reindex(counted).fillna(0.0)
        assert found.table.loc[metric, "run"] == pytest.approx(values.mean())
        interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert 2 * found.table.loc[metric, "run_ci95"] == pytest.approx(interval.high - interval.low)
    assert f"{len(counted)} questions. run: 1 not ranked (counted as 0), ties in 0" in str(found)


def test_two_runs_are_tested_question_by_question(files):
    table = compare_runs(files / "run", files / "qrels", files / "other").table
    alone = [compare_runs(files / name, files / "qrels").table["run"] for name in ("run", "other")]
    np.testing.assert_allclose(table["difference"], alone[0] - alone[1])
    swapped = compare_runs(files / "other", files / "qrels", files / "run").table
    np.testing.assert_allclose(swapped["p"], table["p"])
    lines = (files / "other").read_text().splitlines()
    (files / "cut").write_text("\n".join(line for line in lines if line.split()[0] not in {"q1", "q2"}))
    found = compare_runs(files / "run", files / "qrels", files / "cut")
    assert found.unranked == (1, 3) and "against: 3 not ranked (counted as 0)" in str(found)
    same = compare_runs(files / "run", files / "qrels", files / "run")
    assert (same.table["p"] == 1).all() and (same.table["difference"] == 0).all()
    assert "difference" in str(same)


def test_the_test_is_that_of_the_differences_and_ties_cannot_favour_the_file_s_order(tmp_path):
    questions, candidates = [f"q{i}" for i in range(40) for _ in range(2)], list("ab") * 40
    write_qrels(tmp_path / "qrels", questions, candidates, [1, 0] * 40)
    lines = [f"{q} Q0 {c} 1 0.5 tied" for q, c in zip(questions, candidates, strict=True)]
    (tmp_path / "tied").write_text("\n".join(lines) + "\n")
    write_run(tmp_path / "good", questions, candidates, [1.0, 0.0] * 40)
    found = compare_runs(tmp_path / "tied", tmp_path / "qrels", tmp_path / "good")
    assert found.tied == (40, 0)
    assert 0.3 < found.table.loc["p@1", "run"] < 0.7
    first = round(found.table.loc["p@1", "run"] * 40)
    expected = paired_randomisation_test([1.0] * first + [0.0] * (40 - first), [1.0] * 40)
    assert found.table.loc["p@1", "p"] == pytest.approx(expected)


def test_graded_labels_are_gains_as_in_trec_eval(tmp_path):
    labels = {"q1": {"a": 3, "b": 1, "c": 0, "d": -1}, "q2": {"a": 0, "b": 2}}
    scores = {"q1": {"a": 0.2, "b": 0.9, "c": 0.1, "d": 0.5}, "q2": {"a": 0.9, "b": 0.2}}
    for name, rows, line in (("qrels", labels, "{} 0 {} {}"), ("run", scores, "{} Q0 {} 1 {} t")):
        lines = [line.format(q, candidate, value) for q in rows for candidate, value in rows[q].items()]
        (tmp_path / name).write_text("\n".join(lines))
    found = compare_runs(tmp_path / "run", tmp_path / "qrels").table["run"]
    measures = {"map": "map", "mrr": "recip_rank", "ndcg@10": "ndcg_cut_10"}
    theirs = pytrec_eval.RelevanceEvaluator(labels, set(measures.values())).evaluate(scores)
    for ours, name in measures.items():
        assert found[ours] == pytest.approx(np.mean([theirs[q][name] for q in labels]))


def test_one_question_has_no_interval(tmp_path):
    write_qrels(tmp_path / "qrels", ["q", "q"], ["a", "b"], [1, 0])
    write_run(tmp_path / "run", ["q", "q"], ["a", "b"], [0.2, 0.1])
    said = str(compare_runs(tmp_path / "run", tmp_path / "qrels"))
    assert "1.0000" in said and "nan" not in said


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ("q9 Q0 a 1 0.5 t", "q1 0 a 1", r"ranks no question that counts"),
        ("q1 Q0 a 1 0.5 t\nq1 Q0 a 2 0.4 t", "q1 0 a 1", r"two candidates with the id 'a'"),
        ("q1 Q0 a 1 nan t", "q1 0 a 1", r"run: scores must be finite"),
        ("q1 Q0 a 1 0.5 t", "q1 0 a 4294967297", r"qrels: the label 4294967297 is too large"),
        ("q1 Q0 a 1 0.5 t", f"q1 0 a {10**20}", r"the label 1000+ is too large"),
        ("q1 Q0 a\0b 1 0.5 t", "q1 0 a 1", r"run, line 1: expected"),
        ("q1 Q0 a 1 0.5 t", "q1 0 a 0", r"qrels: no question has a correct answer"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(tmp_path, run, qrels, message):
    (tmp_path / "run").write_text(run + "\n")
    (tmp_path / "qrels").write_text(qrels + "\n")
    with pytest.raises(UserError, match=message):
        compare_runs(tmp_path / "run", tmp_path / "qrels")
