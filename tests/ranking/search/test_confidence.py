"""How sure an answer is: learnt from questions whose answers are known, kept, and asked for."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.search.building import commit
from answer_ranking.ranking.search.confidence import Confidence, foreign_questions, rows_to_learn

THINGS = ("parcel", "invoice", "password", "voucher", "refund", "battery", "licence", "warranty")
FAQ = pd.DataFrame({"answer": [f"Open the {thing} page and choose change {thing}." for thing in THINGS]})
ASKED = pd.DataFrame(
    {"question": [f"How do I get my {thing} changed?" for thing in THINGS], "candidate": FAQ["answer"]}
)
FOREIGN = ["Who built the tower of the old town?", "Why did the page of the queen die?", "Is rain wet?"]


@pytest.fixture
def faq(tmp_path):
    return AnswerIndex.build(None, FAQ, tmp_path / "faq")


def test_it_is_scikit_learn_s_logistic_regression():
    rng = np.random.default_rng(0)
    is_right = np.arange(200) % 2 == 0
    scores = pd.DataFrame({"a": rng.normal(size=200) + is_right, "b": 9 * rng.normal(size=200) - is_right})
    confidence = Confidence.fit(scores, np.where(is_right, "right", "wrong"))
    plain = LogisticRegression(C=1e6).fit(scores, is_right)
    np.testing.assert_allclose(confidence.of(scores), plain.predict_proba(scores)[:, 1], atol=0.02)
    # What a first stage does not find counts as its lowest score.
    unfound, lowest = scores[:1].assign(a=np.nan), scores[:1].assign(a=scores["a"].min())
    np.testing.assert_allclose(confidence.of(unfound), confidence.of(lowest))


def test_an_index_of_before_has_its_scores_under_another_name():
    kept = {"stages": ["bm25"], "weights": [2.0], "lowest": [0.0], "bias": -1.0}
    expected = Confidence(features=("bm25",), weights=(2.0,), lowest=(0.0,), bias=-1.0)
    assert Confidence.read(kept) == expected


def test_a_foreign_question_has_no_good_answer(faq, command):
    before = faq.search("How is the voucher changed?")
    assert "confidence" not in before.columns
    with pytest.raises(UserError, match="learnt no confidence"):
        faq.search("voucher", min_confidence=0.5)
    with pytest.raises(UserError, match="the column 'candidate' is missing"):
        faq.calibrate(ASKED[["question"]], FOREIGN)
    learnt = faq.calibrate(ASKED, FOREIGN)
    again = AnswerIndex.open(faq.folder)
    assert again.manifest.confidence == learnt
    found = again.find([*ASKED["question"][:2], FOREIGN[1]], min_confidence=0.5)
    assert found.refused == ["q3"] and found.table["confidence"].min() >= 0.5
    right = found.table.drop_duplicates("question_id")["candidate"]
    assert right.tolist() == ASKED["candidate"][:2].tolist()
    every = again.search("How is the voucher changed?")
    pd.testing.assert_frame_equal(every.drop(columns="confidence"), before)
    assert every["confidence"].idxmax() == 0
    ran = command("search", faq.folder, FOREIGN[1], "--min-confidence", 0.5)
    assert ran.code == 0 and ran.out.count("\n") == 1 and "good answer" in ran.out
    words = command("search", faq.folder, ASKED["question"][0], "-k", 1).out.split()
    assert 0.5 < float(words[1]) <= 1 and float(words[2]) > 1


def test_right_answers_are_known_however_they_are_written(tmp_path, capsys):
    """Another program's line ends, a blank at the end, and a column that says which answers are wrong."""
    table = FAQ.assign(answer=FAQ["answer"].str.replace(" and", "\nand"))
    index = AnswerIndex.build(None, table, tmp_path / "faq")
    asked = ASKED.assign(candidate=table["answer"])
    expected = index.calibrate(asked, FOREIGN)
    otherwise = asked.assign(candidate=asked["candidate"].str.replace("\n", "\r\n") + " ", label=1)
    wrong = asked.assign(candidate=asked["candidate"].to_numpy()[::-1], label=0)
    capsys.readouterr()
    assert index.calibrate(pd.concat([otherwise, wrong]), FOREIGN) == expected
    assert "stand in no row" not in capsys.readouterr().err
    index.calibrate(pd.concat([asked, asked[:1].assign(candidate="Ask us.")]), FOREIGN)
    said = capsys.readouterr().err
    assert "1 of the right answers stand in no row of the index, such as 'Ask us.'" in said
    assert "from 8 questions alone" in said


def test_a_passage_of_a_right_answer_is_right(tmp_path):
    text = (
        "It is described here in full. Open the {0} page and choose change {0}. Then wait a day for a mail."
    )
    whole = [text.format(thing) for thing in THINGS]
    index = AnswerIndex.build(None, pd.DataFrame({"answer": whole}), tmp_path / "faq", passage_length=50)
    index.calibrate(ASKED.assign(candidate=whole), FOREIGN)
    sure = index.search("How do I get my voucher changed?")["confidence"]
    assert sure[0] > 0.5 > index.search("Who built the tower of the old town?")["confidence"].max()


def test_ranks_are_numbered_without_those_left_out(faq):
    best_is_unsure = Confidence(features=("bm25",), weights=(-2.0,), lowest=(0.0,), bias=2.0)
    commit(faq.folder, replace(faq.manifest, confidence=best_is_unsure), faq.manifest)
    again = AnswerIndex.open(faq.folder)
    every = again.search("How is the voucher changed?")
    assert every["confidence"].is_monotonic_increasing
    sure = again.search("How is the voucher changed?", min_confidence=every["confidence"][1])
    assert sure["rank"].tolist() == list(range(1, len(every)))
    assert sure["candidate"].tolist() == every["candidate"][1:].tolist()


def test_it_hears_how_much_of_a_question_is_known(faq):
    texts = ["Open the parcel", "open zorbulators"]
    features = faq._state.features(texts, [np.array([0, 1]), np.array([2])])
    # Lucene's idf: "open" and "the" stand in all eight answers, "parcel" in one.
    often, once = np.log(1 + 0.5 / 8.5), np.log(1 + 7.5 / 1.5)
    np.testing.assert_allclose(features["bm25 most"], [2 * often + once] * 2 + [often])
    assert features["bm25 terms"].tolist() == [3, 3, 2]
    assert (features["bm25"] < features["bm25 most"]).all()


def test_an_addition_keeps_the_confidence(faq):
    learnt = faq.calibrate(ASKED, FOREIGN, first_stage="ngrams")
    faq.add(pd.DataFrame({"answer": ["A new one."]}))
    assert AnswerIndex.open(faq.folder).manifest.confidence == learnt


def test_the_sample_s_own_questions_are_not_foreign_to_it():
    every = foreign_questions([])
    assert len(every) == 120 and foreign_questions([f" {every[0].upper()}"]) == every[1:]


def test_the_first_right_and_the_first_wrong_answer_are_learnt_from():
    found = pd.DataFrame({"question": list("aaabbc"), "candidate": ["x", "right", "y", "right", "z", "x"]})
    rows = rows_to_learn(found, {"a": {"right"}, "b": {"right"}})
    assert rows.index.tolist() == [0, 1, 3, 4, 5]
    assert rows["kind"].tolist() == ["wrong", "right", "right", "wrong", "foreign"]
    with pytest.raises(UserError, match="no confidence can be learnt"):
        rows_to_learn(found, {})


@pytest.mark.parametrize(
    "change",
    [
        {"features": ["nearest"]},
        {"weights": [1, 2]},
        {"bias": float("nan")},
        {"more": 1},
    ],
)
def test_a_damaged_confidence_is_refused(faq, signed, change):
    learnt = {"features": ["bm25"], "weights": [1.0], "lowest": [0.0], "bias": 0.0}
    signed(faq.folder, lambda facts: facts.update(confidence=learnt))
    assert AnswerIndex.open(faq.folder).search("parcel")["confidence"].between(0, 1).all()
    signed(faq.folder, lambda facts: facts["confidence"].update(change))
    with pytest.raises(UserError, match=r"manifest\.json is damaged"):
        AnswerIndex.open(faq.folder)
    assert "confidence" in json.loads((faq.folder / "manifest.json").read_text())
