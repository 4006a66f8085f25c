import csv
import gzip
import io
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.base.files import read_content
from answer_ranking.data_prep import UserError, apply_protocol, load_table, table_files
from answer_ranking.data_prep.column_names import EveryColumn
from answer_ranking.data_prep.tables import Faults, is_blank

ROWS = [
    dict(zip(("question_id", "question", "candidate_id", "candidate", "label"), row, strict=True))
    for row in (
        ("a", "Who?", "1", 'She said "me", then left.', "1"),
        ("a", "Who?", "2", "NA", "0"),
        ("b", "null", "1", "Two\nlines, one cell", "1"),
    )
]


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_quotes_line_ends_and_the_text_na_are_kept(tmp_path):
    write_csv(tmp_path / "a.csv", ROWS)
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    pd.DataFrame(ROWS).to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        assert load_table(tmp_path / name).astype(str).to_dict("records") == ROWS


def test_a_parquet_s_columns_may_not_occur_twice(tmp_path):
    pd.DataFrame({"question": ["a"], "Candidate": ["x"], "candidate": ["y"]}).to_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.raises(UserError, match="'candidate' occurs twice"):
        load_table(tmp_path / "a.parquet")


def test_tsv_has_no_quoting(tmp_path, capsys):
    (tmp_path / "a.tsv").write_text('question\tcandidate\tlabel\nWho?\t"Me\t1\nWho?\tYou"\t0\n')
    assert load_table(tmp_path / "a.tsv")["candidate"].tolist() == ['"Me', 'You"']
    assert "quote" not in capsys.readouterr().err
    # As a spreadsheet writes it.
    text = 'Click ""Here"".'
    (tmp_path / "b.tsv").write_text(f'question\tcandidate\tlabel\nWho?\t"{text}"\t1\nWho?\t"You"\t0\n')
    assert load_table(tmp_path / "b.tsv")["candidate"].tolist() == [f'"{text}"', '"You"']
    assert "1 fields are quoted" in capsys.readouterr().err


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_spreadsheet_of_another_country(tmp_path, separator):
    content = "\ufeff" + separator.join(('"question"', "candidate", " label ", "price, old"))
    content += "\r\n" + separator.join(
        ("Wo, bitte?", f'"Hier{separator} im ""Haus"",\r\nhinten."', "yes", "1,5")
    )
    (tmp_path / "a.csv").write_bytes((content + "\r\n").encode())
    expected = [["q1", "Wo, bitte?", "c1", f'Hier{separator} im "Haus",\nhinten.', 1]]
    assert load_table(tmp_path / "a.csv").to_numpy().tolist() == expected


def test_a_semicolon_in_a_name_separates_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("question,candidate,label,a;b\nx;y,z,1,2\n")
    assert load_table(tmp_path / "a.csv")["question"].tolist() == ["x;y"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_a_table_without_labels(tmp_path, save_table, name):
    table = pd.DataFrame({"question": ["x", "y", "x"], "candidate": ["1", "2", "3"]})
    save_table(table, tmp_path / name)
    read = load_table(tmp_path / name, labelled=False)
    assert list(read.columns) == ["question_id", "question", "candidate_id", "candidate"]
    assert read["question_id"].tolist() == ["q1", "q1", "q2"]
    assert read["candidate_id"].tolist() == ["c1", "c3", "c2"]
    # Pairs alone: all are correct.
    assert load_table(tmp_path / name)["label"].tolist() == [1, 1, 1]


def test_json_lines_as_a_table():
    text = '{"a": 1}\n\n{"b": "x", "a": null}\n'
    table, lines = table_files.read_json_lines(text, Faults("a.jsonl"), table_files.ColumnNames())
    assert table.to_dict("list") == {"a": [1, None], "b": [None, "x"]}
    assert lines == [1, 3]


def test_every_key_of_json_lines_is_a_column_up_to_a_bound():
    def columns(n):
        text = json.dumps({f"k{i}": i for i in range(n)})
        return table_files.read_json_lines(text, Faults("a.jsonl"), EveryColumn())[0]

    assert columns(25).iloc[0].tolist() == list(range(25))
    with pytest.raises(UserError, match=r"a\.jsonl, line 1: more than 1000 different keys"):
        columns(1_001)


def test_parquet_with_missing_values_and_numbers_for_identifiers(tmp_path):
    table = pd.DataFrame({"question": ["x", "x"], "candidate": ["y", None], "label": [1, 0]})
    table.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(UserError, match="row 2: the candidate is empty"):
        load_table(tmp_path / "a.parquet")
    table.assign(candidate=["y", "z"], candidate_id=[7, 8]).to_parquet(tmp_path / "a.parquet")
    assert load_table(tmp_path / "a.parquet")["candidate_id"].tolist() == ["7", "8"]


cell = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\0", exclude_categories=("Cs",)),
    min_size=1,
    max_size=20,
).filter(lambda text: not is_blank(text))


@given(st.lists(st.tuples(cell, cell, st.integers(0, 1)), min_size=1, max_size=8))
@settings(max_examples=40)
def test_every_text_survives_csv_and_json(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("tables")
    rows = sorted(rows, key=lambda row: [other[0] for other in rows].index(row[0]))  # contiguous questions
    records = [dict(zip(("question", "candidate", "label"), row, strict=True)) for row in rows]
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(records[0])
    writer.writerows(rows)
    (folder / "a.csv").write_bytes(buffer.getvalue().encode())
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    for name in ("a.csv", "a.jsonl"):
        table = load_table(folder / name)
        assert list(zip(table["question"], table["candidate"], table["label"], strict=True)) == rows


@pytest.mark.parametrize("value", ["1", "1.0", "true", "YES", 1, 1.0, True, "0.0", "No", " false ", 0])
def test_words_for_labels(tmp_path, value):
    table = pd.DataFrame({"question": ["x"], "candidate": ["y"], "label": [value]})
    table.to_parquet(tmp_path / "a.parquet")
    expected = int(str(value).strip().lower() in ("1", "1.0", "true", "yes"))
    assert load_table(tmp_path / "a.parquet")["label"].tolist() == [expected]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "maybe"}, r"line 5: the label 'maybe' is not 0 or 1"),
        ({"candidate": " \u00a0"}, r"line 5: the candidate is empty"),
        ({"candidate_id": "1"}, r"line 5: the candidate_id '1' occurs twice in question 'b'"),
        ({"candidate_id": "2 b"}, r"line 5: the candidate_id '2 b' holds white space.*Write '2_b'"),
        ({"question_id": "b\u00a0"}, r"line 5: the question_id 'b\\xa0' holds white space.*Write 'b'"),
        ({"question": "Which?"}, r"line 5: the question_id 'b' had another question before"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(tmp_path, change, message):
    # The row before it has a line end inside, so that rows and lines differ.
    good = {"question_id": "b", "question": "null", "candidate_id": "2", "candidate": "x", "label": "0"}
    rows = [ROWS[0], ROWS[2], {**good, **change}]
    with pytest.raises(UserError, match=message) as error:
        load_table(write_csv(tmp_path / "a.csv", rows))
    assert str(tmp_path / "a.csv") in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"question,label\nx,1\n", "the column 'candidate' is missing"),
        ("a.csv", b"question,candidate,label\n", "no rows"),
        ("a.csv", b"question,candidate\n", "no rows"),
        ("a.csv", b'question,candidate\n"x,y\n', "line 2: unexpected end of data"),
        ("a.tsv", b"question\tcandidate\nx\ty\tz\n", "line 2: 3 fields where the header has 2"),
        ("a.csv", b"", "empty"),
        ("a.csv", b"question,question,candidate,label\nx,x,y,1\n", "the column 'question' occurs twice"),
        ("no/a.csv", None, "does not exist"),
        ("a.csv", b"question,candidate,label\nx,y,1\nx,y\n", "line 3: 2 fields where the header has 3"),
        ("a.csv", b"question,candidate,label\nx,y,1\nx,\x81,1\n", "line 3: not UTF-8"),
        ("a.csv", b"question,candidate,label\nx,\xc3\xa9,1\nx,\xe9,1\n", "line 3: not UTF-8"),
        ("a.jsonl", b"[1]\n", "line 1: not a JSON object"),
        ("a.csv", b"question,candidate,label\nx,y\0,1\n", "line 2: NUL"),
        ("a.csv", "question,candidate,label\n".encode("utf-16") + b"x", "damaged UTF-16"),
        ("a.jsonl", b'{"question": "\xe9", "candidate": "y"}\n', "line 1: not UTF-8"),
        ("a.csv", b'question,candidate\nx,"y\nz,w\n', "line 2: unexpected end of data"),
        ("a.tsv", b"question\tcandidate\tlabel\nx\ty\t1\tz\n", "line 2: 4 fields where the header has 3"),
        ("a.jsonl", b'{"question": "x", "candidate": "y", "label": 1}\n{"question"\n', "line 2: not JSON"),
        ("a.jsonl", b'{"question": "x", "candidate": "y"}\n{"question": "x"}\n', "line 2: the cand"),
        ("a.parquet", b"PAR1", "not a readable Parquet file"),
        ("a.csv.gz", gzip.compress(b"question,candidate,label\n" * 99, mtime=0)[:-9], "damaged or cut short"),
        ("a.xls", b"", "must end in"),
        ("a.xlsx", b"", "not a readable Excel file"),
    ],
)
def test_a_bad_file_is_a_user_error(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_table(tmp_path / name)


def test_protocols():
    table = pd.DataFrame({"question_id": list("aabbcc"), "label": [0, 1, 1, 1, 0, 0]})
    kept = {
        rule: apply_protocol(table, rule)["question_id"].tolist() for rule in ("all", "answerable", "clean")
    }
    assert kept == {"all": list("aabbcc"), "answerable": list("aabb"), "clean": list("aa")}
    with pytest.raises(UserError, match="unknown protocol rule 'raw'"):
        apply_protocol(table, "raw")


def test_a_gzip_bomb_is_a_user_error(tmp_path, monkeypatch):
    monkeypatch.setattr("answer_ranking.base.files.MOST_BYTES", 1_000_000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x" * 1_000_001))
    with pytest.raises(UserError, match=r"a\.csv\.gz unpacks to more than 1,000,000 bytes"):
        load_table(tmp_path / "a.csv.gz")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"x" * 1_000_000))
    assert len(read_content(tmp_path / "b.gz")) == 1_000_000


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": {"a": 1}, "candidate": "y", "label": 1}', "line 1: the question is not a text"),
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
