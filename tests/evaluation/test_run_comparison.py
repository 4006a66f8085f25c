import itertools
import json

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from scipy import stats

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import compare_runs, paired_randomisation_test, write_qrels, write_run

MEASURES = {
    "map": ir_measures.AP,
    "mrr": ir_measures.RR,
    "p@1": ir_measures.P @ 1,
    "ndcg@10": ir_measures.nDCG @ 10,
    "recall@10": ir_measures.R @ 10,
    "recall@100": ir_measures.R @ 100,
    "success@5": ir_measures.Success @ 5,
    "success@10": ir_measures.Success @ 10,
}


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
    assert found.questions == len(counted) and found.unanswerable == 25 - len(counted)
    measured = found.runs["run"]
    assert (measured.unranked, measured.unjudged, measured.tied) == (1, 0, 0)
    assert list(found.table.index) == list(MEASURES)
    theirs = pd.DataFrame(ir_measures.iter_calc(MEASURES.values(), qrels, run))
    for metric, measure in MEASURES.items():
        values = theirs[theirs["measure"] == measure].set_index("query_id")["value"]
        values = values.reindex(counted).fillna(0.0)
        assert found.table.loc[metric, "run"] == pytest.approx(values.mean())
        interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert 2 * found.table.loc[metric, "run_ci95"] == pytest.approx(interval.high - interval.low)


def test_two_runs_are_tested_question_by_question(files):
    table = compare_runs(files / "run", files / "qrels", files / "other").table
    alone = [compare_runs(files / name, files / "qrels").table["run"] for name in ("run", "other")]
    np.testing.assert_allclose(table["difference"], alone[0] - alone[1])
    swapped = compare_runs(files / "other", files / "qrels", files / "run").table
    np.testing.assert_allclose(swapped["p"], table["p"])
    lines = (files / "other").read_text().splitlines()
    (files / "cut").write_text("\n".join(line for line in lines if line.split()[0] not in {"q1", "q2"}))
    found = compare_runs(files / "run", files / "qrels", files / "cut")
    assert [each.unranked for each in found.runs.values()] == [1, 3]
    assert "3 not ranked (counted as 0)" in str(found)
    same = compare_runs(files / "run", files / "qrels", files / "run")
    assert (same.table["p"] == 1).all() and (same.table["difference"] == 0).all()
    assert "difference" in str(same)


def test_the_test_is_that_of_the_differences_and_ties_cannot_favour_the_file_s_order(tmp_path):
    questions, candidates = np.repeat([f"q{i}" for i in range(40)], 2).tolist(), list("ab") * 40
    write_qrels(tmp_path / "qrels", questions, candidates, [1, 0] * 40)
    lines = [f"{q} Q0 {c} 1 0.5 tied" for q, c in zip(questions, candidates, strict=True)]
    (tmp_path / "tied").write_text("\n".join(lines) + "\n")
    write_run(tmp_path / "good", questions, candidates, [1.0, 0.0] * 40)
    found = compare_runs(tmp_path / "tied", tmp_path / "qrels", tmp_path / "good")
    assert [each.tied for each in found.runs.values()] == [40, 0]
    assert 0.3 < found.table.loc["p@1", "run"] < 0.7
    first = round(found.table.loc["p@1", "run"] * 40)
    expected = paired_randomisation_test([1.0] * first + [0.0] * (40 - first), [1.0] * 40)
    assert found.table.loc["p@1", "p"] == pytest.approx(expected)


def test_graded_labels_are_gains_as_in_trec_eval(tmp_path):
    labels = {"q1": {"a": 3, "b": 1, "c": 0, "d": -1}, "q2": {"a": 0, "b": 2}}
    scores = {"q1": {"a": 0.2, "b": 0.9, "c": 0.1, "d": 0.5}, "q2": {"a": 0.9, "b": 0.2}}
    for name, rows, line in (("qrels", labels, "{} 0 {} {}"), ("run", scores, "{} Q0 {} 1 {} t")):
        lines = []
        for question, values in rows.items():
            lines += [line.format(question, *each) for each in values.items()]
        (tmp_path / name).write_text("\n".join(lines))
    found = compare_runs(tmp_path / "run", tmp_path / "qrels").table["run"]
    measures = {"map": "map", "mrr": "recip_rank", "ndcg@10": "ndcg_cut_10"}
    theirs = pytrec_eval.RelevanceEvaluator(labels, set(measures.values())).evaluate(scores)
    for ours, name in measures.items():
        assert found[ours] == pytest.approx(np.mean([theirs[q][name] for q in labels]))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_or_two_questions_have_no_interval(tmp_path, n):
    questions = [f"q{i // 2}" for i in range(2 * n)]
    write_qrels(tmp_path / "qrels", questions, list("ab") * n, [1, 0] * n)
    write_run(tmp_path / "run", questions, list("ab") * n, [0.2, 0.1] * (n - 1) + [0.1, 0.2])
    found = compare_runs(tmp_path / "run", tmp_path / "qrels")
    assert found.table["run_ci95"].isna().all() == (n < 3)
    assert ("\u00b1" in str(found)) == (n == 3) and "nan" not in str(found)


@pytest.fixture
def unjudged(tmp_path):
    """A run of three questions, one of them without judgements, and twelve candidates, some judged."""
    ranked = itertools.product(("q1", "q2", "new"), range(12))
    rows = [f"{question} Q0 c{i} {i} {-i} t" for question, i in ranked]
    (tmp_path / "run").write_text("\n".join(rows))
    judged = ["q1 0 c0 1", "q1 0 c3 0", "q1 0 c11 1", "q2 0 c4 1", "q3 0 c1 0", "q4 0 c1 1"]
    (tmp_path / "qrels").write_text("\n".join(judged))
    return compare_runs(tmp_path / "run", tmp_path / "qrels")


def test_what_has_no_judgement_is_counted_aloud(unjudged):
    measured = unjudged.runs["run"]
    assert (unjudged.questions, unjudged.unanswerable) == (3, 1)
    assert (measured.unjudged, measured.unranked) == (1, 1)
    # Of the first ten of q1 two are judged, of q2 one; q4 is not ranked.
    assert measured.per_question["judged@10"].tolist() == pytest.approx([0.2, 0.1, np.nan], nan_ok=True)
    assert "judged@10 0.1500" in str(unjudged) and "1 ranked without judgements" in str(unjudged)


def test_every_question_and_json(unjudged):
    table = unjudged.per_question
    assert table["question_id"].tolist() == ["q1", "q2", "q4"] and set(table["run"]) == {"run"}
    assert table["mrr"].tolist() == [1, 0.2, 0] and table["recall@10"].tolist() == [0.5, 1, 0]
    found = json.loads(unjudged.to_json(per_question=True))
    assert found["metrics"]["mrr"]["run"] == pytest.approx(0.4)
    assert found["runs"]["run"] == {"judged@10": pytest.approx(0.15), "unranked": 1, "unjudged": 1, "tied": 0}
    assert [row["mrr"] for row in found["per_question"]] == [1, 0.2, 0]
    assert found["per_question"][2]["judged@10"] is None
    assert "per_question" not in json.loads(unjudged.to_json())


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ("q9 Q0 a 1 0.5 t", "q1 0 a 1", r"ranks no question that counts"),
        ("q1 Q0 a 1 0.5 t\nq1 Q0 a 2 0.4 t", "q1 0 a 1", r"two candidates with the id 'a'"),
        ("q1 Q0 a 1 nan t", "q1 0 a 1", r"run: scores must be finite"),
        ("q1 Q0 a 1 0.5 t", "q1 0 a 4294967297", r"qrels: the label 4294967297 is too large"),
        ("q1 Q0 a\0b 1 0.5 t", "q1 0 a 1", r"run, line 1: expected"),
        ("q1 Q0 a 1 0.5 t", "q1 0 a 0", r"qrels: no question has a correct answer"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(tmp_path, run, qrels, message):
    (tmp_path / "run").write_text(run + "\n")
    (tmp_path / "qrels").write_text(qrels + "\n")
    with pytest.raises(UserError, match=message):
        compare_runs(tmp_path / "run", tmp_path / "qrels")
