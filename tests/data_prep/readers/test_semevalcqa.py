import gzip
import zipfile

import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.data_prep.readers.rows import join_tables
from answer_ranking.data_prep.readers.semevalcqa import (
    read_lemmatised,
    read_semeval_xml,
    unlabelled_texts,
)
from answer_ranking.data_prep.statistics import dataset_statistics

THREAD = """<Thread THREAD_SEQUENCE="{name}">
<RelQuestion RELQ_ID="{name}" RELQ_DATE="2010-01-01 10:00:00" RELQ_USERID="U1" RELQ_USERNAME="ann">
<RelQSubject>Umbrellas &amp; rain</RelQSubject><RelQBody> Where are
they sold?</RelQBody></RelQuestion>
{comments}</Thread>"""


COMMENT = """<RelComment RELC_ID="{name}" RELC_DATE="2010-01-01 11:00:00" RELC_RELEVANCE2RELQ="{label}">
<RelCText>{text}</RelCText></RelComment>
"""


DOCTYPE = "<!DOCTYPE xml [\n<!ELEMENT xml (Thread*)>\n]>\n"


def xml(*threads, doctype=DOCTYPE):
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n{doctype}<xml version="1.0">\n'
        + "\n".join(threads)
        + "</xml>"
    )


def thread(name, *comments):
    texts = [
        COMMENT.format(name=f"{name}_C{number}", label=label, text=text)
        for number, (label, text) in enumerate(comments, start=1)
    ]
    return THREAD.format(name=name, comments="".join(texts))


FIRST = thread(
    "Q1_R1", ("Bad", "Why?"), ("Good", "In the\nmarket, caf\u00e9 side."), ("PotentiallyUseful", "It rains.")
)


def test_official_xml():
    table = read_semeval_xml(
        xml(FIRST, thread("Q1_R4", ("Good", " "), ("Bad", "No.")), thread("Q2_R1")), "a.xml"
    )
    assert table.to_dict("list") == {
        "question_id": ["Q1_R1"] * 3 + ["Q1_R4"],
        "question": ["Umbrellas & rain Where are they sold?"] * 4,
        "candidate_id": ["Q1_R1_C1", "Q1_R1_C2", "Q1_R1_C3", "Q1_R4_C2"],
        "candidate": ["Why?", "In the market, caf\u00e9 side.", "It rains.", "No."],
        "label": [0, 1, 0, 0],
    }
    assert table.attrs == {"questions_without_candidates": 1, "skipped": {"comments without text": 1}}


LAUGHS = (
    '<!DOCTYPE xml [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{i} "{f"&a{i - 1 if i > 1 else str()};" * 10}">' for i in range(1, 10))
    + "]>"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (xml(FIRST)[:-30], r"line \d+: not well-formed XML"),
        ("", "not well-formed XML"),
        (xml(FIRST.replace("Why?", "&a9;"), doctype=LAUGHS), "declares XML entities"),
        (xml(FIRST).replace("Thread", "Faden"), "no <Thread>"),
        (xml(FIRST, thread("Q2").replace("Thread", "Faden")), "thread Q2: not a <Thread> of one"),
        (xml(FIRST.replace("RELQ_ID=", "ID=")), "thread Q1_R1: no <RelQuestion"),
        (xml(FIRST.replace("RelCText", "RelCClean")), "comment Q1_R1_C1: no <RelCText>"),
        (xml(FIRST.replace('"Good"', '"?"')), r"question Q1_R1, comment 2: the label '\?' is not one of"),
        (xml(FIRST, FIRST), "occurs twice"),
        (xml("<a>" * 200_000 + "</a>" * 200_000), "no <Thread>"),
        (xml(FIRST).replace("Why", "W\x00hy"), "a.xml"),
    ],
)
def test_damaged_or_hostile_xml_is_a_user_error(text, message):
    with pytest.raises(UserError, match=message) as error:
        read_semeval_xml(text, "a.xml")
    assert str(error.value).startswith("a.xml")


def test_a_question_of_two_files_is_refused():
    parts = [read_semeval_xml(xml(FIRST), "a.xml")] * 2
    with pytest.raises(UserError, match=r"the question 'Q1_R1' occurs in two of the files"):
        join_tables(parts, "both")


LINE = (
    '{"qid": "Q7", "subject": "umbrella", "body": "where be it sell", "comments": '
    '[{"text": "in market", "label": "Good"}, {"text": " ", "label": "Bad"}]}'
)


def test_lemmatised_lines():
    table = read_lemmatised(f"{LINE}\n{LINE.replace('Q7', 'Q8')}\n", "a.jsonl", frozenset({"Q8"}))
    assert table.to_dict("records") == [
        {
            "question_id": "Q7",
            "question": "umbrella where be it sell",
            "candidate_id": "Q7_C1",
            "candidate": "in market",
            "label": 1,
        }
    ]
    assert table.attrs["skipped"] == {"comments without text": 1}


@pytest.mark.parametrize(
    "line", ["{", "[]", "3", '"Q7"', LINE.replace("Good", "?"), LINE.replace("qid", "id"), "[" * 100_000]
)
def test_damaged_lemmatised_lines_are_a_user_error(line):
    with pytest.raises(UserError, match=r"a\.jsonl, line 2: not a thread"):
        read_lemmatised(f"{LINE}\n{line}\n", "a.jsonl")


@pytest.mark.parametrize("kind", ["", ".gz", ".zip"])
def test_unannotated_texts_are_preferred(tmp_path, kind):
    folder = tmp_path / "semeval2016-task3"
    folder.mkdir()
    path = folder / f"QL-unannotated-data-subtaskA.xml{kind}"
    content = xml(FIRST, thread("Q2_R1", ("N/A", " "))).encode()
    if kind == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("../../outside.xml", content)
    else:
        path.write_bytes(gzip.compress(content) if kind else content)
    texts, origin = unlabelled_texts(None, tmp_path, lowercase=True)
    assert origin == "the task's unannotated text"
    expected = [
        ["umbrellas", "&", "rain"],
        ["where", "are", "they", "sold", "?"],
        ["why", "?"],
        ["in", "the", "market", ",", "caf\u00e9", "side", "."],
        ["it", "rains", "."],
        ["umbrellas", "&", "rain"],
        ["where", "are", "they", "sold", "?"],
    ]
    assert list(texts) == expected
    assert not (tmp_path / "outside.xml").exists()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("", xml(FIRST.replace("Why?", "&a9;"), doctype=LAUGHS).encode()),
        ("", xml(FIRST).replace("utf-8", "utf-99").encode()),
        (".gz", gzip.compress(xml(FIRST).encode(), mtime=0)[:-20]),
        (".zip", b"PK\x03\x04"),
    ],
)
def test_damaged_unannotated_texts_are_a_user_error(tmp_path, kind, content):
    (tmp_path / "semeval2016-task3").mkdir()
    (tmp_path / "semeval2016-task3" / f"QL-unannotated-data-subtaskA.xml{kind}").write_bytes(content)
    with pytest.raises(UserError, match=r"QL-unannotated.*etch"):
        list(unlabelled_texts(None, tmp_path, lowercase=True)[0])


@pytest.mark.real_data
def test_real_counts(real_folder):
    real_data_home = real_folder("semeval2016-task3").parent
    original = dataset_statistics(load_dataset("semevalcqa", None, real_data_home)).set_index(
        ["split", "protocol"]
    )
    counts = original[["questions", "pairs", "correct"]].apply(tuple, axis=1).to_dict()
    # Part 2 of 2016, dev and test of 2015, as the distribution's README has them.
    assert counts["train", "all"] == (379 + 291 + 319, 3790 + 1529 + 1876, 1364 + 813 + 946)
    assert counts["dev", "all"] == (244, 2440, 818)
    assert counts["test", "all"] == (327, 3270, 1329)
    assert counts["dev", "answerable"][0] == 211
    assert counts["test", "answerable"][0] == 315
    # The task's own baseline, the order of time, counts a question without a Good comment as 0: 59.53.
    assert original.loc[("test", "all"), "order_map"] * 315 / 327 == pytest.approx(0.5953, abs=5e-5)
    assert set(original["order"]) == {""}


@pytest.mark.real_data
def test_real_counts_with_lemmatised_text(real_folder):
    real_data_home = real_folder("semeval2016-task3").parent
    train = load_dataset("semevalcqa", "with-lemmatised", real_data_home).train
    empty = train.attrs["skipped"]["comments without text"]
    assert len(train) + empty == 22088
    assert train["question_id"].nunique() + train.attrs["questions_without_candidates"] == 3469
    assert 0 <= 10541 - train["label"].sum() <= empty == 38


def test_training_texts_serve_where_the_unannotated_ones_are_absent(tmp_path):
    train = read_semeval_xml(xml(FIRST), "a.xml")
    texts, origin = unlabelled_texts(train, tmp_path, True)
    assert "the training set" in origin
    first, second, *others = texts
    assert first == ["umbrellas", "&", "rain", "where", "are", "they", "sold", "?"]
    assert (second, len(others)) == (["why", "?"], len(train) - 1)
