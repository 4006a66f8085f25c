"""The metrics against trec_eval, closed forms and properties."""

import itertools

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.data_prep import Tokenizer, UserError, Vocabulary, encode_split, load_dataset
from answer_ranking.evaluation import (
    METRICS,
    evaluate_ranking,
    expected_random_ranking,
    measure,
    per_question,
    questions_that_count,
    summarise,
    write_qrels,
    write_run,
)

IR_MEASURES = {
    "map": ir_measures.AP,
    "mrr": ir_measures.RR,
    "p@1": ir_measures.P @ 1,
    "ndcg@10": ir_measures.nDCG @ 10,
}


@st.composite
def rankings(draw, levels=4):
    """Up to 6 questions of up to 14 candidates, labels at random, scores with many ties."""
    sizes = draw(st.lists(st.integers(1, 14), min_size=1, max_size=6))
    n = sum(sizes)
    questions = np.repeat([f"q{i}" for i in range(len(sizes))], sizes).tolist()
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(-levels, levels), min_size=n, max_size=n))
    return questions, np.array(labels), np.array(scores) / levels


@pytest.mark.parametrize("seed", range(5))
def test_equals_trec_eval_on_the_written_files_with_many_ties(tmp_path, seed):
    rng = np.random.default_rng(seed)
    questions = [f"q{i}" for i in rng.integers(0, 30, 400)]
    candidates = [f"d{i}" for i in rng.permutation(400)]
    labels = rng.integers(0, 2, 400) * rng.integers(0, 2, 400)
    scores = rng.normal(size=5)[rng.integers(0, 5, 400)]
    write_run(tmp_path / "run", questions, candidates, scores, tie_seed=seed)
    write_qrels(tmp_path / "qrels", questions, candidates, labels)

    ours = evaluate_ranking(questions, labels, scores, tie_seed=seed)
    run = ir_measures.read_trec_run(str(tmp_path / "run"))
    qrels = ir_measures.read_trec_qrels(str(tmp_path / "qrels"))
    theirs = {
        (m.query_id, m.measure): m.value for m in ir_measures.iter_calc(IR_MEASURES.values(), qrels, run)
    }

    assert (ours["n_correct"] > 0).sum() >= 25
    for question, row in ours.iterrows():
        for metric, theirs_of in IR_MEASURES.items():
            assert row[metric] == theirs[question, theirs_of]


def test_a_ranking_worked_out_by_hand():
    # Ranked: wrong, correct, wrong, correct. AP = (1/2 + 2/4) / 2.
    table = evaluate_ranking(["q"] * 4, [1, 0, 1, 0], [0.3, 0.4, 0.1, 0.2])
    gains = 1 / np.log2([2, 3, 4, 5])
    assert table.loc["q", ["map", "mrr", "p@1"]].tolist() == [0.5, 0.5, 0.0]
    assert table.loc["q", "ndcg@10"] == pytest.approx((gains[1] + gains[3]) / (gains[0] + gains[1]))
    assert table.loc["q", ["n_correct", "n_wrong"]].tolist() == [2, 2]


def test_float32_ties_are_ties_as_in_trec_eval():
    # The two scores differ in float64 alone, so over the seeds each order must occur.
    values = {
        evaluate_ranking(["q", "q"], [1, 0], [1.0, 1.0 + 1e-12], tie_seed=s)["mrr"].item() for s in range(20)
    }
    assert values == {0.5, 1.0}


@given(rankings(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_row_order_changes_nothing_where_scores_differ(ranking, random):
    questions, labels, scores = ranking
    scores = scores + np.arange(len(scores)) * 1e-3
    shuffle = random.sample(range(len(scores)), len(scores))
    before = evaluate_ranking(questions, labels, scores)
    after = evaluate_ranking([questions[i] for i in shuffle], labels[shuffle], scores[shuffle])
    np.testing.assert_array_equal(before.to_numpy(), after.loc[before.index].to_numpy())


def test_row_order_changes_nothing_in_distribution_under_ties():
    labels = np.array([1, 1, 0, 0, 0])
    copies = 4000
    correct_first, correct_last = (
        evaluate_ranking(np.repeat(np.arange(copies), 5), np.tile(order, copies), np.zeros(5 * copies))["map"]
        for order in (labels, labels[::-1])
    )
    # The standard error of each mean is below 0.004.
    assert correct_first.mean() == pytest.approx(correct_last.mean(), abs=0.02)
    assert correct_first.mean() == pytest.approx(expected_random_ranking([2], [3])["map"].item(), abs=0.015)


@pytest.mark.parametrize(("n_correct", "n_wrong"), [(1, 0), (1, 3), (2, 3), (3, 1), (1, 6)])
def test_expected_random_ranking_equals_the_mean_over_all_orders(n_correct, n_wrong):
    n = n_correct + n_wrong
    labels = np.array([1] * n_correct + [0] * n_wrong)
    orders = list(itertools.permutations(range(n)))
    table = evaluate_ranking(
        np.repeat(np.arange(len(orders)), n),
        np.concatenate([labels[list(order)] for order in orders]),
        np.tile(-np.arange(n), len(orders)),
    )
    expected = expected_random_ranking([n_correct], [n_wrong])
    np.testing.assert_allclose(expected[list(METRICS)].iloc[0], table[list(METRICS)].mean())


def test_expected_random_ranking_beyond_rank_ten():
    rng = np.random.default_rng(0)
    labels = np.array([1] * 3 + [0] * 22)
    copies = 4000
    table = evaluate_ranking(
        np.repeat(np.arange(copies), 25), np.tile(labels, copies), rng.random(25 * copies)
    )
    expected = expected_random_ranking([3], [22])
    np.testing.assert_allclose(expected[list(METRICS)].iloc[0], table[list(METRICS)].mean(), atol=0.015)


def test_rules_say_which_questions_count():
    questions = ["both", "both", "none", "only"]
    table = evaluate_ranking(questions, [0, 1, 0, 1], [1.0, 0.0, 1.0, 1.0])
    assert questions_that_count(table, "answerable").tolist() == [True, False, True]
    assert summarise(table, "answerable")["map"] == pytest.approx((0.5 + 1) / 2)
    assert summarise(table, "clean")["map"] == pytest.approx(0.5)
    assert summarise(table, "all")["map"] == pytest.approx((0.5 + 0 + 1) / 3)
    with pytest.raises(UserError, match="unknown protocol rule 'raw'"):
        summarise(table, "raw")
    with pytest.raises(ValueError, match="No question counts"):
        summarise(table.loc[["none"]], "answerable")


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([0, 1], [0.0, np.nan], r"1 of 2 .* row 1: nan"),
        ([0, 1], [np.inf, 0.0], r"row 0: inf"),
        ([0, 1], [0.0, 1e300], r"row 1: 1e\+300"),
        ([0, 2], [0.0, 1.0], r"labels must be 0 or 1. Received: \[2\]"),
        ([0], [0.0, 1.0], "parallel"),
    ],
)
def test_what_cannot_be_ranked_is_refused(labels, scores, message):
    with pytest.raises(ValueError, match=message):
        evaluate_ranking(["q", "q"], labels, scores)


def test_missing_question_id_and_no_rows_are_refused():
    with pytest.raises(ValueError, match="none in row 1"):
        evaluate_ranking(["q", None], [0, 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="nothing to rank"):
        evaluate_ranking([], [], [])


def test_a_scored_split_is_measured_as_its_rows():
    table = load_dataset("sample").test
    split = encode_split(table, Tokenizer(pretokenised=False), Vocabulary(["the"]))
    scores = np.random.default_rng(0).normal(size=len(table))
    expected = evaluate_ranking(table["question_id"].tolist(), table["label"], scores)
    assert per_question(split, scores).equals(expected)
    assert measure(split, scores, "all") == summarise(expected, "all")
    assert measure(split, scores) == summarise(expected, "answerable")
