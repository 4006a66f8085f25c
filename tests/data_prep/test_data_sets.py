import pytest

from data_prep import DATASETS, Dataset, UserError, load_dataset, load_own_tables
from data_prep.statistics import table_statistics
from data_prep.tokens import Tokenizer
from data_prep.trecqa import read_pseudo_xml, read_token_files, read_train_all
from data_prep.wikiqa import read_wikiqa_tsv

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
    assert table_statistics(table, Tokenizer(pretokenised=True))["questions"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PSEUDO_XML[:-12], "ends within question 7.2"),
        (PSEUDO_XML.replace("</QApairs>\n", "", 1), "line 16: question 7.1 was not closed"),
        (PSEUDO_XML.replace("Nobody\t", " "), "line 13: the candidate is empty"),
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


def test_token_files(tmp_path):
    columns = {"a.toks": "who ?\nwho ?", "b.toks": "i\x85.\nyou .", "sim.txt": "1\n0", "id.txt": "7.1\n7.1"}
    for name, text in columns.items():
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    table = read_token_files(tmp_path)
    assert table["candidate"].tolist() == ["i\x85.", "you ."]
    (tmp_path / "sim.txt").write_text("1\n")
    with pytest.raises(UserError, match="differ in their numbers of lines"):
        read_token_files(tmp_path)


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


def test_sample_has_the_promised_size():
    dataset = load_dataset("sample")
    counts = {name: table["question_id"].nunique() for name, table in dataset.splits.items()}
    assert sum(counts.values()) >= 120
    for table in dataset.splits.values():
        by_question = table.groupby("question_id")["label"].agg(["size", "sum"])
        assert by_question["size"].between(6, 10).all()
        assert by_question["sum"].between(1, 3).all()
        assert table_statistics(table, Tokenizer(pretokenised=False))["order"] == ""


def test_own_tables_go_the_same_road(tmp_path):
    path = tmp_path / "faq.csv"
    path.write_text("question,candidate,label\nWho?,Me.,1\nWho?,You.,0\n")
    dataset = load_own_tables(path, path, path)
    assert isinstance(dataset, Dataset)
    assert dataset.train.equals(dataset.test)


def test_absent_data_say_how_to_get_them(tmp_path):
    with pytest.raises(UserError, match=r"python -m data_prep get wikiqa.*--data-home or QA_DATA_HOME"):
        load_dataset("wikiqa", data_home=tmp_path)


def test_another_content_is_a_user_error(tmp_path):
    (tmp_path / "wikiqa").mkdir()
    (tmp_path / "wikiqa" / "WikiQA-train.tsv").write_text(WIKIQA)
    with pytest.raises(UserError, match="is not the published file"):
        load_dataset("wikiqa", data_home=tmp_path)


@pytest.mark.parametrize(("name", "variant"), [("wiki", None), ("trecqa", "TRAIN-SOME"), ("wikiqa", "TRAIN")])
def test_unknown_names_are_a_user_error(name, variant):
    with pytest.raises(UserError, match="unknown"):
        load_dataset(name, variant)


@pytest.mark.parametrize("name", DATASETS)
def test_descriptions_are_complete(name):
    description = DATASETS[name]
    assert set(description.protocols.values()) <= {"answerable", "clean"}
    for file in description.files:
        # Without a public address, a file can be checked or the source says where to get it.
        assert len(file.sha256) == 64 or not file.urls
        assert len(file.urls) >= 2 or (not file.urls and "http" in description.source)


@pytest.mark.parametrize(
    ("labels", "order", "order_map"),
    [
        ([1, 1, 0], "correct first", 1.0),
        ([0, 1, 1], "correct last", (1 / 2 + 2 / 3) / 2),
        ([1, 0, 1], "", (1 + 2 / 3) / 2),
        ([1, 1, 1], "", 1.0),
        ([0, 0, 0], "", 0.0),
    ],
)
def test_order_that_gives_the_label_away(labels, order, order_map):
    lines = [f"Q1\twho\tD\tT\tD-{i}\ts{i}\t{label}" for i, label in enumerate(labels)]
    table = read_wikiqa_tsv(WIKIQA.split("\n")[0] + "\n" + "\n".join(lines), "a.tsv")
    counts = table_statistics(table, Tokenizer(pretokenised=True))
    assert counts["order"] == order
    assert counts["order_map"] == pytest.approx(order_map)
