"""YahooQA through a reader of pickles that runs nothing, and ANTIQUE."""

import io
import os
import pickle
import struct
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep import UserError, load_dataset
from data_prep.antique import read_antique
from data_prep.plain_pickle import load_plain_pickle
from data_prep.yahooqa import read_yahooqa

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.tuples(st.text(), st.integers()), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@given(plain, st.integers(3, pickle.HIGHEST_PROTOCOL))
def test_plain_values_come_as_the_standard_library_reads_them(value, protocol):
    assert load_plain_pickle(pickle.dumps(value, protocol), "a.pkl") == value


@given(
    st.dictionaries(st.text(), st.lists(st.tuples(st.text(), st.integers())), max_size=4), st.integers(0, 2)
)
def test_older_protocols(value, protocol):
    assert load_plain_pickle(pickle.dumps(value, protocol), "a.pkl") == value


def test_byte_strings_of_python_2_are_texts():
    assert load_plain_pickle(b"U\x04caf\x65.", "a.pkl") == "cafe"
    assert load_plain_pickle(b"U\x05caf\xc3\xa9.", "a.pkl") == "caf\u00e9"
    with pytest.raises(UserError, match="not a whole pickle"):
        load_plain_pickle(b"U\x04caf\xe9.", "a.pkl")


class Reduced:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


class Persistent(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", 1) if isinstance(value, set) else None


def persistent():
    buffer = io.BytesIO()
    Persistent(buffer).dump({"train": [{1}]})
    return buffer.getvalue()


def hostile(path):
    command = f"touch {path}"
    write = f"open({str(path)!r}, 'w').close()"
    return {
        "os.system": pickle.dumps(Reduced(os.system, (command,))),
        "os.system, protocol 0": pickle.dumps(Reduced(os.system, (command,)), 0),
        "deep inside": pickle.dumps({"train": {"q": [["a", Reduced(os.system, (command,))]]}}),
        "eval": pickle.dumps(Reduced(eval, (write,))),
        "exec": pickle.dumps({"train": Reduced(exec, (write,))}),
        "getattr": pickle.dumps(Reduced(getattr, (Reduced(__import__, ("os",)), "system"))),
        "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c"
        + bytes([len(command)])
        + command.encode()
        + b"\x85R.",
        "inst": f"(S'{command}'\nios\nsystem\n.".encode(),
        "obj": b"(cos\nsystem\nS'" + command.encode() + b"'\no.",
        "newobj": pickle.dumps(time.struct_time(range(9))),
        "build": b"}" + b"}b.",
        "persistent": persistent(),
        "persistent text": b"P1\n.",
        "extension": b"\x82\x01.",
        "out of band": b"\x80\x05\x97.",
        "set": pickle.dumps({1, 2}),
    }


@pytest.mark.parametrize("name", hostile("x"))
def test_hostile_pickles_run_nothing(tmp_path, monkeypatch, name):
    mark = tmp_path / "was_here"

    def forbidden(*args):
        raise AssertionError("something was looked up")

    content = hostile(mark)[name]
    for function in ("loads", "load", "Unpickler"):
        monkeypatch.setattr(pickle, function, forbidden)
    modules = set(sys.modules)
    with pytest.raises(UserError, match=r"a\.pkl: the pickle holds more than plain values"):
        load_plain_pickle(content, "a.pkl")
    with pytest.raises(UserError, match="holds more than plain values"):
        read_yahooqa(content, "env.pkl")
    assert not mark.exists()
    assert set(sys.modules) == modules


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b".",
        b"N",
        b"not a pickle",
        pickle.dumps({"a": ["b" * 1000]})[:-100],
        b"X\xff\xff\xff\x7fabc.",  # a text of 2 GB
        b"\x8d" + struct.pack("<Q", 1 << 62) + b"abc.",
        b"\x8b" + struct.pack("<i", 2**31 - 1) + b"1.",  # an integer of 2 GB
        b"I" + b"9" * 100_000 + b"\n.",
        b"N" + b"\x85" * 200_000 + b".",  # ((((None,),),),)
        b"}(" + b")" + b"\x85" * 200_000 + b"Nu.",  # the same as a key, whose hash recurses
        b"](h\x00e.",
        b"(.",
        b"((e.",
        b"}(Nu.",
        b"}]Ns.",
        b"](\x85a.",
        b"NN.",
        b"e.",
        b"0.",
    ],
)
def test_damaged_and_oversized_pickles_end_soon_with_a_user_error(content):
    began = time.monotonic()
    with pytest.raises(UserError, match=r"a\.pkl: not a whole pickle"):
        load_plain_pickle(content, "a.pkl")
    assert time.monotonic() - began < 5


def test_a_far_place_in_the_memo_and_deep_lists_cost_little():
    assert load_plain_pickle(b"Nr\xff\xff\xff\xff0j\xff\xff\xff\xff.", "a.pkl") is None
    assert load_plain_pickle(b"\x95" + struct.pack("<Q", 1 << 62) + b"N.", "a.pkl") is None  # a frame
    value = load_plain_pickle(b"]" * 200_000 + b"a" * 199_999 + b".", "a.pkl")
    assert isinstance(value, list)


@given(st.binary(max_size=60) | st.text("NK()[]{}.aelsu012hqrtR\x85\x86", max_size=30).map(str.encode))
def test_any_bytes_give_a_value_or_a_user_error(content):
    try:
        load_plain_pickle(content, "a.pkl")
    except UserError as error:
        assert "a.pkl" in str(error)


PART = {
    "how do I dry an umbrella ?": [["In the sun .", 1], ["No .", 0], ["No .", 0], [" ", 0]],
    ("why", "?"): (("So .", 1), (["Not", "so", "."], 0)),
}


def env(**changes):
    return {"train": PART, "dev": PART, "test": PART, "word2idx": {"a": 1}, **changes}


@pytest.mark.parametrize("protocol", [2, 4])
def test_yahooqa(tmp_path, protocol):
    (tmp_path / "yahooqa").mkdir()
    (tmp_path / "yahooqa" / "env.pkl").write_bytes(pickle.dumps(env(), protocol))
    dataset = load_dataset("yahooqa", data_home=tmp_path)
    for table in dataset.splits.values():
        assert table["question"].unique().tolist() == ["how do I dry an umbrella ?", "why ?"]
        assert table["candidate"].tolist() == ["In the sun .", "No .", "So .", "Not so ."]
        assert table["label"].tolist() == [1, 0, 1, 0]
        assert sum(table.attrs["skipped"].values()) == 2
    assert dataset.train["candidate_id"].tolist()[:2] == ["train-1-1", "train-1-2"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "no dictionary 'train'"),
        ({"train": PART, "test": PART}, "no dictionary 'dev'"),
        (env(dev=[PART]), "no dictionary 'dev'"),
        (env(test={3: [["a", 1]]}), "test, question 1: not a text"),
        (env(test={"q": [["a"]]}), "test, question 1: not a text"),
        (env(test={"q": 3}), "test, question 1: not a text"),
        (env(test={"q": [["a", 2]]}), "the label 2 is not 0 or 1"),
        (env(test={" ": [["a", 1]]}), "the question is empty"),
        (env(test={}), "no rows"),
    ],
)
def test_another_form_is_a_user_error(value, message):
    with pytest.raises(UserError, match=message):
        read_yahooqa(pickle.dumps(value), "env.pkl")


def test_one_list_for_the_answers_of_many_questions_is_refused():
    answers = [[f"a{i}", 0] for i in range(3000)]
    began = time.monotonic()
    with pytest.raises(UserError, match="more answers than bytes"):
        read_yahooqa(pickle.dumps(env(train={f"q{i}": answers for i in range(3000)})), "env.pkl")
    assert time.monotonic() - began < 10


COLLECTION = '7_0\tBecause "so.\n7_1\tNo.\n7_2\t\n8_0\tAt  noon\x85.\n'
QUERIES = "7\twhy?\n8\twhen?\n9\twhere?\n"
QRELS = "7 U0 7_0 4\n7 Q0 7_1 2\n7 Q0 7_2 1\n8\tQ0\t8_0\t3\n8 E0 7_1 1\n"
NAMES = ("c.txt", "q.txt", "r.qrel")


def test_antique_grades():
    table = read_antique(COLLECTION, QUERIES, QRELS, NAMES)
    assert table.to_dict("list") == {
        "question_id": ["7", "7", "8", "8"],
        "question": ["why?", "why?", "when?", "when?"],
        "candidate_id": ["7_0", "7_1", "8_0", "7_1"],
        "candidate": ['Because "so.', "No.", "At noon .", "No."],
        "label": [1, 0, 1, 0],
    }
    assert table.attrs == {"questions_without_candidates": 1, "skipped": {"judged answers without text": 1}}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((COLLECTION, QUERIES, QRELS.replace(" 4", " 5")), r"r\.qrel, line 1: .* grade from 1 to 4"),
        ((COLLECTION, QUERIES, QRELS[:-3]), r"r\.qrel, line 5: not a question"),
        ((COLLECTION, QUERIES, QRELS.replace("8_0", "8_9")), r"line 4: '8_9' is not in c\.txt"),
        ((COLLECTION, QUERIES[:-17], QRELS), r"line 4: '8' is not in q\.txt"),
        ((COLLECTION + "7_0\tx\n", QUERIES, QRELS), r"c\.txt, line 5: not an identifier of its own"),
        ((COLLECTION.replace("\t", " "), QUERIES, QRELS), r"c\.txt, line 1: not an identifier"),
        ((COLLECTION, QUERIES.replace("why?", ""), QRELS), "the question is empty"),
        ((COLLECTION, QUERIES, QRELS + QRELS[:11]), "occurs twice"),
        ((COLLECTION, QUERIES, ""), "no rows"),
        (("", "", QRELS), "is not in q.txt"),
    ],
)
def test_damaged_antique_is_a_user_error(texts, message):
    with pytest.raises(UserError, match=message):
        read_antique(*texts, NAMES)


def test_antique_is_loaded_from_the_released_files(tmp_path):
    folder = tmp_path / "antique"
    folder.mkdir()
    (folder / "antique-collection.txt").write_text("".join(f"{i}_0\tText {i}.\n" for i in range(40)))
    for split, numbers in (("train", range(30)), ("test", range(30, 40))):
        (folder / f"antique-{split}-queries.txt").write_text("".join(f"{i}\tq{i}?\n" for i in numbers))
        (folder / f"antique-{split}.qrel").write_text("".join(f"{i} Q0 {i}_0 {i % 4 + 1}\n" for i in numbers))
    dataset = load_dataset("antique", data_home=tmp_path)
    assert {name: len(table) for name, table in dataset.splits.items()} == {"train": 27, "dev": 3, "test": 10}
    assert not set(dataset.train["question_id"]) & set(dataset.dev["question_id"])
    assert load_dataset("antique", data_home=tmp_path).dev.equals(dataset.dev)


@pytest.mark.parametrize(
    ("name", "source"), [("yahooqa", "YahooQA_Splits"), ("antique", "downloads/Antique")]
)
def test_absent_files_say_where_they_come_from_and_belong(tmp_path, name, source):
    with pytest.raises(UserError, match=source) as error:
        load_dataset(name, data_home=tmp_path)
    assert f"{name}/" in str(error.value)
    assert str(tmp_path) in str(error.value)
