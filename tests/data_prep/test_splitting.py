import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.own_tables import split_by_question
from answer_ranking.data_prep.tables import check_table

BOTH = {"dev": 0.15, "test": 0.15}


def table_of(questions):
    """A table of questions, each given by its text and the labels of its candidates."""
    table = pd.DataFrame(questions, columns=["question", "label"]).explode("label", ignore_index=True)
    return check_table(table.assign(candidate=[f"answer {i}" for i in table.index]), "rows")


def questions_of(parts):
    return {name: set(part["question"]) for name, part in parts.items()}


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=4), min_size=3, max_size=40),
    st.integers(0, 5),
    st.randoms(),
)
def test_every_row_is_in_one_part_and_every_part_can_tell_rankings_apart(kinds, seed, random):
    questions = [(f"Question {i}?", labels) for i, labels in enumerate(kinds)]
    # Where all answers are correct, wrong ones are drawn for every question afterwards.
    alone = not any(0 in labels for labels in kinds)
    clean = len(kinds) if alone else sum(len(set(labels)) == 2 for labels in kinds)
    table = table_of(questions)
    least = 4 if alone else 3
    if clean < least:
        with pytest.raises(UserError, match=rf"rows: {clean} of its {len(kinds)} questions .* {least} such"):
            split_by_question(table, BOTH, seed, "rows")
        return
    parts = split_by_question(table, BOTH, seed)
    together = pd.concat(parts.values()).sort_values("candidate_id")
    assert together.to_dict("records") == table.sort_values("candidate_id").to_dict("records")
    assert sum(map(len, questions_of(parts).values())) == len(kinds)
    for part in parts.values():
        assert alone or (part.groupby("question_id")["label"].nunique() == 2).any()
    # The order of the rows does not decide.
    random.shuffle(questions)
    assert questions_of(split_by_question(table_of(questions), BOTH, seed)) == questions_of(parts)


def test_shares_are_kept_for_both_kinds_of_questions():
    table = table_of([(f"a{i}", [0, 1]) for i in range(100)] + [(f"b{i}", [0]) for i in range(40)])
    parts = split_by_question(table, {"dev": 0.1, "test": 0.25})
    for name, expected in (("train", (65, 26)), ("dev", (10, 4)), ("test", (25, 10))):
        texts = parts[name].drop_duplicates("question")["question"].str
        assert (texts.startswith("a").sum(), texts.startswith("b").sum()) == expected
    other = split_by_question(table, {"dev": 0.1}, 1)
    assert questions_of(parts)["dev"] != questions_of(other)["dev"]


def test_questions_of_one_text_go_together_whatever_their_identifiers():
    rows = []
    for i in range(12):
        for name, text in ((f"{i}-a", f"Who is {i}?"), (f"{i}-b", f"who  IS {i}?")):
            rows += [(name, text, "Ann.", True), (name, text, "Bob.", False)]
    table = pd.DataFrame(rows, columns=["question_id", "question", "candidate", "label"])
    for part in split_by_question(check_table(table, "rows"), BOTH).values():
        counts = part["question_id"].str.partition("-")[0].value_counts()
        assert (counts == 4).all()


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"dev": 0.0}, "share of dev must be above 0 and below 1, not 0.0"),
        ({"test": 1.0}, "share of test must be"),
        ({"test": float("nan")}, "share of test must be"),
        ({"dev": 0.5, "test": 0.5}, "leave nothing to train on"),
    ],
)
def test_shares_out_of_range(shares, message):
    with pytest.raises(UserError, match=message):
        split_by_question(table_of([("a", [0, 1])] * 1), shares)


def test_the_least_questions_that_can_be_split_leave_an_faq_a_wrong_answer():
    faq = [(name, [1]) for name in "abcd"]
    assert len(split_by_question(table_of(faq), BOTH)["train"]) == 2
    with pytest.raises(UserError, match=r"3 of its 3 questions .* 4 such questions are the least"):
        split_by_question(table_of(faq[:3]), BOTH)
    assert len(split_by_question(table_of([(name, [0, 1]) for name in "abc"]), BOTH)["train"]) == 2
