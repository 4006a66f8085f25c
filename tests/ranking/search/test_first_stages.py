"""First stages: one of one's own, n-grams, fusions, an FAQ's questions; and indexes of older formats."""

import json
from dataclasses import replace

import bm25s
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.search import first_stages
from answer_ranking.ranking.search.first_stages import FIRST_STAGES, nearest
from answer_ranking.ranking.search.first_stages.ngrams import ngrams_of
from answer_ranking.ranking.search.manifest import StageFolder
from answer_ranking.ranking.search.results import Candidates


class Lengths:
    """Finds the texts whose length in letters is nearest to the question's."""

    name = "lengths"

    def encode(self, texts, model):
        return {"lengths.json": pa.py_buffer(json.dumps([len(text) for text in texts.answers]).encode())}

    def build(self, files, name, ray):
        folder = files.folder / f"lengths-{name}"
        every = []
        for segment in files.segments:
            every += json.loads((segment / "lengths.json").read_text())
        folder.mkdir(exist_ok=True)
        (folder / "all.json").write_text(json.dumps(every))
        return StageFolder(folder.name, files.manifest.rows)

    def open(self, files):
        folder, _ = files.manifest.stages[self.name]
        self.lengths = np.array(json.loads((files.folder / folder / "all.json").read_text()))
        return self

    def search(self, questions, k, keep):
        allowed = np.arange(len(self.lengths)) if keep is None else np.flatnonzero(keep)
        rows, scores = [], []
        for question in questions:
            apart = np.abs(self.lengths[allowed] - len(question))
            order = np.argsort(apart, kind="stable")[:k]
            rows.append(allowed[order])
            scores.append(-apart[order])
        return Candidates(rows, scores, np.zeros(len(questions), bool))

    def facts(self, questions):
        return {}


def test_a_first_stage_that_could_not_be_opened_again_is_not_built(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="word_counts"):
        replace(FIRST_STAGES[0], name="word_counts")

    class Elsewhere(Lengths):
        def build(self, files, name, ray):
            return super().build(files, f"of-letters-{name}", ray)

    own = first_stages.Entry("lengths", "length", "lengths", Elsewhere)
    monkeypatch.setattr(first_stages, "FIRST_STAGES", (own,))
    table = pd.DataFrame({"text": ["w1 w2 w3", "w1"]})
    with pytest.raises(RuntimeError, match="must give its folder a name of its own"):
        AnswerIndex.build(None, table, tmp_path / "index")
    for name in ("bm25", "both"):
        twice = (*FIRST_STAGES, replace(own, name=name))
        monkeypatch.setattr(first_stages, "FIRST_STAGES", twice)
        with pytest.raises(RuntimeError, match="the same name"):
            AnswerIndex.build(None, table, tmp_path / name)


def test_a_first_stage_of_one_s_own(stub, tmp_path, monkeypatch, command):
    table = pd.DataFrame({"text": ["w1 w2 w3", "w1", "w1 w2"]})
    before = AnswerIndex.build(None, table, tmp_path / "before")
    entry = first_stages.Entry("lengths", "length", "texts as long as the question", Lengths)
    monkeypatch.setattr(first_stages, "FIRST_STAGES", (*first_stages.FIRST_STAGES, entry))
    index = AnswerIndex.build(stub.StubRanker(), table, tmp_path / "index", chunk_rows=2)
    assert index.search("w3", k=2, first_stage="lengths")["candidate_id"].tolist() == ["c2", "c3"]
    index.add(pd.DataFrame({"text": ["ab"]}))
    index.delete(["c2"])
    found = AnswerIndex.open(tmp_path / "index").search("w3", first_stage="lengths")
    assert found["candidate_id"].tolist() == ["c4", "c3", "c1"] and set(found["first_stage"]) == {"lengths"}
    out = command("search", tmp_path / "index", "w3", "--first-stage", "lengths", "-k", 1).out
    assert out.split()[2] == "c4"
    # An index keeps the first stages with which it was built.
    before.add(pd.DataFrame({"text": ["w3"]}))
    with pytest.raises(UserError, match="no first stage 'lengths'"):
        before.search("w3", first_stage="lengths")


@pytest.mark.parametrize(("format_", "exact_up_to"), [(2, 500), (3, 500), (4, 200_000)])
def test_an_older_index_is_opened_and_added_to(
    stub, answers, signed, tmp_path, monkeypatch, exact_up_to, format_
):
    monkeypatch.setattr(nearest, "EXACT_UP_TO", exact_up_to)
    questions = stub.texts(20, seed=3)
    own = ["nearest", "bm25"]
    expected = AnswerIndex.build(stub.StubRanker(), answers, tmp_path / "index", first_stages=own)

    def as_format_4(facts):
        for name in ("words", "passage_length", "default_stage", "confidence"):
            del facts[name]
        facts["format"] = 4

    def as_format_3(facts):
        as_format_4(facts)
        del facts["searched"]
        facts |= {"format": 3, "first_stages": ["nearest", "bm25", "both"]}

    def as_format_2(facts):
        as_format_3(facts)
        stages = facts.pop("stages")
        ball, rows = stages.get("nearest", ["", 0])
        old = {"format": 2, "bm25": stages["bm25"][0], "ball": ball, "ball_rows": rows}
        facts |= {**old, "first_stages": ["ball", "bm25", "both"]}

    signed(tmp_path / "index", {2: as_format_2, 3: as_format_3, 4: as_format_4}[format_])
    index = AnswerIndex.open(tmp_path / "index")
    assert index.manifest == expected.manifest
    for stage in index.first_stages:
        found = index.search(questions, first_stage=stage)
        pd.testing.assert_frame_equal(found, expected.search(questions, first_stage=stage))
    pd.testing.assert_frame_equal(index.search(questions), index.search(questions, first_stage="both"))
    index.add(pd.DataFrame({"candidate_id": ["new"], "text": [questions[0]]}))
    assert AnswerIndex.open(tmp_path / "index").search(questions[0], k=1)["candidate_id"].tolist() == ["new"]


FAQ = pd.DataFrame(
    {
        "question": ["How do I get my money back?", "Where is my parcel?", None],
        "answer": [
            "Refunds take five days.",
            "Tracking numbers come by e-mail.",
            "The XQ-9000 has no modem.",
        ],
    }
)


def test_ngrams_are_scikit_learn_s_scored_by_bm25s(tmp_path):
    texts = [*FAQ["answer"], "Où est-il ?", "a", "ß İ", "東京タワーは\u3000どこ ですか", "क्या यह है?", "..."]
    analyse = CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)).build_analyzer()
    for text in texts:
        assert sorted(ngrams_of(text)) == sorted(analyse(text))
    library = bm25s.BM25()
    library.index([analyse(text) for text in texts], show_progress=False)
    index = AnswerIndex.build(None, pd.DataFrame({"text": texts}), tmp_path / "index", chunk_rows=4)
    for question in ("Which parcle has a trakcing numer?", "タワー", "यह क्या?", "xq9000"):
        found = index.search(question, first_stage="ngrams")
        scores = library.get_scores(analyse(question))
        order = np.argsort(-scores, kind="stable")[: len(found)]
        assert found["candidate"].tolist() == [texts[place] for place in order] and len(found) > 0
        np.testing.assert_allclose(found["score"], scores[order], rtol=1e-6)
        assert np.count_nonzero(scores > 0) == len(found)


def test_an_faq_s_questions_are_searched_beside_its_answers(tmp_path):
    index = AnswerIndex.build(None, FAQ, tmp_path / "index")
    for stage in ("bm25", "ngrams"):
        for asked, row in (("money", 0), ("tracking", 1), ("modem", 2)):
            found = index.search(asked, k=1, first_stage=stage)
            assert found["candidate"].tolist() == [FAQ["answer"][row]]
            assert found["indexed_question"].tolist() == [FAQ["question"][row]]
    index.add(pd.DataFrame({"question": ["Is there a zebra?"], "answer": ["No."]}))
    assert index.search("zebra", first_stage="bm25")["candidate"].tolist() == ["No."]
    answers = AnswerIndex.build(None, FAQ, tmp_path / "answers", search=["answer"])
    words = {"first_stage": "bm25"}
    assert len(answers.search("money", **words)) == 0 and len(answers.search("tracking", **words)) == 1
    # One question is missing.
    questions = AnswerIndex.build(None, FAQ, tmp_path / "questions", search=["Question"])
    assert len(questions.search("money", **words)) == 1 and len(questions.search("tracking", **words)) == 0


@pytest.mark.parametrize("exact_up_to", [20_000, 100])
def test_an_faq_s_own_questions_are_found_by_their_points(stub, tmp_path, monkeypatch, exact_up_to):
    monkeypatch.setattr(nearest, "EXACT_UP_TO", exact_up_to)
    ranker, n = stub.StubRanker(), 300
    faq = pd.DataFrame({"question": stub.texts(n, seed=5), "answer": stub.texts(n, seed=6)})
    faq.loc[7, "question"] = None  # Its answer stands for it.
    index = AnswerIndex.build(ranker, faq, tmp_path / "index", chunk_rows=200)
    own = faq["question"].fillna(faq["answer"])
    asked = stub.texts(3, seed=7)
    for question in asked:
        distances = ranker.distance(
            ranker.encode_query([question]).astype(float), ranker.encode_document(own).astype(float)
        )
        found = index.search(question, first_stage="questions")
        assert found["candidate"].tolist() == faq["answer"][np.argsort(distances)[:10]].tolist()
        np.testing.assert_allclose(found["score"], 3 - 2 * np.sort(distances)[:10], rtol=1e-5)
    every = index.search(own.tolist(), k=1, first_stage="questions")
    assert every["candidate"].tolist() == faq["answer"].tolist()


@pytest.mark.parametrize("blank", [None, "", " ", "\u200b", "\x00"])
def test_an_answer_stands_for_a_question_that_shows_nothing(stub, tmp_path, blank):
    table = FAQ.assign(question=[*FAQ["question"][:2], blank])
    AnswerIndex.build(stub.StubRanker(), table, tmp_path / "index")
    of_answers, of_questions = (
        np.load(next(tmp_path.glob(f"index/segments/*/{name}.npy"))) for name in ("points", "questions")
    )
    np.testing.assert_array_equal((of_answers == of_questions).all(axis=1), [False, False, True])


def test_a_question_is_encoded_once_for_all_first_stages(stub, tmp_path, monkeypatch):
    index = AnswerIndex.build(stub.StubRanker(), FAQ, tmp_path / "index")
    fusions = ["questions+both", "both", "ngrams+bm25"]
    assert index.first_stages == [*fusions, "nearest", "questions", "bm25", "ngrams"]
    encoded, encode = [], stub.StubRanker.encode_and_tell_known
    monkeypatch.setattr(
        stub.StubRanker, "encode_and_tell_known", lambda *given: encoded.append(given) or encode(*given)
    )
    index.search("w1 w2", first_stage="questions+both")
    assert len(encoded) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": ["title"]}, "no column of texts 'title' to search"),
        ({"first_stages": ["bm52"]}, "'bm52' is none of nearest, questions, exact, bm25, ngrams"),
        ({"first_stages": ["nearest"]}, "'nearest' needs a model"),
        ({"first_stages": ["questions"]}, "'questions' needs a model"),
        ({"question_column": "Frage"}, "no column is called 'Frage'"),
        ({"candidate_column": "Antwort"}, "no column is called Antwort"),
    ],
)
def test_what_cannot_be_built(tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        AnswerIndex.build(None, FAQ, tmp_path / "index", **options)
    assert not (tmp_path / "index").exists()


def test_answers_alone_have_no_points_of_questions(stub, tmp_path):
    for questions in ({}, {"question": [1, 2, 3]}):
        table = FAQ[["answer"]].assign(**questions)
        index = AnswerIndex.build(stub.StubRanker(), table, tmp_path / f"{len(questions)}")
        assert "questions" not in index.first_stages
        with pytest.raises(UserError, match="'questions' needs a column of questions"):
            AnswerIndex.build(stub.StubRanker(), table, tmp_path / "new", first_stages=["questions"])


def test_ngrams_are_for_few_answers_unless_they_are_asked_for(tmp_path, monkeypatch):
    few = [replace(entry, most_answers=2) if entry.name == "ngrams" else entry for entry in FIRST_STAGES]
    monkeypatch.setattr(first_stages, "FIRST_STAGES", tuple(few))
    assert "ngrams" not in AnswerIndex.build(None, FAQ, tmp_path / "three").first_stages
    assert "ngrams" in AnswerIndex.build(None, FAQ[:2], tmp_path / "two").first_stages
    own = AnswerIndex.build(None, FAQ, tmp_path / "own", first_stages=["ngrams"])
    assert own.first_stages == ["ngrams"] and set(own.search("money")["first_stage"]) == {"ngrams"}


def test_any_first_stages_are_fused(index, stub):
    question = stub.texts(1, seed=3)[0]
    two, three = ("nearest", "bm25"), ("ngrams", "nearest", "bm25")
    for name, stages in (("both", two), ("ngrams+both", three), ("both+ngrams+bm25", three)):
        sums = stub.sum_of_shares(index, question, stages)
        found = index.search(question, k=30, first_stage=name)
        np.testing.assert_allclose(found["score"], sorted(sums.values(), reverse=True)[:30])
        np.testing.assert_allclose(found["score"], [sums[each] for each in found["candidate_id"]])
    for name in ("bm25+", "+", "both+lengths"):
        with pytest.raises(UserError, match="no first stage"):
            index.search(question, first_stage=name)


def test_stemmed_words_and_stop_words(tmp_path, command):
    table = pd.DataFrame({"answer": ["He refunds it.", "The refunding of a parcel.", "It is the parcel."]})
    plain = AnswerIndex.build(None, table, tmp_path / "plain")
    index = AnswerIndex.build(None, table, tmp_path / "i", stemmer="english", stop_words="english")
    stage = {"first_stage": "bm25"}
    assert plain.search("refunded", **stage).empty and len(plain.search("the", **stage)) == 2
    assert set(index.search("refunded", **stage)["candidate_id"]) == {"c1", "c2"}
    assert index.search("the", **stage).empty and len(index.search("the", first_stage="ngrams"))
    index.add(pd.DataFrame({"answer": ["They refund the money."]}))
    again = AnswerIndex.open(tmp_path / "i")
    assert set(again.search("refunded", **stage)["candidate_id"]) == {"c1", "c2", "c4"}
    for name in ("stemmer", "stop_words"):
        with pytest.raises(UserError, match=f"{name} .* must be one of .*english"):
            AnswerIndex.build(None, table, tmp_path / "none", **{name: "klingon"})
    table.to_csv(tmp_path / "a.csv", index=False)
    assert command("index", tmp_path / "a.csv", "--output", tmp_path / "c", "--stemmer", "english").code == 0
    assert len(AnswerIndex.open(tmp_path / "c").search("refunded", **stage)) == 2


def test_without_a_model_words_and_letters_are_searched_together(tmp_path):
    table = pd.DataFrame({"text": ["Penicillin was discovered in London.", "The train leaves at noon."]})
    index = AnswerIndex.build(None, table, tmp_path / "index")
    assert index.search("penicilin discoverd", k=1)["candidate"].tolist() == [table["text"][0]]
    found = index.search("train penicilin")
    pd.testing.assert_frame_equal(found, index.search("train penicilin", first_stage="ngrams+bm25"))
    only = AnswerIndex.build(None, table, tmp_path / "words", first_stages=["bm25"])
    assert only.first_stages == ["bm25"] and not len(only.search("penicilin discoverd"))


def test_one_answer_that_is_found_counts_as_the_best(tmp_path):
    index = AnswerIndex.build(None, pd.DataFrame({"text": ["red fox", "grey stone"]}), tmp_path / "index")
    found = index.search("red foxes", first_stage="ngrams+bm25")
    assert found["score"].tolist() == [2.0]
