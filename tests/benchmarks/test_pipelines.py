"""The benchmark of pipelines: how its FAQs are drawn, and what it measures."""

import numpy as np
import pandas as pd
import pipelines
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Dataset
from answer_ranking.data_prep.dataset import OWN_TABLES
from answer_ranking.ranking.pipelines import indexed_answers

ASKED = ("Who painted {}?", "Which painter made {}?", "{}: by whom?", "Whose work is {}?")


def table(names, wordings):
    rows = []
    for name in names:
        for number, wording in enumerate(wordings):
            rows.append((f"{name}{number}", wording.format(name), name, f"Ann painted {name}.", 1))
            rows.append((f"{name}{number}", wording.format(name), "x", "Rain fell.", 0))
    return pd.DataFrame(rows, columns=["question_id", "question", "candidate_id", "candidate", "label"])


@pytest.fixture
def dataset():
    parts = [table(names, ASKED) for names in (["chapel", "door"], ["gate"], ["wall", "roof", "hall"])]
    return Dataset(*parts, OWN_TABLES)


def test_every_answer_has_a_question_in_each_part(dataset):
    faq = pipelines.several_questions(dataset, 2)
    right = dataset.test[dataset.test["label"] == 1]
    pairs = set(right[["question", "candidate"]].itertuples(index=False, name=None))
    asked = set()
    for part in faq.splits.values():
        assert set(part[["question", "candidate"]].itertuples(index=False, name=None)) <= pairs
        assert (
            part["candidate"].nunique() == 2 and part["candidate"].tolist() == faq.test["candidate"].tolist()
        )
        asked |= set(part["question"])
    assert len(asked) == 6
    pd.testing.assert_frame_equal(faq.dev, pipelines.several_questions(dataset, 2).dev)
    with pytest.raises(UserError, match="3 answers have three questions"):
        pipelines.several_questions(dataset, 4)


def test_the_parts_of_the_publishers_share_no_question(dataset):
    dataset.test["question"] = dataset.test["question"].str.replace("hall", "gate")
    faq = pipelines.right_answers(dataset, 5)
    sizes = {name: part["question"].nunique() for name, part in faq.splits.items()}
    assert sizes == {"train": 5, "dev": 4, "test": 5}
    assert not set(faq.dev["question"]) & set(faq.test["question"])
    assert all(part["label"].all() for part in faq.splits.values())
    assert len(indexed_answers(faq)["answer"].unique()) >= 4


def test_a_typo_changes_letters_of_the_test_questions_alone(dataset):
    rng = np.random.default_rng(0)
    assert {pipelines.misspelled("ab", 1, rng)[-1] for _ in range(50)} == {"a", "b"}
    assert pipelines.misspelled("a 1?", 5, rng) == "a 1?"
    wrong = pipelines.with_typos(dataset, 2)
    assert wrong.dev is dataset.dev and (wrong.test["question"] != dataset.test["question"]).all()
    assert wrong.test["candidate"].tolist() == dataset.test["candidate"].tolist()
