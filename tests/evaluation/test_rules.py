"""The rule baselines against hand-worked scores, the BM25 formula and the values that papers print."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import load_dataset
from answer_ranking.evaluation import evaluate_ranking, expected_random_ranking
from answer_ranking.evaluation.rules import (
    LEAK,
    RULES,
    bm25,
    idf_word_overlap,
    measure_rules,
    reciprocal_rank,
    rule_scores,
    word_overlap,
    word_overlap_then_rank,
)

QUESTIONS = [["who", "wrote", "the", "the", "book"], ["where", "is", "it"]]
CANDIDATES = [
    ["the", "author", "of", "the", "book"],
    ["she", "wrote", "it"],
    ["nothing", "here"],
    ["it", "is", "there"],
    ["where", "it", "is", "is"],
]
OFFSETS = np.array([0, 3, 5])

token_lists = st.lists(st.integers(0, 6), min_size=1, max_size=8)


@st.composite
def texts(draw):
    questions = draw(st.lists(token_lists, min_size=1, max_size=4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=len(questions), max_size=len(questions)))
    candidates = draw(st.lists(token_lists, min_size=sum(sizes), max_size=sum(sizes)))
    return questions, candidates, np.concatenate([[0], np.cumsum(sizes)])


def test_reciprocal_rank_and_overlap_by_hand():
    assert reciprocal_rank(QUESTIONS, CANDIDATES, OFFSETS).tolist() == [1, 1 / 2, 1 / 3, 1, 1 / 2]
    assert word_overlap(QUESTIONS, CANDIDATES, OFFSETS).tolist() == [2, 1, 0, 2, 3]


def test_idf_overlap_by_hand():
    # Of five candidates one holds "the", "book", "wrote" and "where", two hold "is", three "it".
    rare, two, three = math.log(6 / 2), math.log(6 / 3), math.log(6 / 4)
    expected = [2 * rare, rare, 0, two + three, rare + two + three]
    np.testing.assert_allclose(idf_word_overlap(QUESTIONS, CANDIDATES, OFFSETS), expected)


def test_bm25_is_its_formula():
    # Lucene's BM25: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), tf / (tf + k1 (1 - b + b length / mean length)).
    mean_length = np.mean([len(c) for c in CANDIDATES])
    expected = []
    for question, start, end in zip(QUESTIONS, OFFSETS, OFFSETS[1:], strict=False):
        for candidate in CANDIDATES[start:end]:
            score = 0.0
            for word in question:
                n = sum(word in other for other in CANDIDATES)
                tf = candidate.count(word)
                idf = math.log(1 + (len(CANDIDATES) - n + 0.5) / (n + 0.5))
                score += idf * tf / (tf + 1.5 * (0.25 + 0.75 * len(candidate) / mean_length))
            expected.append(score)
    np.testing.assert_allclose(bm25(QUESTIONS, CANDIDATES, OFFSETS), expected, rtol=1e-5)


def test_bm25_of_words_in_no_candidate_is_zero():
    assert bm25([["absent"]], [["a"], ["b"]], [0, 2]).tolist() == [0, 0]


@given(texts())
def test_overlap_then_rank_sorts_by_overlap_then_by_order(data):
    overlap, both = word_overlap(*data), word_overlap_then_rank(*data).astype(np.float32)
    offsets = data[2]
    for start, end in itertools.pairwise(offsets):
        expected = sorted(range(start, end), key=lambda i: (-overlap[i], i))
        assert sorted(range(start, end), key=lambda i: -both[i]) == expected
        assert len(set(both[start:end])) == end - start


@given(texts(), st.sampled_from(sorted(RULES)))
def test_words_and_their_ids_score_alike(data, name):
    questions, candidates, offsets = data
    as_words = [[list(map("w{}".format, text)) for text in side] for side in (questions, candidates)]
    np.testing.assert_array_equal(RULES[name](*data), RULES[name](*as_words, offsets))


def test_overlap_then_rank_keeps_order_far_down_a_long_list():
    n = 5000
    scores = word_overlap_then_rank([["a"]], [["a"]] * n, [0, n]).astype(np.float32)
    assert (np.diff(scores) < 0).all()


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("offsets", [[0, 3], [0, 2, 6], [1, 3, 5], [0, 6, 5]])
def test_offsets_that_do_not_fit_are_refused(name, offsets):
    with pytest.raises(ValueError, match="candidate_offsets must rise"):
        RULES[name](QUESTIONS, CANDIDATES, offsets)


@pytest.fixture(scope="module")
def sample():
    dataset = load_dataset("sample")
    return dataset.test, dataset.description


def test_scores_of_a_split_are_those_of_its_questions_one_by_one(sample):
    table, description = sample
    scores = rule_scores(table, description, ("WO", "RR"))
    assert list(scores) == ["WO", "RR"]
    for _, rows in table.groupby("question_id", sort=False):
        alone = rule_scores(rows, description, ("WO", "RR"))
        for name, values in alone.items():
            np.testing.assert_array_equal(scores[name][rows.index], values)


def test_rules_are_measured_with_ties_at_random_and_random_in_closed_form(sample):
    table, description = sample
    measured = measure_rules(table, description, tie_seeds=3)
    scores = rule_scores(table, description)
    ids, labels = table["question_id"].to_numpy(object), table["label"].to_numpy()
    orders = [evaluate_ranking(ids, labels, scores["WO"], tie_seed=seed)["map"] for seed in range(3)]
    pd.testing.assert_series_equal(measured["WO"]["map"], sum(orders) / 3)
    counts = measured["WO"]
    expected = expected_random_ranking(counts["n_correct"].astype(int), counts["n_wrong"].astype(int))
    np.testing.assert_allclose(measured["Random"]["mrr"], expected["mrr"])
    assert list(measured["Random"].index) == list(table["question_id"].unique())
    worst = measured["WO, every tie against the correct answer"]
    assert (worst["map"] <= measured["WO"]["map"] + 1e-12).all()


def test_a_leaking_order_is_named(sample):
    table, description = sample
    leaking = dataclasses.replace(description, lists_correct_first=True)
    ordered = table.sort_values(["question_id", "label"], ascending=[True, False]).reset_index(drop=True)
    measured = measure_rules(ordered, leaking, 2, rule_scores(ordered, leaking, ("RR", "WO")))
    assert (measured[f"RR, {LEAK}"].loc[lambda rows: rows["n_correct"] > 0, "mrr"] == 1).all()
    first, last = (
        measured[f"WO, ties in {order}"]["map"].mean() for order in (LEAK, "reversed file order: do not use")
    )
    assert first >= measured["WO"]["map"].mean() >= last
