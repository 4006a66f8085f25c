"""Own tables as spreadsheets save them: encodings, names, labels, bad rows, Excel."""

import csv
import io
import itertools
import re
import sys
import zipfile
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answer_ranking.base import files
from answer_ranking.data_prep import UserError, load_table
from answer_ranking.data_prep.excel_tables import write_excel
from answer_ranking.data_prep.own_tables import write_csv
from answer_ranking.ranking.search.shards import tables_in

ROWS = [["Größe?", "groß – 5 €", 1], ["Größe?", "klein", 0]]


def csv_of(rows, header="question;candidate;label"):
    return "\r\n".join([header, *(";".join(map(str, row)) for row in rows), ""])


def read(path):
    return load_table(path)[["question", "candidate", "label"]].to_numpy().tolist()


def save_excel(path, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("another").append(["nothing"])
    book.save(path)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_encodings(tmp_path, capsys, encoding, name):
    text = csv_of(ROWS) if name == "a.csv" else csv_of(ROWS).replace(";", "\t")
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / name).write_bytes((mark + text).encode(encoding))
    assert read(tmp_path / name) == ROWS
    assert ("Windows-1252" in capsys.readouterr().err) == (encoding == "cp1252")


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
def test_a_first_line_names_the_separator(tmp_path, separator):
    path = tmp_path / "a.csv"
    text = csv_of([["a,b", "c", 1], ["", "d", 0]]).replace(",", "\t" if separator == "," else ",")
    path.write_text(f"sep={separator}\r\n" + text.replace(";", separator), newline="")
    with pytest.raises(UserError, match="line 4: the question is empty"):
        load_table(path)
    table = load_table(path, drop_bad_rows=True)
    assert table["candidate"].tolist() == ["c"] and table.attrs["separator"] == separator


@pytest.mark.parametrize(
    ("correct", "wrong"),
    [
        ("WAHR", "Falsch"),
        ("oui", "non"),
        ("si\u0301", "no"),
        ("richtig", "incorrect"),
        ("Y", "n"),
        ("1.00", "0.00"),
    ],
)
def test_labels_in_other_languages(tmp_path, correct, wrong):
    (tmp_path / "a.csv").write_text(csv_of([["q", "a", correct], ["q", "b", wrong]]), encoding="utf-8")
    assert load_table(tmp_path / "a.csv")["label"].tolist() == [1, 0]


def test_labels_that_are_not_there(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("question,answer,gut\nq,a,\nq,b,\n")
    assert load_table(path)["label"].tolist() == [1, 1]
    assert "no column 'label'" in capsys.readouterr().err
    assert load_table(path, columns={"label": "gut"})["label"].tolist() == [1, 1]
    assert "the labels are empty" in capsys.readouterr().err
    path.write_text("question,answer,gut\nq,a,1\nq,b,\n")
    with pytest.raises(UserError, match="line 3: the label is empty"):
        load_table(path, columns={"label": "gut"})
    with pytest.raises(UserError, match=r"'gutt' is missing .*gut.*--label-column"):
        load_table(path, columns={"label": "gutt"})


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_columns_by_the_user_s_names(tmp_path, save_table, suffix):
    names = {"question": "frage ", "candidate": "Antwort", "label": "GUT"}
    # Columns of our own names, which the user does not mean, are any others.
    table = pd.DataFrame(
        {"Frage": ["q"] * 2, "candidate": [3, 4], "Antwort": list("ab"), "Gut": ["ja", "nein"]}
    )
    path = tmp_path / f"a{suffix}"
    save_table(table, path)
    loaded = load_table(path, columns=names)
    assert loaded[["question", "candidate", "label"]].to_numpy().tolist() == [["q", "a", 1], ["q", "b", 0]]
    with pytest.raises(UserError, match="--question-column"):
        load_table(path)


BAD = [
    "a,q,1,x,1",
    "a,q,2,,1",
    "a,q,3,x",
    "a,q,4,x,maybe",
    "a,q,5 5,x,0",
    "a,other,6,x,0",
    "a,q,1,again,0",
    'a,q,"7"x,x,0',
    ",q,8,,9",
    "a,q,9,last,0",
]


def test_all_bad_rows_are_listed_and_may_be_left_out(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["question_id,question,candidate_id,candidate,label", *BAD]))
    with pytest.raises(UserError) as error:
        load_table(path)
    first, *listed, cure = str(error.value).split("\n")
    assert first == f"{path}: 8 rows are wrong." and "--drop-bad-rows" in cure
    assert [line.partition(":")[0] for line in listed] == [f"line {i}" for i in range(3, 11)]
    table = load_table(path, drop_bad_rows=True)
    assert table["candidate"].tolist() == ["x", "last"] and table["question_id"].tolist() == ["a", "a"]
    said = capsys.readouterr().err
    assert str(path) in said and "8 bad rows" in said and "3, 4, 5, 6, 7, 8, 9, 10" in said


def test_only_the_first_bad_rows_are_listed_and_none_must_be_good(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "q", "candidate": "\\ud800", "label": 1}\n{]\n' * 500)
    for drop in (False, True):
        with pytest.raises(UserError, match="1,000 rows are wrong") as error:
            load_table(path, drop_bad_rows=drop)
        lines = re.findall(r"^line (\d+)", str(error.value), re.MULTILINE)
        assert lines == [str(i) for i in range(1, 21)] and "980 more" in str(error.value)
        assert ("--drop-bad-rows" in str(error.value)) == (not drop)


def test_rows_that_repeat_stay_or_go(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("question,candidate,label\nx,y,0\nx,z,0\n x,y ,1\nx,y,0\nw,y,0\nx,z,0\n")
    assert len(load_table(path)) == 6
    table = load_table(path, drop_duplicates=True)
    assert table.sort_values("candidate")[["candidate", "label"]].to_numpy().tolist() == [
        ["y", 0],
        ["y ", 1],
        ["z", 0],
    ]
    assert load_table(path, labelled=False, drop_duplicates=True)["candidate"].tolist() == ["y", "z", "y"]
    assert capsys.readouterr().err.count(f"{path}: 3 rows that repeat another") == 2


def test_excel(tmp_path, capsys):
    path = save_excel(
        tmp_path / "a.xlsx",
        [],
        [None, "Question", "Answer", "price", "label"],
        [None, "Wo?", 7, 1.5, 1.0],
        [],
        ["x", "Wo?", "=1+1", None, True],
        [None, "Wo?", "da", None, False],
    )
    # openpyxl stores no value of a formula.
    with pytest.raises(UserError, match=r"a\.xlsx, row 5: the candidate is empty"):
        load_table(path)
    table = load_table(path, drop_bad_rows=True)
    assert table[["question", "candidate", "label"]].to_numpy().tolist() == [
        ["Wo?", "7", 1],
        ["Wo?", "da", 0],
    ]
    assert table.attrs["separator"] == "," and "(row 5)" in capsys.readouterr().err


def test_errors_and_merged_cells_of_excel_are_explained(tmp_path):
    rows = [["Frage", "answer"], ["q", "a"], ["#N/A", "b"], ["q", "#REF!"], [None, "c"]]
    path = save_excel(tmp_path / "a.xlsx", *rows)
    with pytest.raises(UserError) as error:
        load_table(path, columns={"question": "Frage"}, drop_bad_rows=False)
    _, *lines = str(error.value).splitlines()
    expected = (r"row 3: .*Frage.*#N/A", r"row 4: .*answer.*#REF!", "row 5: .*merged cell")
    assert all(map(re.match, expected, lines))


def test_an_excel_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = save_excel(tmp_path / "a.xlsx", ["question", "candidate", "label"], ["q", "a", 1])
    monkeypatch.setattr(files, "MOST_BYTES", 1_000_000)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 3_000_000)
    with pytest.raises(UserError, match="unpacks to more than 1,000,000 bytes"):
        load_table(path)


def test_xml_that_defines_entities_is_refused(tmp_path):
    path = save_excel(tmp_path / "a.xlsx", ["question", "candidate", "label"], ["q", "a", 1])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    start = b'<!DOCTYPE x [<!ENTITY a "b">]>'
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, start + content if name.startswith("xl/worksheets/sheet1") else content)
    with pytest.raises(UserError, match=r"a\.xlsx is not a readable Excel file"):
        load_table(path)


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    path = save_excel(tmp_path / "a.xlsx", ["question", "candidate"], ["q", "a"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UserError, match=r"pip install 'answer-ranking\[excel\]'"):
        load_table(path)


@given(
    st.lists(st.text("'=+@-\t\rab ,;\"\n").filter(str.strip), min_size=1, max_size=6, unique=True),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
)
@settings(max_examples=50)
@example(["Ann\rcame."], csv.QUOTE_MINIMAL)
def test_texts_like_formulas_are_marked_in_a_file_and_read_again_as_they_were(
    tmp_path_factory, texts, quoting
):
    path = tmp_path_factory.mktemp("marked") / "a.csv"
    table = pd.DataFrame({"question": texts, "candidate": texts})
    with path.open("w", newline="") as file:
        write_csv(table, file, quoting=quoting)
    with path.open(newline="") as file:
        cells = set(itertools.chain(*csv.reader(file)))
    assert not any(cell.startswith(tuple("=+@-\t\r")) for cell in cells)
    expected = [text.replace("\r\n", "\n") for text in texts]
    assert sorted(load_table(path)["candidate"]) == sorted(expected)


def test_numbers_of_every_kind_stay_numbers_in_a_file():
    values = [Decimal("-1.10"), -2, np.float32(-0.5), "-3"]
    file = io.StringIO()
    write_csv(pd.DataFrame({"value": pd.Series(values, dtype=object)}), file)
    assert file.getvalue().split() == ["value", "-1.10", "-2", "-0.5", "'-3"]


def test_a_sheet_holds_no_more_than_excel_does(tmp_path, capsys):
    path = tmp_path / "a.xlsx"
    texts = ["a" * 32_767, "b" * 32_768, "c" * 40_000]
    write_excel(pd.DataFrame({"question": "q", "candidate": texts}), path)
    assert f"{path}: 2 texts are cut after 32,767 characters" in capsys.readouterr().err
    assert load_table(path)["candidate"].str.len().tolist() == [32_767] * 3
    write_excel(pd.DataFrame({"question": "q", "candidate": texts[:1]}), path)
    assert "cut" not in capsys.readouterr().err
    for rows, columns in ((1_048_576, 1), (1, 16_385)):
        with pytest.raises(UserError, match=r"a\.xlsx: .* are more than a sheet has .* Take \.csv"):
            write_excel(pd.DataFrame(0, index=range(rows), columns=range(columns)), path)


def test_a_blank_before_a_quote(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('question, candidate, label\n"Who, then?", "Me, of course", 1\nWho?, "She, ""Ann""", 0\n')
    assert read(path) == [["Who, then?", "Me, of course", 1], ["Who?", 'She, "Ann"', 0]]
    # Blanks and quotes inside a text in quotes are its own.
    path.write_text('question,candidate,label\n"a, ""b""", x,1\n"c, ",y,0\n')
    assert read(path) == [['a, "b"', " x", 1], ["c, ", "y", 0]]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "\u3069\u3053\u3067\u3059\u304b,\u6771\u4eac\u3067\u3059"),
        ("gbk", "\u4f60\u5728\u54ea\u91cc,\u6211\u5728\u5317\u4eac"),
        ("cp1251", "\u0433\u0434\u0435 \u043e\u043d\u0430,\u043e\u043d\u0430 \u0437\u0434\u0435\u0441\u044c"),
    ],
)
def test_encodings_of_other_letters_are_refused_by_name(tmp_path, encoding, text):
    path = tmp_path / "a.csv"
    path.write_bytes(f"question,candidate\n{text}\n".encode(encoding))
    with pytest.raises(UserError, match=r"a\.csv: not UTF-8.*Shift-JIS, GBK.*UTF-8"):
        load_table(path)


def test_the_first_sheet_that_is_not_hidden_is_read_and_the_others_are_named(tmp_path, capsys):
    path, book = tmp_path / "a.xlsx", openpyxl.Workbook()
    book.active.title = "Old"
    for name in ("Now", "More"):
        book.create_sheet(name)
    for sheet in book:
        sheet.append(["question", "candidate", "label"])
        sheet.append(["q", sheet.title, 1])
    book["Old"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    assert read(path) == [["q", "Now", 1]]
    said = capsys.readouterr().err
    assert all(word in said for word in ("'Now'", "'Old' (hidden)", "'More'", "the option sheet"))
    assert load_table(path, sheet="Old")["candidate"].tolist() == ["Old"]
    assert not capsys.readouterr().err
    with pytest.raises(UserError, match="no sheet is called 'Olds'"):
        load_table(path, sheet="Olds")
    (tmp_path / "a.csv").write_text("question,candidate\nq,a\n")
    with pytest.raises(UserError, match="has no sheets"):
        load_table(tmp_path / "a.csv", sheet="Old")


def test_control_characters_as_excel_escapes_them(tmp_path):
    rows = [["question", "candidate", "label"], ["q", "one_x000D_\ntwo", 1], ["q", "_x005F_x000D_", 0]]
    assert read(save_excel(tmp_path / "a.xlsx", *rows)) == [["q", "one\ntwo", 1], ["q", "_x000D_", 0]]


def test_the_mark_of_an_open_file_is_no_table(tmp_path):
    save_excel(tmp_path / "a.xlsx", ["candidate"], ["Ann"])
    (tmp_path / "~$a.xlsx").write_bytes(b"\x04user")
    with pytest.raises(UserError, match="open"):
        load_table(tmp_path / "~$a.xlsx")
    assert tables_in(tmp_path) == [tmp_path / "a.xlsx"]


def test_questions_that_differ_in_blanks_and_capitals_alone_are_one(tmp_path, capsys):
    rows = [["Who is it?", "a", 1], [" Who  is it?", "b", 0], ["who is IT? ", "c", 0], ["Why?", "d", 1]]
    (tmp_path / "a.csv").write_text(csv_of(rows))
    table = load_table(tmp_path / "a.csv")
    assert table["question"].tolist() == ["Who is it?"] * 3 + ["Why?"]
    assert table["question_id"].tolist() == ["q1"] * 3 + ["q2"]
    assert "2 spellings of questions differ" in capsys.readouterr().err
    # Those who name questions say themselves which are one.
    named = pd.DataFrame(rows, columns=["question", "candidate", "label"]).assign(question_id=list("abcd"))
    table = load_table(named)
    assert table["question_id"].tolist() == list("abcd") and table["question"].tolist()[1] == " Who  is it?"


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx", ".parquet"])
def test_where_labels_are_not_found_the_columns_are_named_as_they_are_there(
    tmp_path, save_table, capsys, suffix
):
    path = tmp_path / f"a{suffix}"
    save_table(pd.DataFrame({"Question": ["q"], "Answer": ["a"], "labels": [0]}), path)
    load_table(path)
    assert "found: Question, Answer, labels;" in capsys.readouterr().err
    frame = pd.read_csv(io.StringIO("Question,Answer,labels\nq,a,0"))
    assert load_table(frame).attrs == {"separator": ","} and not frame.attrs
    assert "found: Question, Answer, labels;" in capsys.readouterr().err


def test_blank_lines_before_the_header(tmp_path):
    (tmp_path / "a.csv").write_text("\n\n" + csv_of(ROWS))
    assert read(tmp_path / "a.csv") == ROWS
