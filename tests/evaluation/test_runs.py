import numpy as np
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import compare_runs, read_qrels, read_run, write_qrels, write_run


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
    (tmp_path / "run").write_text("q1 Q0 a 1 0.5 tag\nq1 Q0 b 2 half tag\n")
    with pytest.raises(UserError, match=r"run, line 2: expected 'question Q0"):
        read_run(tmp_path / "run")
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b yes\n")
    with pytest.raises(UserError, match=r"qrels, line 2: expected 'question 0 candidate label'"):
        read_qrels(tmp_path / "qrels")
    for read in (read_run, read_qrels):
        with pytest.raises(UserError, match=r"absent does not exist"):
            read(tmp_path / "absent")


def test_ranks_say_nothing_as_in_trec_eval(tmp_path):
    (tmp_path / "run").write_text("q1 Q0 a none 0.5 tag\nq1 Q0 b 1 0.25 tag\n")
    assert read_run(tmp_path / "run")["score"].tolist() == [0.5, 0.25]
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b 0\n")
    assert compare_runs(tmp_path / "run", tmp_path / "qrels").table.loc["mrr", "run"] == 1
