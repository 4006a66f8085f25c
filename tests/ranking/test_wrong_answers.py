"""Wrong answers for tables of correct ones alone."""

import bm25s
import numpy as np
import pandas as pd
import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.ranking import wrong_answers
from answer_ranking.ranking.wrong_answers import draw_wrong_answers

COLUMNS = ["question_id", "question", "candidate_id", "candidate", "label"]


def pairs(n, start=0):
    """Questions about a thing of their own and a colour that every fifth shares; two correct answers each."""
    rows = [
        (f"q{i}", f"where is thing{i} colour{i % 5}", f"c{i}{part}", f"{part} thing{i} colour{i % 5}", 1)
        for i in range(start, start + n)
        for part in ("here", "there")
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_half_are_bm25_s_best_and_none_is_correct(monkeypatch):
    # Two parts, of which each is searched for itself.
    monkeypatch.setattr(wrong_answers, "_SEARCHED_AT_ONCE", 25)
    train = pairs(40)
    tables, said = draw_wrong_answers({"train": train}, number=6, seed=3)
    drawn = tables["train"]
    assert len(said) == 1 and "BM25" in said[0]
    for i, (_, rows) in enumerate(drawn.groupby("question_id", sort=False)):
        assert rows["label"].tolist() == [1, 1] + [0] * 6
        assert rows["candidate"].is_unique and rows["candidate_id"].is_unique
        assert not rows["candidate"][rows["label"] == 0].str.contains(rf"thing{i} ").any()
        # The only words that BM25 finds in other answers are the colours.
        assert rows["candidate"].iloc[2:5].str.endswith(f"colour{i % 5}").all()
    pd.testing.assert_frame_equal(drawn[drawn["label"] == 1].reset_index(drop=True), train)
    random = drawn["candidate"].to_numpy()[np.arange(len(drawn)) % 8 >= 5]
    assert len(set(random)) > 40
    pd.testing.assert_frame_equal(draw_wrong_answers({"train": train}, 6, 3)[0]["train"], drawn)
    assert not drawn.equals(draw_wrong_answers({"train": train}, 6, 4)[0]["train"])


@pytest.mark.parametrize(("largest", "size"), [(500, 36), (7, 7)])
def test_dev_ranks_one_pool_for_all_its_questions(monkeypatch, largest, size):
    monkeypatch.setattr(wrong_answers, "LARGEST_POOL", largest)
    monkeypatch.setattr(wrong_answers, "_SMALLEST_POOL", 5)
    labelled = pairs(3, 30)
    labelled.loc[0, "label"] = 0
    tables = {"train": pairs(10), "dev": pairs(5, 10), "test": labelled}
    drawn, said = draw_wrong_answers(tables)
    assert drawn["test"] is labelled and len(said) == 2
    wrong = drawn["dev"][drawn["dev"]["label"] == 0].groupby("question_id")["candidate"].agg(set)
    correct = tables["dev"].groupby("question_id")["candidate"].agg(set)
    pool = set.union(*wrong)
    assert len(pool) == size
    assert all(wrong[q] == pool - correct[q] for q in correct.index)


def test_questions_of_the_same_text_share_their_correct_answers():
    train = pairs(6)
    other = pairs(1).assign(question_id="other", candidate=["elsewhere", "nowhere"], candidate_id=["x", "y"])
    other["question"] = other["question"].str.upper().str.replace(" ", "  ")
    table = pd.concat([train, other], ignore_index=True)
    drawn, _ = draw_wrong_answers({"train": table, "dev": table}, number=50)
    correct = set(table["candidate"][table["question_id"].isin(["q0", "other"])])
    for name in ("train", "dev"):
        of_both = drawn[name][drawn[name]["question_id"].isin(["q0", "other"])]
        wrong = of_both[of_both["label"] == 0].groupby("question_id")["candidate"].agg(set)
        assert list(wrong) == [set(table["candidate"]) - correct] * 2


def test_a_question_with_very_many_answers_does_not_set_the_search_of_all(monkeypatch):
    monkeypatch.setattr(wrong_answers, "_MOST_PASSED", 3)
    asked, retrieve = [], bm25s.BM25.retrieve
    monkeypatch.setattr(
        bm25s.BM25, "retrieve", lambda *args, k, **more: asked.append(k) or retrieve(*args, k=k, **more)
    )
    rows = [("q0", "where is it", f"c{i}", f"here it is {i}", 1) for i in range(40)]
    table = pd.concat([pairs(20, 1), pd.DataFrame(rows, columns=COLUMNS)], ignore_index=True)
    drawn, _ = draw_wrong_answers({"train": table}, number=6)
    counts = drawn["train"].groupby("question_id")["label"].agg(lambda labels: (labels == 0).sum())
    assert set(counts) == {6} and asked == [3 + 3]


def test_equal_answers_are_no_wrong_ones():
    table = pairs(4).assign(candidate=["a", "b", "a", "b", "a", "c", "a", "a"])
    drawn = draw_wrong_answers({"train": table, "dev": table})[0]
    for name in ("train", "dev"):
        wrong = drawn[name][drawn[name]["label"] == 0].groupby("question_id")["candidate"].agg(sorted)
        assert wrong.to_dict() == {"q0": ["c"], "q1": ["c"], "q2": ["b"], "q3": ["b", "c"]}
    with pytest.raises(UserError, match=r"faq\.csv: train has 4 of its questions, .* the same answer"):
        draw_wrong_answers({"train": table.assign(candidate="a")}, where="faq.csv")
    every = pd.concat([pairs(2).assign(candidate=answer) for answer in "ab"]).sort_values("question_id")
    with pytest.raises(UserError, match="right ones of all its questions"):
        draw_wrong_answers({"train": every.reset_index(drop=True)})


@pytest.mark.parametrize("written", ["{} ", "  {}", "{}\n", "\ufeff{}"])
def test_answers_that_differ_in_blanks_and_capitals_alone_are_one(written):
    table = pairs(4).assign(candidate=["By card.", "b", written.format("BY card."), "b", "d", "c", "e", "d"])
    drawn = draw_wrong_answers({"train": table, "dev": table})[0]
    for name in ("train", "dev"):
        rows = drawn[name].groupby(["question_id", "label"])["candidate"].agg(sorted)
        assert rows["q0", 1] == rows["q1", 1] == ["By card.", "b"]
        assert rows["q0", 0] == rows["q1", 0] == ["c", "d", "e"]
        assert rows["q2", 0] == ["By card.", "b", "e"]


def test_what_another_table_has_as_right_is_not_wrong():
    train = pairs(4).assign(question=["where?"] * 2 + ["a?"] * 2 + ["b?"] * 2 + ["c?"] * 2)
    dev = pairs(1, 4).assign(question="Where? ")
    drawn = draw_wrong_answers({"train": train, "dev": dev}, number=50)[0]
    for name, own in (("train", "q0"), ("dev", "q4")):
        rows = drawn[name][drawn[name]["question_id"] == own]
        wrong = rows["candidate"][rows["label"] == 0]
        assert len(wrong) == 6 and not set(wrong) & {*train["candidate"][:2], *dev["candidate"]}
