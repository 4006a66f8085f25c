import os
import pickle
import struct
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.readers import plain_pickle
from answer_ranking.data_prep.readers.plain_pickle import load_plain_pickle
from answer_ranking.data_prep.readers.yahooqa import read_yahooqa

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


def hostile(path):
    command = f"touch {path}"
    return {
        "os.system": pickle.dumps(Reduced(os.system, (command,))),
        "os.system, protocol 0": pickle.dumps(Reduced(os.system, (command,)), 0),
        "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c"
        + bytes([len(command)])
        + command.encode()
        + b"\x85R.",
        "inst": f"(S'{command}'\nios\nsystem\n.".encode(),
        "obj": b"(cos\nsystem\nS'" + command.encode() + b"'\no.",
        "newobj": pickle.dumps(time.struct_time(range(9))),
        "build": b"}" + b"}b.",
        "persistent": b"\x80\x04K\x01Q.",
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
        b"not a pickle",
        pickle.dumps({"a": ["b" * 1000]})[:-100],
        b"X\xff\xff\xff\x7fabc.",  # a text of 2 GB
        b"\x8d" + struct.pack("<Q", 1 << 62) + b"abc.",
        b"\x8b" + struct.pack("<i", 2**31 - 1) + b"1.",  # an integer of 2 GB
        b"I" + b"9" * 100_000 + b"\n.",
        b"N" + b"\x85" * 200_000 + b".",  # ((((None,),),),)
        b"(" + b"}" * 1_000_000 + b"l.",
        b"(" + b"N\x85" * 1_000_000 + b"l.",
        b"}X" + struct.pack("<I", 10**6) + b"a" * 10**6 + b"q\x000" + b"h\x00Ns" * 10**5 + b".",
        b"}(Ntq\x000(h\x00h\x00tNs.",  # a tuple of tuples as a key
        b"}(" + b")" + b"\x85" * 200_000 + b"Nu.",  # the same as a key, whose hash recurses
        b"](h\x00e.",
        b"((e.",
        b"}(Nu.",
        b"](\x85a.",
    ],
)
def test_damaged_and_oversized_pickles_end_with_a_user_error(content):
    with pytest.raises(UserError, match=r"a\.pkl: not a whole pickle"):
        load_plain_pickle(content, "a.pkl")


def test_a_far_place_in_the_memo_and_deep_lists_cost_little():
    assert load_plain_pickle(b"Nr\xff\xff\xff\xff0j\xff\xff\xff\xff.", "a.pkl") is None
    assert load_plain_pickle(b"\x95" + struct.pack("<Q", 1 << 62) + b"N.", "a.pkl") is None  # a frame
    value = load_plain_pickle(b"]" * 200_000 + b"a" * 199_999 + b".", "a.pkl")
    assert isinstance(value, list)


def test_a_file_has_a_size(monkeypatch):
    monkeypatch.setattr(plain_pickle, "_MOST_BYTES", 10)
    with pytest.raises(UserError, match=r"a\.pkl has more than 10 bytes"):
        load_plain_pickle(b"N." + b" " * 9, "a.pkl")


@given(st.binary(max_size=60) | st.text("NK()[]{}.aelsu012hqrtR\x85\x86", max_size=30).map(str.encode))
def test_any_bytes_give_a_value_or_a_user_error(content):
    try:
        load_plain_pickle(content, "a.pkl")
    except UserError as error:
        assert "a.pkl" in str(error)
