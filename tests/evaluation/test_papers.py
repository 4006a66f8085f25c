import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.papers import PAPERS_FILE, read_papers


def test_all_printed_values_are_there_and_their_units_make_fractions():
    papers = read_papers()
    assert set(papers.printed["paper"]) == set(papers.papers)
    metrics = papers.printed[papers.printed["metric"].isin(["map", "mrr", "p@1"])]
    for row in metrics.itertuples():
        assert 0.03 < float(row.value) / (100 if row.percent else 1) < 1, row


def test_values_are_those_of_the_papers():
    # HyperQA, Table 2; CTRN, Table 6; Attentive Pooling, Table 3; Cosinet, Table 4.
    printed = read_papers().printed.set_index(["paper", "table", "dataset", "model", "metric"])["value"]
    assert printed["hyperqa", "2", "wikiqa", "HyperQA", "map"] == "0.712"
    assert printed["ctrn", "6", "trecqa-raw/TRAIN", "CTRN", "map"] == "0.7582"
    assert printed["attentive_pooling", "3", "insuranceqa", "AP-CNN", "accuracy_test1"] == "69.8"
    assert printed["cosinet", "4", "wikiqa", "Cosinet list BiRNN", "map"] == "75.62"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('table = "2"', 'tabel = "2"', r"lacks the key 'table'"),
        ('title = "HyperQA', 'titel = "HyperQA', r"is not as its first lines say .*titel"),
        ('["PV", "0.511",', '["PV",', r"is not as its first lines say"),
        ("[papers.hyperqa]", "[papers.hyperqa", r"is not as its first lines say"),
    ],
)
def test_a_broken_file_is_named(tmp_path, old, new, message):
    path = tmp_path / "papers.toml"
    text = PAPERS_FILE.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_papers(path)
    with pytest.raises(UserError, match=r"absent\.toml does not exist"):
        read_papers(tmp_path / "absent.toml")
