import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.data_prep.readers.squad_sent import split_sentences

TEXTS = st.text(st.sampled_from("aB. !?\n\u00a0\u3002\u00e9"), max_size=30)


# Few lists, each of many texts: spaCy's pipeline is made anew for each.
@given(st.lists(TEXTS, min_size=60, max_size=80))
@settings(max_examples=3)
def test_sentences_cover_the_text_and_come_the_same_from_the_cache(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("cache")
    found = split_sentences(texts, folder)
    assert found == split_sentences(texts, folder)
    for text, pairs in zip(texts, found, strict=True):
        inner = [text[begin:end] for begin, end in pairs]
        assert all(sentence == sentence.strip() != "" for sentence in inner)
        assert "".join("".join(inner).split()) == "".join(text.split())
        assert pairs == sorted(pairs)


def test_a_damaged_cache_of_sentences_is_made_anew(tmp_path):
    texts = ["One. Two."]
    expected = split_sentences(texts, tmp_path)
    (path,) = (tmp_path / "sentences").iterdir()
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="made anew"):
        assert split_sentences(texts, tmp_path) == expected
    assert split_sentences(texts, tmp_path) == expected


def test_a_text_longer_than_spacys_limit_is_split():
    text = "Otters swim. " * 80_000
    assert len(split_sentences([text])[0]) == 80_000
