import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.readers.trecqa import read_pseudo_xml, read_train_all
from answer_ranking.data_prep.statistics import table_statistics
from answer_ranking.data_prep.vocabulary import Tokenizer

PSEUDO_XML = """<QApairs id='7.1'>
<question>
Who\tsells\tA\t&\tB\t?
WP\tVBZ\tNN\tCC\tNN\t.
</question>
<positive>
<positive>\tsells\tit\t.
NN\tVBZ\tPRP\t.
me
1
</positive>
<negative>
Nobody\t
NN
</negative>
</QApairs>
<QApairs id='7.2'>
<question>
Why\t?
</question>
</QApairs>
"""


def test_pseudo_xml():
    table = read_pseudo_xml(PSEUDO_XML, "a.xml")
    assert table.to_dict("list") == {
        "question_id": ["7.1", "7.1"],
        "question": ["Who sells A & B ?"] * 2,
        "candidate_id": ["7.1-1", "7.1-2"],
        "candidate": ["<positive> sells it .", "Nobody"],
        "label": [1, 0],
    }
    assert table.attrs["questions_without_candidates"] == 1
    counts = table_statistics({"a": table}, {"all": "all"}, Tokenizer(pretokenised=True))
    assert counts["questions"].item() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PSEUDO_XML[:-12], "ends within question 7.2"),
        (PSEUDO_XML.replace("</QApairs>\n", "", 1), "line 16: question 7.1 was not closed"),
        (PSEUDO_XML.replace("Nobody\t", " "), "line 13: the candidate is empty"),
        (PSEUDO_XML.replace("Nobody\t\nNN\n", ""), "line 13: <negative> is empty"),
        (PSEUDO_XML.replace("</positive>\n", ""), "line 11: <positive> was not closed before <negative>"),
        ("<html>\n", "line 1: '<html>' is not expected here"),
        ("<QApairs id='1'>\n<positive>\nx\n</positive>\n</QApairs>\n", "line 2: <positive> is out of place"),
    ],
)
def test_damaged_pseudo_xml_is_a_user_error(text, message):
    with pytest.raises(UserError, match=message):
        read_pseudo_xml(text, "a.xml")


TRAIN_ALL = (
    '{"question": "Who ?", "candidates": [{"sentence": "I .", "label": 0}, '
    '{"sentence": "You .", "label": 0}]}\n'
    '{"question": "Why ?", "candidates": [{"sentence": "So .", "label": 0}]}\n'
)


def test_train_all_takes_its_labels_from_sim_txt():
    table = read_train_all(TRAIN_ALL, "1\n0\n1\n", "3\n3\n9\n", "a.jsonl")
    assert table["label"].tolist() == [1, 0, 1]
    assert table["question_id"].tolist() == ["3", "3", "9"]
    assert table["candidate"].tolist() == ["I .", "You .", "So ."]


@pytest.mark.parametrize(
    ("labels", "identifiers"),
    [("1\n0\n", "3\n3\n9\n"), ("1\n0\n1\n0\n", "3\n3\n9\n9\n"), ("1\n0\n1\n", "3\n4\n9\n")],
)
def test_train_all_files_that_do_not_fit_are_a_user_error(labels, identifiers):
    with pytest.raises(UserError, match=r"a\.jsonl"):
        read_train_all(TRAIN_ALL, labels, identifiers, "a.jsonl")
