import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answer_ranking.base.files import decode_text
from answer_ranking.data_prep import Tokenizer, UserError, load_table
from answer_ranking.data_prep.downloads.data_files import _refuse_half_characters
from answer_ranking.data_prep.readers.antique import read_antique
from answer_ranking.data_prep.readers.natural_questions import read_natural_questions
from answer_ranking.data_prep.readers.qed import read_qed
from answer_ranking.data_prep.readers.semevalcqa import read_lemmatised, read_semeval_xml
from answer_ranking.data_prep.readers.squad_sent import read_squad
from answer_ranking.data_prep.readers.trecqa import read_pseudo_xml, read_train_all
from answer_ranking.data_prep.readers.wikiqa import read_wikiqa_tsv
from answer_ranking.data_prep.readers.yahooqa import read_yahooqa
from answer_ranking.data_prep.tables import COLUMNS

# One small, right file per reader, in the released format; the fuzzing cuts it, changes it and fills it up.
FILES = {
    "wikiqa": (
        "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
        "Q1\twho\tD1\tT\tD1-0\tM\u00e9 .\t1\nQ1\twho\tD1\tT\tD1-1\tYou .\t0\n"
    ),
    "trecqa": (
        "<QApairs id='1'>\n<question>\nWho\t?\n</question>\n<positive>\nI\u00e9\t.\n</positive>\n"
        "<negative>\nYou\t.\n</negative>\n</QApairs>\n"
    ),
    "train_all": (
        '{"question": "Who ?", "candidates": [{"sentence": "I\u00e9 .", "label": 0}, {"sentence": "x"}]}\n'
    ),
    "semeval": (
        '<xml><Thread THREAD_SEQUENCE="Q1"><RelQuestion RELQ_ID="Q1"><RelQSubject>Bank</RelQSubject>'
        '<RelQBody>Which?</RelQBody></RelQuestion><RelComment RELC_ID="Q1_C1" RELC_RELEVANCE2RELQ="Good">'
        "<RelCText>Min\u00e9.</RelCText></RelComment></Thread></xml>"
    ),
    "lemmatised": (
        '{"qid": "Q1", "subject": "a", "body": "b", "comments": [{"text": "m\u00e9", "label": "Bad"}]}\n'
    ),
    "squad": (
        '{"data": [{"title": "T", "paragraphs": [{"context": "It rains. At no\u00e9n.", "qas": [{"id": "1", '
        '"question": "When?", "answers": [{"text": "At", "answer_start": 10}]}]}]}]}'
    ),
    "nq": (
        '{"example_id": 1, "question_text": "who", "document_text": "<P> I d\u00e9 . </P>", "annotations": '
        '[{"long_answer": {"candidate_index": 0}}], "long_answer_candidates": [{"start_token": 0, '
        '"end_token": 5}]}'
    ),
    "qed": (
        '{"example_id": 1, "title_text": "T", "question_text": "when", "sentence_starts": [0, 10], '
        '"paragraph_text": "It rains. At no\u00e9n.", "answer_spans": [[13, 17]]}'
    ),
    "antique": "7 U0 7_0 4\n7 Q0 7_1 2\n",
    "csv": 'question,candidate,label\nwho,"me\u00e9, ""I""\nso",1\nwho,you,0\n',
    "tsv": "question\tcandidate\tlabel\nwho\tme\u00e9\t1\n",
    "jsonl": '{"question": "who", "candidate": "me\u00e9", "label": 1}\n',
}


# `DataFiles` refuses half of a character in these.
IN_JSON = ("train_all", "lemmatised", "squad", "nq", "qed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("robust")


def read(name, content, folder):
    if name in ("csv", "tsv", "jsonl"):
        path = folder / f"a.{name}"
        path.write_bytes(content)
        return load_table(path)
    text = decode_text(content, "a.txt")
    if name in IN_JSON:
        _refuse_half_characters(text, "a.txt")
    readers = {
        "wikiqa": read_wikiqa_tsv,
        "trecqa": read_pseudo_xml,
        "semeval": read_semeval_xml,
        "lemmatised": read_lemmatised,
        "qed": read_qed,
    }
    if name == "train_all":
        return read_train_all(text, "1\n0\n", "7\n7\n", "a.txt")
    if name == "squad":
        return read_squad(text, "a.txt", folder)
    if name == "nq":
        return read_natural_questions(text.split("\n"), "a.txt")
    if name == "antique":
        return read_antique("7_0\tx\n7_1\ty\n", "7\twhy\n", text, ("c.txt", "q.txt", "a.txt"))
    return readers[name](text, "a.txt")


def table_or_user_error(name, content, folder):
    try:
        table = read(name, content, folder)
    except UserError as error:
        assert "a." in str(error)
        return
    assert set(COLUMNS) <= set(table.columns)
    assert set(table["label"]) <= {0, 1}
    assert table[list(COLUMNS)].notna().all().all()
    table["candidate"].str.encode("utf-8")


@pytest.mark.parametrize("name", FILES)
def test_the_right_file_is_read(folder, name):
    assert len(read(name, FILES[name].encode(), folder))


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_anywhere_gives_its_table_or_a_user_error(folder, name):
    content = FILES[name].encode()
    for length in range(len(content)):
        table_or_user_error(name, content[:length], folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-7"])
def test_another_encoding_gives_a_user_error_or_the_table(folder, name, encoding):
    table_or_user_error(name, FILES[name].encode(encoding, "replace"), folder)


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_changed_anywhere_gives_a_table_or_a_user_error(folder, name, data):
    content = FILES[name].encode()
    begin = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(begin, min(len(content), begin + 12)))
    pieces = [b"[" * 5000, b"9" * 5000, *rb"null -1 {} \ud800 1e999".split(), b'"', b"\t", b"\n", b"\x00"]
    noise = data.draw(st.binary(max_size=8) | st.sampled_from(pieces))
    table_or_user_error(name, content[:begin] + noise + content[end:], folder)


def test_a_page_told_in_thousands_of_paragraphs_is_refused(folder):
    candidate = '{"start_token": 0, "end_token": 5}'
    content = FILES["nq"].replace(candidate, ", ".join([candidate] * 100))
    with pytest.raises(UserError, match="longer than the page"):
        read("nq", content.encode(), folder)


@pytest.mark.parametrize(
    ("name", "identifier"), [("lemmatised", '"Q1"'), ("nq", '"example_id": 1'), ("qed", '"example_id": 1')]
)
@pytest.mark.parametrize("value", ["{}", "[]", "null", "true", "1.5", '" "'])
def test_what_is_no_identifier_is_refused(folder, name, identifier, value):
    key = identifier.partition(":")[0] + ": " if ":" in identifier else ""
    with pytest.raises(UserError, match=r"a\.txt, line 1: .*identifier"):
        read(name, FILES[name].replace(identifier, key + value, 1).encode(), folder)


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_any_bytes_are_no_yahooqa(content):
    with pytest.raises(UserError, match=r"env\.pkl"):
        read_yahooqa(content, "env.pkl")


@pytest.mark.parametrize("name", FILES)
def test_a_huge_field_is_read(folder, name):
    content = FILES[name].encode().replace("\u00e9".encode(), "\u00e9".encode() * 1_500_000, 1)
    if name in ("squad", "qed", "antique"):
        table_or_user_error(name, content, folder)
        return
    table = read(name, content, folder)
    assert table["candidate"].str.len().max() > 1_000_000
    tokens = Tokenizer(pretokenised=False)(table["candidate"].tolist())
    assert max(sum(map(len, text)) for text in tokens) > 1_000_000
