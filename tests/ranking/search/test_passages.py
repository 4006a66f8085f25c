"""Long answers, split into passages: of each answer the best is found."""

import time

import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.search.passages import passages_of

LONG = "The parcel comes by rail. It takes five days. A voucher is sent by post. Keep it dry."
TABLE = pd.DataFrame({"answer": [LONG, "A parcel is a box."], "page": ["one", "two"]})


def test_passages_end_with_sentences_and_keep_all_words():
    assert passages_of(LONG, 50) == [LONG[:45], LONG[46:]]
    for length in (1, 7, 20, 1000):
        passages = passages_of(f"{LONG}\n\n{LONG} 我们去北京。明天去上海。", length)
        assert max(map(len, passages)) <= length
        assert "".join("".join(passages).split()) == "".join(f"{LONG}{LONG}我们去北京。明天去上海。".split())


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\t"])
def test_words_stay_whole_whatever_stands_between_them(blank):
    words = ["The", "ferry", "to", "the", "island", "of", "Zanzibar", "leaves", "at", "noon"]
    for length in (10, 20, 30):
        assert " ".join(passages_of(blank.join(words), length)).split() == words


def test_a_long_run_of_full_stops_is_split_quickly():
    start = time.process_time()
    passages = passages_of("." * 20_000 + "x. Ann came.", 400)
    assert time.process_time() - start < 2  # six when each full stop was looked at again
    assert "".join(passages) == "." * 20_000 + "x. Ann came." and passages[0] == "." * 400


def test_an_answer_is_found_once_by_its_best_passage(tmp_path):
    index = AnswerIndex.build(None, TABLE, tmp_path / "index", passage_length=30)
    assert len(index) == 2 and index.manifest.rows == 5
    found = index.search("parcel voucher", first_stage="bm25")
    assert found[["rank", "page"]].to_numpy().tolist() == [[1, "one"], [2, "two"]]
    assert found["candidate"].tolist() == ["A voucher is sent by post.", "A parcel is a box."]
    index.add(pd.DataFrame({"answer": ["Snow fell. Then came rain, and more rain."], "page": ["three"]}))
    assert len(index) == 3
    only = index.search("snow or rain?", first_stage="bm25")
    assert len(only) == 1 and only["page"].tolist() == ["three"]
    index.delete(only["candidate_id"].tolist())
    assert len(AnswerIndex.open(tmp_path / "index")) == 2
    assert not len(index.search("snow or rain?", first_stage="bm25"))
    index.add(pd.DataFrame({"candidate_id": ["c1"], "answer": ["Short."], "page": ["one"]}), replace=True)
    assert len(index) == 2 and index.search("voucher").empty
    with pytest.raises(UserError, match="has already the candidate_id 'c1'"):
        index.add(TABLE.assign(candidate_id=["c1", "c9"]))


@pytest.mark.parametrize("stage", ["bm25", "ngrams", "ngrams+bm25"])
def test_an_answer_of_many_passages_crowds_out_no_others(tmp_path, stage):
    many = " ".join(["The parcel is sent by rail."] * 500)
    others = [
        "A parcel came by, in the very long sentence of somebody.",
        "It rained, nobody knows of a parcel.",
    ]
    index = AnswerIndex.build(None, pd.DataFrame({"answer": [many, *others]}), tmp_path, passage_length=60)
    found = index.search(["sent parcel", "rained"], k=3, first_stage=stage)
    ids = found.groupby("question")["candidate_id"].agg(list)
    assert ids["sent parcel"][0] == "c1" and set(ids["sent parcel"]) == {"c1", "c2", "c3"}
    assert ids["rained"][0] == "c3"
    index.delete(["c1"])
    assert set(index.search("sent parcel", k=3, first_stage=stage)["candidate_id"]) == {"c2", "c3"}
    assert len(index) == 2


def test_a_long_answer_is_not_copied_for_each_of_its_passages(tmp_path):
    # 16,000 passages of half a megabyte would be 8 GB, and more than an array of texts can hold.
    table = pd.DataFrame({"answer": ["a parcel by rail. " * 30_000], "page": ["one"]})
    index = AnswerIndex.build(None, table, tmp_path, passage_length=35, first_stages=["bm25"])
    assert index.manifest.rows >= 15_000 and len(index) == 1
    assert index.search("parcel")[["candidate_id", "page"]].to_numpy().tolist() == [["c1", "one"]]
