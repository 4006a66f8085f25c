"""Whatever a file holds, a reader gives the right table or a clear error, in little time."""

import csv
import gzip
import hashlib
import io
import json
import re
import struct
import zipfile
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data_prep import Tokenizer, UserError, load_table
from data_prep.antique import read_antique
from data_prep.data_files import DataFiles
from data_prep.description import DataFile
from data_prep.download import _AddressError, _members
from data_prep.files import decode_json_text, decode_text, holds_json, read_content
from data_prep.natural_questions import read_natural_questions
from data_prep.qed import read_qed
from data_prep.registry import DATASETS
from data_prep.semevalcqa import read_lemmatised, read_semeval_xml
from data_prep.squad_sent import read_squad
from data_prep.tables import COLUMNS
from data_prep.trecqa import read_pseudo_xml, read_train_all
from data_prep.wikiqa import WIKIQA, read_wikiqa_tsv
from data_prep.yahooqa import read_yahooqa

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
    "squad": json.dumps(
        {
            "data": [
                {
                    "title": "T",
                    "paragraphs": [
                        {
                            "context": "It rains. At no\u00e9n.",
                            "qas": [
                                {
                                    "id": "1",
                                    "question": "When?",
                                    "answers": [{"text": "At", "answer_start": 10}],
                                }
                            ],
                        }
                    ],
                }
            ]
        },
        ensure_ascii=False,
    ),
    "nq": json.dumps(
        {
            "example_id": 1,
            "question_text": "who",
            "document_text": "<P> I d\u00e9 . </P>",
            "annotations": [{"long_answer": {"candidate_index": 0}}],
            "long_answer_candidates": [{"start_token": 0, "end_token": 5}],
        },
        ensure_ascii=False,
    ),
    "qed": json.dumps(
        {
            "example_id": 1,
            "title_text": "T",
            "question_text": "when",
            "sentence_starts": [0, 10],
            "paragraph_text": "It rains. At no\u00e9n.",
            "answer_spans": [[13, 17]],
        },
        ensure_ascii=False,
    ),
    "antique": "7 U0 7_0 4\n7 Q0 7_1 2\n",
    "csv": 'question,candidate,label\nwho,"me\u00e9, ""I""\nso",1\nwho,you,0\n',
    "tsv": "question\tcandidate\tlabel\nwho\tme\u00e9\t1\n",
    "jsonl": '{"question": "who", "candidate": "me\u00e9", "label": 1}\n',
}

# The files of data sets that they stand for, where these are JSON.
IN_JSON = {
    "train_all": "trecqa/train-all.jsonl",
    "lemmatised": "semeval2016-task3/SemEval2015-Task3-CQA-QL-all3090.lemmatised.jsonl",
    "squad": "squad/train-v1.1.json",
    "nq": "natural-questions/nq-dev-00.jsonl",
    "qed": "qed-nq/qed-dev.jsonlines",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("robust")


def read(name, content, folder):
    if name in ("csv", "tsv", "jsonl"):
        path = folder / f"a.{name}"
        path.write_bytes(content)
        return load_table(path)
    # As `DataFiles` decodes them, by the names that the data sets' files have.
    decode = decode_json_text if name in IN_JSON and holds_json(IN_JSON[name]) else decode_text
    text = decode(content, "a.txt")
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
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_changed_anywhere_gives_a_table_or_a_user_error(folder, name, data):
    content = FILES[name].encode()
    begin = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(begin, min(len(content), begin + 12)))
    noise = data.draw(
        st.binary(max_size=8)
        | st.sampled_from(
            [
                b"[" * 5000,
                b"9" * 5000,
                b"null",
                b"-1",
                b"{}",
                b'"',
                b"\t",
                b"\n",
                b"\x00",
                b"\\ud800",
                b"1e999",
            ]
        )
    )
    table_or_user_error(name, content[:begin] + noise + content[end:], folder)


@pytest.mark.parametrize(
    ("escape", "whole"),
    [
        (r"\ud83d\ude00", True),
        (r"\u00e9\ud83d\ude00\u0041", True),
        (r"\\ud800", True),
        (r"\\\\ud800", True),
        (r"\ud800", False),
        (r"\uDE00", False),
        (r"\ude00\ud83d", False),
        (r"\ud83d\u00e9", False),
        (r"\\\ud800", False),
        (r"\ud83d \ude00", False),
    ],
)
def test_half_of_a_character_in_json_is_a_user_error_that_says_where(escape, whole):
    content = f'{{"a": 1}}\n{{"b": "no{escape}"}}'.encode()
    if whole:
        json.loads(decode_json_text(content, "a.jsonl").splitlines()[1])["b"].encode()
        return
    with pytest.raises(UserError, match=r"a\.jsonl, line 2: \\ud[89a-f][0-9a-f]{2} alone is half of a char"):
        decode_json_text(content, "a.jsonl")


def test_every_data_sets_json_is_known_by_its_name():
    paths = [file.path for description in DATASETS.values() for file in description.files]
    assert {path for path in paths if ".json" in path} == {path for path in paths if holds_json(path)}
    assert set(IN_JSON.values()) <= set(paths)


@pytest.mark.parametrize("name", ["squad/train-v1.1.json", "qed-nq/qed-dev.jsonlines"])
def test_half_of_a_character_in_a_data_set_names_file_and_line(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir()
    content = b'{"a": 1}\n{"b": "\\ud83d."}\n'
    path.write_bytes(content)
    description = replace(WIKIQA, files=(DataFile(name, hashlib.sha256(content).hexdigest(), len(content)),))
    with pytest.raises(UserError, match=rf"{re.escape(str(path))}, line 2: \\ud83d alone"):
        DataFiles(description, tmp_path)(name)


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=50)
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
    assert max(len(token) for text in tokens for token in text) > 1_000_000


def test_a_gzip_bomb_is_a_user_error(tmp_path, monkeypatch):
    monkeypatch.setattr("data_prep.files.MOST_BYTES", 1_000_000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x" * 1_000_001))
    with pytest.raises(UserError, match=r"a\.csv\.gz unpacks to more than 1,000,000 bytes"):
        load_table(tmp_path / "a.csv.gz")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"x" * 1_000_000))
    assert len(read_content(tmp_path / "b.gz")) == 1_000_000


def archive(names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in names.items():
            file.writestr(name, content)
    return buffer.getvalue()


def with_field(content, offset, value):
    """Change a two-byte field in the first local header and in the central directory."""
    central = content.index(b"PK\x01\x02")
    content = bytearray(content)
    struct.pack_into("<H", content, offset, value)
    struct.pack_into("<H", content, central + offset + 2, value)
    return bytes(content)


@pytest.mark.parametrize("change", [(6, 1), (8, 99)], ids=["password", "unknown compression"])
def test_an_archive_that_cannot_be_unpacked_is_an_address_error(tmp_path, change):
    (tmp_path / "a.zip").write_bytes(with_field(archive({"a.txt": b"x" * 100}), *change))
    with pytest.raises(_AddressError, match="damaged or cut short"):
        _members(tmp_path / "a.zip", DataFile("a.txt", "0" * 64, 100))


def test_names_in_an_archive_mean_nothing(tmp_path):
    (tmp_path / "a.zip").write_bytes(archive({"../../b.txt": b"x" * 100, "/tmp/c.txt": b"y" * 9}))
    assert _members(tmp_path / "a.zip", DataFile("a.txt", "0" * 64, 100)) == [b"x" * 100]
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


@given(st.integers(0, 400), st.binary(min_size=1, max_size=6))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_archive_gives_members_or_an_address_error(tmp_path, place, noise):
    content = archive({"a.txt": b"abcdefgh" * 13, "b.txt": b"y" * 9})
    place %= len(content)
    (tmp_path / "a.zip").write_bytes(content[:place] + noise + content[place + len(noise) :])
    try:
        _members(tmp_path / "a.zip", DataFile("a.txt", "0" * 64, 100))
    except _AddressError as error:
        assert "damaged or cut short" in str(error)


@pytest.mark.parametrize(
    ("label", "expected"),
    [("yes", 1), ("No", 0), ("TRUE", 1), (" false ", 0), ("1", 1), ("0.0", 0), ("YES", 1)],
)
def test_words_for_labels(tmp_path, label, expected):
    (tmp_path / "a.csv").write_text(f"question,candidate,label\nx,y,{label}\n")
    assert load_table(tmp_path / "a.csv")["label"].tolist() == [expected]


def test_text_in_other_scripts_and_cells_with_line_breaks(tmp_path):
    rows = [
        ("\u8c01\u5728\u90a3\u91cc\uff1f", "\u6211\u3002\r\n\u4f60\u3002", "1"),
        ("\u0645\u0646\u061f", '"\u0623\u0646\u0627", he said', "0"),
        ("Wer?", "I\u0308ch \U0001f600", "0"),
    ]
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([("question", "candidate", "label"), *rows])
    (tmp_path / "a.csv").write_bytes(("\ufeff" + buffer.getvalue()).encode())
    table = load_table(tmp_path / "a.csv")
    assert table["question"].tolist() == [row[0] for row in rows]
    # Line ends become line feeds, whatever the system that wrote the file.
    assert table["candidate"].tolist() == [row[1].replace("\r\n", "\n") for row in rows]


def test_duplicate_rows_stay_unless_they_have_one_identifier(tmp_path):
    (tmp_path / "a.csv").write_text("question,candidate,label\nx,y,1\nx,y,1\n")
    assert len(load_table(tmp_path / "a.csv")) == 2
    (tmp_path / "a.csv").write_text("question,candidate_id,candidate,label\nx,1,y,1\nx,1,y,1\n")
    with pytest.raises(UserError, match="line 3: the candidate_id '1' occurs twice"):
        load_table(tmp_path / "a.csv")


@pytest.mark.parametrize("label", ["0", "1"])
def test_one_question_with_one_kind_of_candidates(tmp_path, label):
    (tmp_path / "a.csv").write_text(f"question,candidate,label\nx,y,{label}\nx,z,{label}\n")
    assert load_table(tmp_path / "a.csv")["label"].tolist() == [int(label)] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": {"a": 1}, "candidate": "y", "label": 1}', "line 1: the question is no text"),
        ('{"question": "x", "candidate": ["y"], "label": 1}', "line 1: the candidate is no text"),
        ('{"question": "x", "candidate": "\\ud800", "label": 1}', "half of a character"),
        ('{"question": "x", "candidate": "y", "label": [1]}', r"label \[1\] is not 0 or 1"),
        ("[" * 100_000, "line 1: not JSON"),
        ("9" * 5000, "line 1: not"),
    ],
)
def test_json_that_is_no_table(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(UserError, match=message):
        load_table(tmp_path / "a.jsonl")


def test_a_column_twice_is_a_user_error(tmp_path):
    (tmp_path / "a.csv").write_text("question,question,candidate,label\nx,x,y,1\n")
    with pytest.raises(UserError, match="the column 'question' occurs twice"):
        load_table(tmp_path / "a.csv")


def test_parquet_cut_anywhere_is_a_user_error(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"question": ["x"], "candidate": ["y"], "label": [1]}).to_parquet(path)
    content = path.read_bytes()
    for length in range(0, len(content), 37):
        path.write_bytes(content[:length])
        with pytest.raises(UserError, match=r"a\.parquet"):
            load_table(path)
    for place in range(4, len(content) - 8, 61):
        path.write_bytes(content[:place] + b"\xff\x00" + content[place + 2 :])
        try:
            load_table(path)
        except UserError as error:
            assert "a.parquet" in str(error)
