import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.readers.wikiqa import read_wikiqa_tsv

WIKIQA = (
    "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    'Q1\twho "\tD1\tT\tD1-0\t"It is\u2028me .\t1\n'
    'Q1\twho "\tD1\tT\tD1-1\tIt\'s 5" .\t0\n'
)


def test_wikiqa_layout_has_no_quoting():
    table = read_wikiqa_tsv(WIKIQA, "a.tsv")
    assert table["candidate"].tolist() == ['"It is\u2028me .', "It's 5\" ."]
    assert table["candidate_id"].tolist() == ["D1-0", "D1-1"]


def test_another_layout_is_a_user_error():
    with pytest.raises(UserError, match="the column 'SentenceID' is missing"):
        read_wikiqa_tsv(WIKIQA.replace("SentenceID", "Sentence ID"), "a.tsv")
