import pytest
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import Vocabulary

token_lists = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=6)


@given(token_lists, st.data())
def test_vocabulary_of_repeated_texts(lists, data):
    times = data.draw(st.lists(st.integers(1, 3), min_size=len(lists), max_size=len(lists)))
    repeated = [tokens for tokens, n in zip(lists, times, strict=True) for _ in range(n)]
    assert Vocabulary.build(lists, times).words == Vocabulary.build(repeated).words


@given(token_lists)
def test_vocabulary_orders_by_frequency_then_alphabet(lists):
    vocabulary = Vocabulary.build(lists)
    words = vocabulary.words[2:]
    counts = [sum(tokens.count(word) for tokens in lists) for word in words]
    keys = list(zip([-count for count in counts], words, strict=True))
    assert keys == sorted(keys)
    assert set(words) == {token for tokens in lists for token in tokens}
    for tokens in lists:
        assert [vocabulary.words[number] for number in vocabulary.encode(tokens)] == tokens
    assert vocabulary.encode(["unheard"]).tolist() == [1]


def test_special_entries_cannot_be_met_in_a_text():
    vocabulary = Vocabulary.build([["<padding>", "x"]])
    assert vocabulary.encode(["<padding>", "x", "<unknown>"]).tolist() == [2, 3, 1]


def test_a_vocabulary_names_every_word_once():
    with pytest.raises(ValueError, match="must be distinct"):
        Vocabulary(["a", "b", "a"])
