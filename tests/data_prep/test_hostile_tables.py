"""Tables that are damaged, or small files that stand for more than any memory."""

import datetime
import decimal
import io
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import length_of_texts, load_table
from answer_ranking.data_prep.column_names import ColumnNames, EveryColumn
from answer_ranking.data_prep.table_files import read_table_file
from answer_ranking.data_prep.tables import check_table
from answer_ranking.ranking.search.answers import answers_of

ROWS = 10_000


def repeated(text, n=ROWS):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([text]))


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


@pytest.mark.parametrize("column", ["candidate", "source"])
@pytest.mark.parametrize("encoded", ["dictionary", "plain", "prefixes", "fixed"])
def test_a_text_that_recurs_too_often_is_refused_before_it_is_expanded(tmp_path, column, encoded):
    n, path = 300, tmp_path / "bomb.parquet"
    large = {
        "dictionary": repeated("x" * 1_000_000, n),
        "fixed": pa.array([b"x" * 1_000_000] * n, pa.binary(1_000_000)),
    }.get(encoded, pa.array(["x" * 1_000_000] * n))
    columns = {"candidate": pa.array([f"Ann {i}" for i in range(n)]), "source": pa.array(["here"] * n)}
    options = {"use_dictionary": encoded == "dictionary", "compression": "zstd"}
    if encoded == "prefixes":
        options["column_encoding"] = {column: "DELTA_BYTE_ARRAY"}
    pq.write_table(pa.table(columns | {column: large}), path, **options)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(UserError, match=r"bomb\.parquet.* more than"):
        read_table_file(path, EveryColumn())


def test_rows_alone_take_memory_too(tmp_path):
    many = repeated("Who?", 5_000_000)
    path = parquet(tmp_path / "rows.parquet", question=many, candidate=many)
    with pytest.raises(UserError, match=r"rows\.parquet unpacks to more than 33,554,432 bytes"):
        read_table_file(path, ColumnNames())


def test_a_text_that_recurs_is_read_where_there_is_room(tmp_path):
    path = parquet(tmp_path / "fine.parquet", question=repeated("Who?"), candidate=repeated("Ann " * 100))
    table, _, _ = read_table_file(path, ColumnNames())
    assert table["candidate"].tolist() == ["Ann " * 100] * ROWS


def test_a_shared_string_of_a_sheet_counts_in_every_cell(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.setattr(length_of_texts, "MOST_TEXT", 100_000)
    book = openpyxl.Workbook()
    book.active.append(["question", "candidate"])
    for _ in range(200):
        book.active.append(["Who?", "x" * 1_000])
    book.save(tmp_path / "bomb.xlsx")
    with pytest.raises(UserError, match=r"bomb\.xlsx.* more than 1"):
        read_table_file(tmp_path / "bomb.xlsx", ColumnNames())


@pytest.mark.parametrize("name", ["question_id", "candidate_id"])
def test_an_identifier_has_a_length(name):
    table = pd.DataFrame({"question": ["Who?"], "candidate": ["Ann"], "label": [1], name: ["x" * 1_000]})
    assert len(check_table(table, "here")) == 1
    with pytest.raises(UserError, match=f"here, line 1: the {name} has 1,001 characters"):
        check_table(table.assign(**{name: "x" * 1_001}), "here")


def test_an_error_never_holds_a_whole_identifier():
    table = pd.DataFrame({"candidate": ["a", "b"], "candidate_id": ["x" * 100_000] * 2})
    with pytest.raises(UserError) as error:
        answers_of(table)
    assert len(str(error.value)) < 1_000


NESTED = {
    "list": pa.array([["a"], ["b"]]),
    "large_list": pa.array([["a"], None], pa.large_list(pa.string())),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("kind", NESTED)
def test_a_nested_column_is_refused_by_name(tmp_path, kind):
    path = parquet(tmp_path / "t.parquet", candidate=pa.array(["a", "b"]), tags=NESTED[kind])
    with pytest.raises(UserError, match="'tags' holds lists or structures"):
        answers_of(path)
    path = parquet(tmp_path / "q.parquet", question=pa.array(["Who?"] * 2), candidate=NESTED[kind])
    with pytest.raises(UserError, match="'candidate' holds lists or structures"):
        read_table_file(path, ColumnNames())
    # What is not asked for does not matter.
    path = parquet(
        tmp_path / "r.parquet",
        question=pa.array(["Who?"] * 2),
        candidate=pa.array(["a", "b"]),
        x=NESTED[kind],
    )
    assert len(read_table_file(path, ColumnNames())[0]) == 2


PLAIN = {
    "int": [1, None],
    "float": [1.5, None],
    "bool": [True, None],
    "date": [datetime.date(2020, 1, 2), None],
    "time": [datetime.datetime(2020, 1, 2, 3, 4, 5), None],
    "decimal": [decimal.Decimal("1.5"), None],
    "text": ["a", None],
    "null": [None, None],
}


@pytest.mark.parametrize("kind", PLAIN)
def test_every_plain_type_of_parquet_but_bytes_can_be_indexed(tmp_path, kind):
    path = parquet(tmp_path / "t.parquet", candidate=pa.array(["a", "b"]), more=pa.array(PLAIN[kind]))
    rows, _ = answers_of(path)
    assert rows.column_names == ["candidate_id", "candidate", "more"]
    assert rows["more"].null_count == PLAIN[kind].count(None)


def a_sheet():
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in (["question", "candidate"], ["Who?", "Ann"], ["When?", "Now"]):
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def a_parquet():
    file = io.BytesIO()
    words = [f"word {i % 50}" for i in range(500)]
    pq.write_table(pa.table({"question": words, "candidate": words, "year": range(500)}), file)
    return file.getvalue()


def is_refused(path):
    """Read a damaged table; what is refused is named."""
    try:
        read_table_file(path, EveryColumn())
    except UserError as error:
        assert str(path) in str(error)
        return True
    return False


@pytest.mark.parametrize(("suffix", "make"), [(".xlsx", a_sheet), (".parquet", a_parquet)])
def test_damaged_files_end_in_one_kind_of_error(tmp_path, damaged, suffix, make):
    path = tmp_path / f"table{suffix}"
    refused = 0
    for content in damaged(make()):
        path.write_bytes(content)
        refused += is_refused(path)
    assert refused > 8


def test_no_byte_of_what_a_parquet_file_says_of_itself_ends_the_process(tmp_path):
    sound, path = a_parquet(), tmp_path / "a.parquet"
    for place in range(len(sound) - 1_000, len(sound)):
        path.write_bytes(sound[:place] + bytes([70]) + sound[place + 1 :])
        is_refused(path)


def test_too_little_memory_is_no_damage(tmp_path, monkeypatch):
    path = parquet(tmp_path / "t.parquet", candidate=pa.array(["a"]))

    def full(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", full)
    with pytest.raises(UserError, match=r"t\.parquet.* memory"):
        read_table_file(path, EveryColumn())


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_a_header_of_millions_of_names_is_refused_at_once(tmp_path, name, separator):
    (tmp_path / name).write_text("a" + separator * 10**6 + "\n")
    start = time.process_time()
    with pytest.raises(UserError, match=r"1,000,00\d fields"):
        load_table(tmp_path / name)
    assert time.process_time() - start < 2  # of looking at the names, 10


@pytest.mark.parametrize(
    "value", [None, np.float32("nan"), pd.NaT, pd.NA, "\u200b", " \u200b\ufeff ", "\u3164", ""]
)
def test_a_question_that_shows_nothing_is_empty(value):
    table = pd.DataFrame({"question": ["Who?", value], "candidate": ["a", "b"]}, dtype=object)
    with pytest.raises(UserError, match="row 2: the question is empty"):
        load_table(table)
    table.iloc[1, 0] = "\u200bWhy\u200b?"
    assert load_table(table)["question"].tolist() == ["Who?", "\u200bWhy\u200b?"]


def test_no_message_commands_the_terminal(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("question,answer,\x1b[31mred\nWho?,Ann,1\n")
    load_table(path)
    with pytest.raises(UserError) as error:
        load_table(path, columns={"candidate": "Reply"})
    for said in (capsys.readouterr().err, str(error.value)):
        assert "\x1b" not in said and r"\x1b[31mred" in said
