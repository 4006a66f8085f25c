"""The benchmark of pipelines: how its FAQ is drawn, and what it measures."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pipelines
import pytest

from answer_ranking.base.errors import UserError

TABLE = pd.DataFrame(
    [
        ("Who painted the chapel?", "Ann painted the chapel.", 1),
        ("Which chapel did Ann paint?", "Ann painted the chapel.", 1),
        ("Who painted the chapel?", "Rain fell.", 0),
        ("When did it rain?", "Rain fell on Monday.", 1),
        ("On which day was there rain?", "Rain fell on Monday.", 1),
        ("Where is Rome?", "Rome is in Italy.", 1),
    ],
    columns=["question", "candidate", "label"],
)


def test_an_faq_has_answers_with_another_question(monkeypatch):
    monkeypatch.setattr(pipelines, "load_dataset", lambda name: SimpleNamespace(test=TABLE))
    faq = pipelines.make_faq("any", 2, typos=2)
    assert sorted(faq.table["answer"]) == ["Ann painted the chapel.", "Rain fell on Monday."]
    right = set(TABLE[TABLE["label"] == 1][["question", "candidate"]].itertuples(index=False, name=None))
    for own, answer, other, wrong in zip(
        faq.table["question"], faq.table["answer"], faq.asked, faq.misspelled, strict=True
    ):
        assert {(own, answer), (other, answer)} <= right and own != other and other != wrong
    again = pipelines.make_faq("any", 2, typos=2)
    assert again.asked == faq.asked and again.misspelled == faq.misspelled
    with pytest.raises(UserError, match="any: 2 answers have several questions"):
        pipelines.make_faq("any", 3, typos=2)


def test_a_typo_changes_letters_alone():
    rng = np.random.default_rng(0)
    assert {pipelines.misspelled("ab", 1, rng)[-1] for _ in range(50)} == {"a", "b"}
    assert pipelines.misspelled("a 1?", 5, rng) == "a 1?"


def test_questions_of_the_faq_itself_find_their_answers():
    table = pd.DataFrame({"candidate_id": ["a", "b"], "question": ["Is it xylo?", "Is it vest?"]})
    faq = pipelines.FAQ(table.assign(answer="It is."), ["Is it xylo?", "Is it vest?"], ["It xlyo", "It vets"])
    rows = {(row["pipeline"], row["searched"]): row for row in pipelines.measure_faq(faq)}
    assert rows["bm25", "question + answer"]["mrr@10"] == 1
    assert rows["bm25", "question + answer"]["mrr@10_typos"] == (1 + 1 / 2) / 2
    assert rows["ngrams", "question + answer"]["mrr@10_typos"] == 1
    assert rows["bm25", "answer"]["p@1"] == 1 / 2
