import json

import pytest

from answer_ranking.cli.data import get, stats
from answer_ranking.data_prep import UserError


def test_stats_of_the_sample_says_sample(capsys):
    stats("sample")
    title, _, *lines = capsys.readouterr().out.rstrip("\n").split("\n")
    assert title == "sample"
    assert {line.split()[0] for line in lines[:6]} == {"train", "dev", "test"}
    get("sample")
    assert "nothing to fetch" in capsys.readouterr().out


def test_stats_of_an_own_table(tmp_path, capsys):
    path = tmp_path / "faq.csv"
    path.write_text("question,candidate,label\nWho is it?,Me.,1\nWho is it?,It is not you.,0\nWhy?,No.,0\n")
    stats(str(path), json=True)
    rows = json.loads(capsys.readouterr().out)["rows"]
    counts = [(row["protocol"], row["questions"], row["pairs"], row["correct"]) for row in rows]
    assert counts == [("all", 2, 3, 1), ("answerable", 1, 2, 1), ("clean", 1, 2, 1)]
    # By hand: "Who is it ?" and "Why ?"; "Me .", "It is not you ." and "No ."
    assert (rows[0]["question_tokens"], rows[0]["candidate_tokens"]) == (3.0, 3.0)
    assert (rows[0]["order"], rows[0]["order_map"]) == ("correct first", 1.0)
    path.write_text("Frage,Antwort,richtig\nWho is it?,Me.,1\nWho is it?,Not you.,0\n,empty,0\n")
    named = {"question_column": "Frage", "candidate_column": "Antwort", "label_column": "richtig"}
    stats(str(path), json=True, drop_bad_rows=True, **named)
    assert [row["pairs"] for row in json.loads(capsys.readouterr().out)["rows"]] == [2, 2, 2]
    with pytest.raises(UserError, match="--variant and --data-home are for the papers' data sets"):
        stats(str(path), "TRAIN")
    for own in (named, {"sheet": "FAQ"}):
        with pytest.raises(UserError, match="are for a table of your own"):
            stats("sample", **own)
    with pytest.raises(UserError, match="has no sheets"):
        stats(str(path), sheet="FAQ", **named)
    path.write_text("question,candidate,label\nWho is it?,Me.,1\nWho is it?,It is not you.,0\nWhy?,No.,0\n")
    stats(str(path))
    assert "THE ORDER GIVES THE LABEL AWAY" in capsys.readouterr().out
