"""`AnswerIndex` against exact search in float64, bm25s, and the formula of reciprocal rank fusion."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import bm25s
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Vocabulary
from answer_ranking.data_prep.words import words_of
from answer_ranking.models import hyperqa
from answer_ranking.ranking import AnswerIndex, Ranker
from answer_ranking.ranking.search import answers as answers_module
from answer_ranking.ranking.search.confidence import Confidence
from answer_ranking.ranking.search.first_stages import nearest as nearest_stage
from answer_ranking.ranking.search.first_stages import nearest_points, quantised
from answer_ranking.ranking.search.results import as_json

SIMILARITIES = ("hyperbolic", "cosine")


def nearest(ranker, question, texts, k):
    """The places of the nearest texts, in float64, and their scores."""
    point = ranker.encode_query([question]).astype(float)
    distances = ranker.distance(point, ranker.encode_document(texts).astype(float))
    order = np.argsort(distances, kind="stable")[:k]
    return order, 3 - 2 * distances[order]


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("stage", "exact_up_to"), [("nearest", 20_000), ("nearest", 500), ("exact", 500)])
def test_it_finds_the_nearest(stub, answers, tmp_path, monkeypatch, similarity, stage, exact_up_to):
    monkeypatch.setattr(nearest_stage, "EXACT_UP_TO", exact_up_to)
    monkeypatch.setattr(nearest_points, "_FEW", 10)
    ranker = stub.StubRanker(similarity)
    index = AnswerIndex.build(
        ranker, answers, tmp_path / "index", chunk_rows=300, first_stages=["nearest", "exact"]
    )
    assert list(index.manifest.stages) == (["nearest"] if exact_up_to == 500 else [])
    index.add(pd.DataFrame({"text": stub.texts(300, seed=2)}))
    index.delete(["a7", "a400", "c1001"])
    texts = answers["answer"].tolist() + stub.texts(300, seed=2)
    ids = np.array([*answers["candidate_id"], *(f"c{i}" for i in range(1001, 1301))])
    left = ~np.isin(ids, ["a7", "a400", "c1001"])
    questions = stub.texts(20, seed=3)
    found = index.search(questions, k=15, first_stage=stage)
    for question, rows in found.groupby("question", sort=False):
        places, scores = nearest(ranker, question, np.array(texts, object)[left].tolist(), 15)
        assert rows["candidate_id"].tolist() == ids[left][places].tolist()
        assert rows["candidate"].tolist() == np.array(texts, object)[left][places].tolist()
        np.testing.assert_allclose(rows["score"], scores, atol=1e-5)
        assert rows["rank"].tolist() == list(range(1, 16))
    assert found["question_id"].unique().tolist() == [f"q{i}" for i in range(1, 21)]


class Array:
    """Points in memory."""

    def __init__(self, norms):
        draw = np.random.default_rng(0)
        points = draw.normal(size=(5000, 50))
        points *= draw.choice(norms, (5000, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
        self.all, self.dimension = points.astype(np.float32), 50
        self.questions = self.all[draw.choice(5000, 20)] * np.float32(0.99)

    def __len__(self):
        return len(self.all)

    def points(self, rows):
        return self.all[rows]

    def blocks(self, first=0):
        yield self.all[first:]

    def distances(self, question):
        return -self.score(question, self.all)

    @staticmethod
    def score(question, points):
        points, question = points.astype(float), question.astype(float)
        apart = np.square(points - question).sum(axis=1)
        edge = (1 - question @ question) * (1 - np.square(points).sum(axis=1))
        return -np.arccosh(1 + 2 * apart / edge)


def near_the_edge():
    """Points of three norms, and questions near some of them."""
    points = Array([0.3, 0.9, 1 - 1e-5])
    return points, points.questions


def confused_by_float32():
    """Points that are closer to each other than float32 can tell in the lift."""
    points, draw = Array([0.999]), np.random.default_rng(1)
    close = draw.normal(size=50) / 7 + 1e-3 * draw.normal(size=(5000, 50))
    close *= draw.uniform(0.989, 0.999, (5000, 1)) / np.linalg.norm(close, axis=1, keepdims=True)
    points.all = close.astype(np.float32)
    return points, points.all[:100] * np.float32(0.99)


@pytest.mark.parametrize("make", [near_the_edge, confused_by_float32])
def test_neighbours_are_those_of_float64(make):
    points, questions = make()
    found = nearest_points.NearestPoints(points, "hyperbolic").nearest(questions, 10, points.score)
    for question, (rows, near) in zip(questions, found, strict=True):
        distances = points.distances(question)
        assert rows.tolist() == np.argsort(distances, kind="stable")[:10].tolist()
        np.testing.assert_allclose(-near, distances[rows], rtol=1e-9)


@pytest.fixture(scope="module")
def quantised_points(tmp_path_factory):
    """Points, and what an index of very many answers keeps of them."""
    points, folder = Array(np.linspace(0.3, 0.7, 50)), tmp_path_factory.mktemp("quantised")
    quantiser = quantised.train_quantiser(points, "hyperbolic")
    codes = (quantised.quantise((quantiser, "hyperbolic"), block) for block in points.blocks())
    quantised.write_quantised(folder, quantiser, codes)
    return points, quantised.QuantisedPoints(folder, len(points), "hyperbolic")


def test_a_filter_that_leaves_far_points_finds_them_all(quantised_points, monkeypatch):
    monkeypatch.setattr(quantised, "_SCANNED", 0)  # A quarter of the lists is searched, as of many points.
    points, codes = quantised_points
    question = points.questions[:1]
    far = np.argsort(points.distances(question[0]))[-200:]
    keep = np.zeros(len(points), bool)
    keep[far] = True
    chosen = codes.choose(question, 10, keep)[0]
    assert set(chosen[chosen >= 0]) == set(far)


def test_recall_of_quantised_points(quantised_points, monkeypatch):
    monkeypatch.setattr(quantised, "_SCANNED", 0)
    monkeypatch.setattr(quantised, "_PROBED_SHARE", 1)  # Points without neighbourhoods lie in any list.
    points, codes = quantised_points
    search = nearest_points.NearestPoints(points, "hyperbolic", codes, 5000)
    found = search.nearest(points.questions, 10, points.score)
    hits = [
        len(set(rows) & set(np.argsort(points.distances(question))[:10]))
        for question, (rows, _) in zip(points.questions, found, strict=True)
    ]
    assert np.mean(hits) >= 9.9


def test_bm25_is_that_of_bm25s(index, answers, stub):
    library = bm25s.BM25()
    library.index([words_of(text) for text in answers["answer"]], show_progress=False)
    for question in ["W3, w4 w4?", *stub.texts(5, seed=3)]:
        found = index.search(question, k=20, first_stage="bm25")
        scores = library.get_scores(words_of(question))
        order = np.argsort(-scores, kind="stable")[:20]
        assert found["candidate_id"].tolist() == answers["candidate_id"].iloc[order].tolist()
        np.testing.assert_allclose(found["score"], scores[order], rtol=1e-6)


def test_another_ranker_reranks_the_first(index, stub):
    question = stub.texts(1, seed=3)[0]
    first = index.search(question, k=40, first_stage="bm25")
    other = stub.StubRanker(seed=5)
    expected = first.assign(score=other.score([(question, text) for text in first["candidate"]]))
    expected = expected.sort_values("score", ascending=False, kind="stable")[:5]
    found = index.search(question, k=5, first_stage="bm25", rerank=other, rerank_depth=40)
    assert found["candidate_id"].tolist() == expected["candidate_id"].tolist()
    np.testing.assert_allclose(found["score"], expected["score"])
    assert found["rank"].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("stage", ["nearest", "both"])
@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({"topic": ["food", "law"], "year": 2001}, lambda t: t["topic"].isin(["food"]) & (t["year"] == 2001)),
        ({"year": 1900}, lambda t: t["year"] == 1900),
        (["year>=2003", "year < 2007"], lambda t: t["year"].between(2003, 2006)),
        (["year=2000", "topic!=law"], lambda t: (t["year"] == 2000) & (t["topic"] != "law")),
        (["topic is not missing", "year > 2008"], lambda t: t["year"] == 2009),
    ],
)
def test_filters(index, answers, stub, stage, where, rows):
    question = stub.texts(1, seed=3)[0]
    found = index.search(question, k=1000, first_stage=stage, where=where)
    expected = answers[rows(answers)]
    assert set(found["candidate_id"]) <= set(expected["candidate_id"])
    if stage == "nearest":
        places, _ = (
            nearest(stub.StubRanker(), question, expected["answer"].tolist(), 1000)
            if len(expected)
            else ([], 0)
        )
        assert found["candidate_id"].tolist() == expected["candidate_id"].iloc[places].tolist()
    for name in ("topic", "year"):
        values = answers.set_index("candidate_id")[name][found["candidate_id"]]
        assert found[name].tolist() == values.tolist()


def test_a_filter_s_text_is_read_as_the_column_s_type(tmp_path):
    table = pd.DataFrame(
        {
            "text": ["w1 a", "w1 b"],
            "flag": [True, False],
            "ratio": [2001.0, 0.5],
            "day": [date(2020, 1, 1), date(2021, 2, 2)],
            "code": ["3", "4"],
        }
    )
    index = AnswerIndex.build(None, table, tmp_path / "index")
    for where in (
        *({"flag": value} for value in ("True", "true", True)),
        *({"ratio": value} for value in ("2001.0", "2001", 2001)),
        *({"day": value} for value in ("2020-01-01", date(2020, 1, 1))),
        *({"code": value} for value in ("3", 3)),
    ):
        assert index.search("w1", where=where)["candidate_id"].tolist() == ["c1"], where


def test_a_missing_value_is_equal_to_none(tmp_path):
    table = pd.DataFrame({"text": ["w1 a", "w1 b", "w1 c"], "note": ["x", None, "y"], "n": [1, None, 3]})
    index = AnswerIndex.build(None, table, tmp_path / "index")
    for where, ids in (
        (["note is missing"], {"c2"}),
        (["note!=x"], {"c2", "c3"}),
        (["n>=0"], {"c1", "c3"}),
        (["note IS NOT missing", "n != 1"], {"c3"}),
        ("note=x", {"c1"}),
        ({"note": None}, {"c2"}),
    ):
        assert set(index.search("w1", where=where)["candidate_id"]) == ids, where
    wrong = {
        "n>x": "cannot be compared",
        "n ~ 3": "is not a condition",
        "note==x": "is not a condition",
        "note<>x": "!= for <>",
        "note!==x": "is not a condition",
        "n=>1": "is not a condition",
        "m=1": "has no column",
    }
    for where, message in wrong.items():
        with pytest.raises(UserError, match=message):
            index.search("w1", where=[where])


def test_texts_are_not_ordered_as_numbers_or_dates(tmp_path):
    cells = ["text,price,on", "w1 a,9,2020-01", "w1 b,100,2021-01", 'w1 c,"1,000",x']
    (tmp_path / "prices.csv").write_text("\n".join(cells) + "\n")
    index = AnswerIndex.build(None, tmp_path / "prices.csv", tmp_path / "index")
    # As texts "100" and "1,000" come before "50".
    with pytest.raises(UserError, match="such as '1,000', which are not ordered"):
        index.search("w1", where=["price<50"])
    with pytest.raises(UserError, match="'price' holds texts"):
        index.delete(where="price<50")
    # In none of these the letters' order is that of amounts or time.
    for value in ("9,00", "€ 9", "06.01.2024", "6/1/2024", "2024-01-05T09:00:00Z", "2024-01-05 09:00+02:00"):
        with pytest.raises(UserError, match="not ordered as numbers or dates"):
            index.delete(where=f"price>={value}")
    assert len(index) == 3
    assert set(index.search("w1", where=["on<2021-01"])["candidate_id"]) == {"c1"}
    assert set(index.search("w1", where=["on>=w"])["candidate_id"]) == {"c3"}


def test_replacing(index, copy, answers):
    question = "zyx xyz"
    changed = pd.DataFrame({"candidate_id": ["a7", "new"], "answer": [f"{question} now.", question]})
    own = AnswerIndex.open(copy)
    with pytest.raises(UserError, match=r"no .*topic.* would be lost"):
        own.add(changed, replace=True)
    changed = changed.assign(**dict.fromkeys(answers.columns.difference(["candidate_id", "answer"])))
    own.add(changed.assign(topic="own"), replace=True)
    assert len(own) == 1001
    found = own.search(question, first_stage="bm25")
    assert set(found["candidate_id"]) == {"a7", "new"} and (found["topic"] == "own").all()
    old = answers["answer"][7]
    assert "a7" not in set(own.search(old, k=1001, first_stage="bm25")["candidate_id"])
    with pytest.raises(UserError, match="'candidate_id' is missing"):
        own.add(pd.DataFrame({"answer": ["x"]}), replace=True)
    with pytest.raises(UserError, match="more than one row has"):
        own.add(pd.concat([changed, changed]), replace=True)
    assert AnswerIndex.open(copy).manifest == own.manifest


def test_deleting_what_conditions_name(copy, answers):
    own = AnswerIndex.open(copy)
    own.delete(["a0"], where=["year>=2005", "topic=food"])
    gone = (answers["year"] >= 2005) & (answers["topic"] == "food")
    assert not gone[0] and len(own) == 1000 - gone.sum() - 1
    found = AnswerIndex.open(copy).search("w1 w2 w3 w4", k=1000)
    assert set(found["candidate_id"]) <= set(answers["candidate_id"][~gone][1:])
    with pytest.raises(UserError, match="no answer of which this holds"):
        own.delete(where=["year>=2005", "topic=food"])


def test_one_text_is_no_list_of_identifiers(tmp_path):
    table = pd.DataFrame({"candidate_id": ["a", "b", "ab"], "answer": ["w1", "w2", "w3"]})
    index = AnswerIndex.build(None, table, tmp_path / "index")
    with pytest.raises(UserError, match="given as a list"):
        index.delete("ab")
    index.delete(["ab"])
    assert set(index.search(["w1", "w2", "w3"])["candidate_id"]) == {"a", "b"}


def test_no_tables_are_refused(copy, tmp_path):
    with pytest.raises(UserError, match="the list is empty"):
        AnswerIndex.build(None, [], tmp_path / "index")
    with pytest.raises(UserError, match="the list is empty"):
        AnswerIndex.open(copy).add([])


def test_a_spreadsheet_s_empty_columns_are_left_out(tmp_path):
    (tmp_path / "faq.csv").write_text("text,candidate_id,,\nw1 w2,x,,\nw3,y,,\n")
    found = AnswerIndex.build(None, tmp_path / "faq.csv", tmp_path / "index").search("w3")
    assert found["candidate_id"].tolist() == ["y"] and "" not in found.columns


def test_a_model_whose_nearest_answers_are_not_its_best_is_refused(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    raw, turned = hyperqa(vectors, 2, raw_embeddings=True), hyperqa(vectors, 2)
    score = turned.get_layer("matcher").get_layer("score")
    weight, bias = score.get_weights()
    score.set_weights([-weight, bias])
    for model in (raw, turned):
        ranker = Ranker(model, Vocabulary(["w1", "w2"]))
        with pytest.raises(UserError, match="the nearest answers are not this model's best ones"):
            AnswerIndex.build(ranker, pd.DataFrame({"text": ["w1 w2"]}), tmp_path / "index")


def test_questions_of_unknown_words_have_bm25_alone(stub, tmp_path):
    index = AnswerIndex.build(
        stub.StubRanker(), pd.DataFrame({"text": ["w1 zebra", "w2 w3"]}), tmp_path / "i"
    )
    with pytest.warns(UserWarning, match="knows no word of 1 of 2 questions \\(q1\\)"):
        found = index.search(["Zebra", "w2"], k=9, first_stage="nearest")
    assert found[["question_id", "candidate_id"]].to_numpy().tolist() == [["q2", "c2"], ["q2", "c1"]]
    with pytest.warns(UserWarning, match="knows no word"):
        assert index.search("Zebra", first_stage="both")["candidate_id"].tolist() == ["c1"]
    with pytest.warns(UserWarning, match="knows no word"):
        found = index.search("quagga", first_stage="both")
    assert len(found) == 0 and list(found)[:4] == ["question_id", "question", "rank", "score"]


def test_texts_without_words(tmp_path):
    index = AnswerIndex.build(None, pd.DataFrame({"text": ["...", "?!"]}), tmp_path / "index")
    assert len(index) == 2 and len(index.search("who?")) == 0


def test_add_and_delete(copy, stub, answers):
    before, index = AnswerIndex.open(copy), AnswerIndex.open(copy)
    index.add(pd.DataFrame({"candidate_id": ["new"], "text": ["w1 w1 w1"], "topic": ["food"]}))
    question = "w1 w1 w1"
    assert index.search(question, k=1)["candidate_id"].tolist() == ["new"]
    assert len(index) == 1001 and pd.isna(index.search(question, k=1)["year"].iloc[0])
    # The other one keeps the state that it opened.
    assert "new" not in before.search(question, k=2000, first_stage="both")["candidate_id"].tolist()
    index.delete(["new", "a3"])
    ids = set(index.search(question, k=2000)["candidate_id"])
    assert ids == set(answers["candidate_id"]) - {"a3"} and len(index) == 999
    # What was deleted may come again.
    index.add(pd.DataFrame({"candidate_id": ["a3"], "text": ["w1 w1 w1"]}))
    assert AnswerIndex.open(copy).search(question, k=1)["candidate_id"].tolist() == ["a3"]
    with pytest.raises(UserError, match=r"has already the candidate_id 'a3', 'a4'"):
        index.add(pd.DataFrame({"candidate_id": ["x", "a3", "a4"], "text": ["w", "w", "w"]}))
    with pytest.raises(UserError, match=r"has no answer 'new', 'x'"):
        index.delete(["new", "a5", "x"])
    assert len(AnswerIndex.open(copy)) == 1000
    with pytest.raises(UserError, match="has no column 'colour'"):
        index.add(pd.DataFrame({"text": ["w"], "colour": ["red"]}))
    with pytest.raises(UserError, match="another type"):
        index.add(pd.DataFrame({"text": ["w"], "year": ["late"]}))


def test_a_search_while_another_thread_adds_sees_one_state(copy, stub):
    index, done = AnswerIndex.open(copy), threading.Event()

    def search():
        seen = set()
        while not done.is_set():
            seen.add(len(index.search("w1", k=5000)))
        return seen

    with ThreadPoolExecutor(3) as pool:
        searches = [pool.submit(search) for _ in range(3)]
        for i in range(3):
            index.add(pd.DataFrame({"text": stub.texts(100, seed=10 + i)}))
        done.set()
    for each in searches:
        assert each.result() and each.result() <= {1000, 1100, 1200, 1300}
    assert len(index) == 1300


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"answer": []}, "there are no rows"),
        ({"topic": ["x"]}, r"no column is called candidate, answer, answers, text \(found: topic\)"),
        ({"answer": ["a", None]}, "row 2: the candidate is empty"),
        ({"answer": ["a", "b", "c"], "candidate_id": ["x", "x", "y"]}, "more than one row .* 'x'"),
        ({"answer": ["a"], "candidate_id": ["x y"]}, "white space"),
        ({"answer": ["a"], "raw": [b"\xff\xfe"]}, "the column 'raw' holds bytes.*Write it as text"),
        ({"answer": ["a"], "raw": [[b"\xff"]]}, "the column 'raw' holds bytes"),
        ({"answer": ["a"], "raw": [{"part": b"a"}]}, "the column 'raw' holds bytes"),
    ],
)
def test_tables_that_cannot_be_indexed(tmp_path, table, message):
    with pytest.raises(UserError, match=message):
        AnswerIndex.build(None, pd.DataFrame(table), tmp_path / "index")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passage_length": -1}, "passage_length must be at least 0"),
        ({"chunk_rows": 0}, "chunk_rows must be at least 1"),
        ({"search": []}, "search must name one at least"),
        ({"first_stages": []}, "first_stages must name one at least"),
        ({"default_stage": "both"}, "default_stage asks 'nearest'.*choose of bm25, ngrams"),
        ({"confidence": Confidence(("exact",), (1.0,), (0.0,), 0.0)}, "confidence asks 'exact'"),
    ],
)
def test_options_that_no_index_can_have_are_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        AnswerIndex.build(None, pd.DataFrame({"answer": ["It rained."]}), tmp_path / "index", **options)
    assert not (tmp_path / "index").exists()


def asked_as(*ids):
    return pd.DataFrame({"question_id": ids, "question": ["x", "y"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"questions": ["who", ""]}, "question 2 is empty"),
        ({"questions": []}, "no questions"),
        ({"k": 0}, "k must be a whole number, at least 1"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"first_stage": "bm52"}, "no first stage 'bm52'"),
        ({"questions": asked_as("a", "a")}, "row 2: the question_id 'a'"),
        ({"questions": asked_as("a", None)}, "row 2: the question_id is empty"),
        ({"questions": ["who", "pay \ud800"]}, "question 2 holds half of a character"),
        ({"where": {"year": "late"}}, "cannot be compared with 'late'"),
        ({"where": {"topic": "\ud800"}}, r"with '\\ud800': a text holds half of a character"),
        ({"where": ["topic!=\udcff"]}, r"with '\\udcff': a text holds half of a character"),
        ({"where": {"year": list(range(400_000))}}, "10,000 values. Received: 400,000"),
        ({"where": [f"year={year}" for year in range(20_000)]}, "10,000 values. Received: 20,000"),
        ({"min_confidence": 2}, "min_confidence must be from 0 to 1. Received: 2"),
        ({"min_confidence": float("nan")}, "min_confidence must be from 0 to 1. Received: nan"),
    ],
)
def test_what_cannot_be_asked(index, options, message):
    with pytest.raises(UserError, match=message):
        index.search(**{"questions": "w1", **options})


def test_many_values_of_several_types_are_alternatives(index, answers):
    values = [2003, "2004", 2005.0, None, *range(10_000, 19_996)]
    expected = set(answers["candidate_id"][answers["year"].isin([2003, 2004, 2005])])
    for where in ({"year": values}, {"year": {*values[:3]}}, {"year": np.array([2003, 2004, 2005])}):
        assert set(index.search("w1", k=1000, first_stage="nearest", where=where)["candidate_id"]) == expected
    assert index.search("w1", where={"year": []}).empty


def test_an_index_of_which_all_is_deleted_finds_nothing(copy, answers):
    index = AnswerIndex.open(copy)
    index.delete(answers["candidate_id"])
    assert len(index) == 0
    for stage in ("nearest", "bm25", "both"):
        assert len(index.search(["w1", "w2"], first_stage=stage)) == 0


def test_what_is_there_already_is_not_added_again(tmp_path, capsys):
    faq = pd.DataFrame({"question": ["Why?", None, "Who?"], "answer": ["Yes.", "No.", "Ann."]})
    index = AnswerIndex.build(None, faq, tmp_path / "index")
    index.add(faq)
    assert len(index) == 3 and "3 answers are in the index already" in capsys.readouterr().err
    index.delete(["c2"])
    more = pd.DataFrame({"question": ["Why?", None, "When?"], "answer": ["Yes.", "No.", "Yes."]})
    index.add([faq[:1], more])
    found = AnswerIndex.open(tmp_path / "index").search("yes no", k=9, first_stage="bm25")
    assert sorted(found["candidate_id"]) == ["c1", "c4", "c5"]
    named = more.assign(candidate_id=["c1", "x", "y"])
    index.add(named)
    assert len(index) == 4
    index.add(named.assign(candidate_id=["z1", "z2", "z3"]), keep_duplicates=True)
    assert len(index) == 7
    with pytest.raises(UserError, match="has already the candidate_id 'c1'"):
        index.add(named, keep_duplicates=True)


def test_an_index_that_is_there_is_opened_if_that_will_do(copy, answers, tmp_path):
    other = pd.DataFrame({"text": ["w1"]})
    with pytest.raises(UserError, match="is an index already"):
        AnswerIndex.build(None, other, copy)
    assert len(AnswerIndex.build(None, other, copy, exist_ok=True)) == len(answers)
    assert len(AnswerIndex.build(None, other, tmp_path / "new", exist_ok=True)) == 1


def test_odd_values_of_further_columns(stub, tmp_path):
    table = pd.DataFrame({"answer": ["a", "b"], "huge": [2**70, 1]})
    index = AnswerIndex.build(stub.StubRanker(), table, tmp_path / "index")
    found = index.search("a b", first_stage="bm25", where={"huge": str(2**70)})
    assert found["candidate"].tolist() == ["a"]
    with pytest.raises(UserError, match="the table: the column 'topic' holds half of a character"):
        topics = pd.Series(["a", "\ud800"], dtype=object)
        AnswerIndex.build(stub.StubRanker(), table.assign(topic=topics), tmp_path / "other")


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("decoded", [True, False])
def test_an_index_of_categories_takes_further_texts(tmp_path, monkeypatch, decoded, ordered):
    if not decoded:  # as indexes of before were built
        monkeypatch.setattr(answers_module, "_array", lambda column, _: pa.Array.from_pandas(column))
    table = pd.DataFrame({"answer": ["w1 a", "w1 b"], "topic": pd.Categorical(["x", "y"], ordered=ordered)})
    AnswerIndex.build(None, table, tmp_path / "index").add(pd.DataFrame({"answer": ["w1 c"], "topic": ["z"]}))
    found = AnswerIndex.open(tmp_path / "index").search("w1")
    assert dict(zip(found["candidate"], found["topic"], strict=True)) == {
        "w1 a": "x",
        "w1 b": "y",
        "w1 c": "z",
    }


def test_types_of_pandas_own_become_texts(tmp_path):
    days, sparse = pd.period_range("2020", periods=2, freq="D"), pd.arrays.SparseArray([0, 1])
    table = pd.DataFrame({"answer": ["w1 a", "w1 b"], "day": days, "n": sparse})
    found = AnswerIndex.build(None, table, tmp_path / "index").search("w1", where=["day=2020-01-02"])
    assert as_json(found[["day", "n"]]) == '[{"day":"2020-01-02","n":"1"}]'


def test_an_open_index_is_searched_when_its_folder_or_the_working_directory_is_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"answer": [f"w1 x{number}" for number in range(300)]})
    AnswerIndex.build(None, table, "index")
    index = AnswerIndex.open("index")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert index.search("x7", k=1)["candidate"].tolist() == ["w1 x7"]
    index.delete(["c1"])
    assert len(AnswerIndex.open(tmp_path / "index")) == 299 and not list((tmp_path / "elsewhere").iterdir())
    (tmp_path / "index").rename(tmp_path / "moved")
    # Of the 300 texts 128 are read at once: these were not, yet.
    assert index.search("x290", k=1)["candidate"].tolist() == ["w1 x290"]


def test_a_blank_question_of_a_csv_is_missing_and_pairs_are_told_apart(tmp_path):
    (tmp_path / "faq.csv").write_text("question,answer\n ,w1 a\nTea?,Yes. No.\n42,w1 c\n")
    index = AnswerIndex.build(None, tmp_path / "faq.csv", tmp_path / "index")
    assert index.search("w1", where=["indexed_question is missing"])["candidate"].tolist() == ["w1 a"]
    assert index.questions(9) == ["Tea?", "42"]
    # Question and answer, joined by a blank, would be those that are there.
    index.add(pd.DataFrame({"question": ["Tea? Yes.", "Tea?"], "answer": ["No.", "Yes. No."]}))
    assert len(index) == 4
