import itertools
import re
import string
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import Tokenizer, Vocabulary, load_dataset
from answer_ranking.data_prep.simple_words import simple_tokens
from answer_ranking.data_prep.words import plain_text

CHARACTERS = string.ascii_letters + string.digits
# Signs before and behind a word, and faces that they could make with it.
OPENING = ("", '"', "(")
CLOSING = ("", "?", ",", ".", ").", '."', "'s", "'", ":", ");", "):", ":)", "]")

token_lists = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=6)


@given(token_lists, st.data())
def test_vocabulary_of_repeated_texts(lists, data):
    times = data.draw(st.lists(st.integers(1, 3), min_size=len(lists), max_size=len(lists)))
    repeated = np.repeat(np.array([*lists, None], object)[:-1], times).tolist()
    assert Vocabulary.build(lists, times).words == Vocabulary.build(repeated).words


@given(token_lists)
def test_vocabulary_orders_by_frequency_then_alphabet(lists):
    vocabulary = Vocabulary.build(lists)
    words = vocabulary.words[2:]
    counts = Counter(itertools.chain(*lists))
    assert words == sorted(counts, key=lambda word: (-counts[word], word))
    for tokens in lists:
        assert [vocabulary.words[number] for number in vocabulary.encode(tokens)] == tokens
    assert vocabulary.encode(["unheard"]).tolist() == [1]


def test_special_entries_cannot_be_met_in_a_text():
    vocabulary = Vocabulary.build([["<padding>", "x"]])
    assert vocabulary.encode(["<padding>", "x", "<unknown>"]).tolist() == [2, 3, 1]


def test_a_vocabulary_names_every_word_once():
    with pytest.raises(ValueError, match="must be distinct"):
        Vocabulary(["a", "b", "a"])


def test_tokenizers():
    text = "  Isn't  it\u00a0U.S. soil? "
    assert Tokenizer(pretokenised=True)([text]) == [["isn't", "it", "u.s.", "soil?"]]
    assert Tokenizer(pretokenised=True, lowercase=False)(["A b"]) == [["A", "b"]]


def test_texts_are_split_as_spacy_splits_them_whole():
    spacy = pytest.importorskip("spacy")
    whole, texts = spacy.blank("en"), set()
    for table in load_dataset("sample").splits.values():
        texts |= {*table["question"], *table["candidate"]}
    tokenizer = Tokenizer(pretokenised=False, lowercase=False)
    for text in sorted(texts):
        expected = [token.text for token in whole(plain_text(text)) if not token.is_space]
        assert tokenizer([text]) == [expected]


def test_simple_words_are_split_as_spacy_splits_them():
    spacy = pytest.importorskip("spacy")
    nlp, words = spacy.blank("en"), {"Word", "US", "McDonald", "Été", "1990", "1,000.5", "co-op", *CHARACTERS}
    # The exceptions to spaCy's rules, and the words within them.
    for rule in nlp.tokenizer.rules:
        words |= {rule, *re.findall(r"[^\W\d_]+", rule)}
    signed = set(map("".join, itertools.product(OPENING, words, CLOSING)))
    signed |= set(map("-".join, itertools.product(CHARACTERS, ("dont", "xD", "St.", "I", "a"))))
    for table in load_dataset("sample").splits.values():
        signed |= set(" ".join(table["candidate"]).split())
    simple = 0
    for text in sorted(signed):
        found = simple_tokens(text)
        if found is not None:
            simple += 1
            assert found == [token.text for token in nlp.make_doc(text)]
    assert simple > 10_000


def test_long_runs_without_white_space_are_cut_and_nothing_is_lost():
    pytest.importorskip("spacy")
    text = "a" * 1_300 + " " + "x" * 500 + " " + "!" * 1_200
    tokens = Tokenizer(pretokenised=False)([text])[0]
    assert "".join(tokens) == text.replace(" ", "")
    assert tokens[:4] == ["a" * 500, "a" * 500, "a" * 300, "x" * 500] and set(tokens[4:]) == {"!"}


def test_words_seen_do_not_pile_up(monkeypatch):
    pytest.importorskip("spacy")
    tokenizer = Tokenizer(pretokenised=False)
    before = tokenizer(["It isn't xyzzy/xyzzy."])
    assert "xyzzy" in tokenizer._nlp.vocab.strings
    monkeypatch.setattr("answer_ranking.data_prep.vocabulary._MOST_KEPT", 2)
    assert tokenizer(["Is it isn't?"]) == [["is", "it", "is", "n't", "?"]]
    assert "xyzzy" not in tokenizer._nlp.vocab.strings
    assert "xyzzy/xyzzy." not in tokenizer._kept
    assert tokenizer(["It isn't xyzzy/xyzzy."]) == before


def test_tokens_of_digits_points_and_commas_are_masked_and_no_others():
    tokenizer = Tokenizer(pretokenised=True, mask_numbers=True)
    tokens = tokenizer(["In 1993 2,130 of 3.5 1990s 21st .08 mid-1992 4-5,000"])[0]
    assert tokens == ["in", "<num>", "<num>", "of", "<num>", "1990s", "21st", ".08", "mid-1992", "4-5,000"]


@pytest.mark.parametrize("sign", ["'", "\u2019", "\u2014", ":)"])
def test_a_long_run_of_signs_takes_about_as_long_as_many_short_ones(sign):
    tokenizer = Tokenizer(pretokenised=False)

    def seconds(text):
        tokenizer([text])
        start = time.process_time()
        tokens = tokenizer([text])[0]
        return time.process_time() - start, "".join(tokens)

    short, n_runs = sign * (20 // len(sign)), 1_000
    apart, _ = seconds(f"{short} " * n_runs)
    together, kept = seconds(short * n_runs)
    assert kept == short * n_runs
    assert together < 5 * apart
