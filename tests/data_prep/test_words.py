"""How texts are written before they are split, against Unicode's own rules."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import Tokenizer, Vocabulary, load_word_vectors
from answer_ranking.data_prep.tables import same_text
from answer_ranking.data_prep.words import plain_text, with_blanks, words_of


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (unicodedata.normalize("NFD", "résumé"), "résumé"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ １２", "Full width 12"),
        ("oﬃce ﬁle", "office file"),
        ("don´t", "don't"),
        ("a\u00ad\u0301", "á"),
        ("\ufeffsoft\u00adware\u200b\U000e0041", "software"),
    ],
)
def test_writings_of_one_text_are_one(written, plain):
    assert plain_text(written) == plain
    assert same_text(written) == same_text(plain)
    assert words_of(written) == words_of(plain)
    tokenizer = Tokenizer(pretokenised=False)
    assert tokenizer([written]) == tokenizer([plain])


def test_dashes_are_hyphens_where_texts_are_compared_and_words_looked_up():
    assert same_text("1914–1918") == same_text("1914-1918") == same_text("1914\u22121918")
    assert words_of("1914–1918") == words_of("1914-1918")
    vectors = load_word_vectors(["glove-6b-50d"], Vocabulary(["1914–1918", "1914-1918"]))
    assert vectors.known[2:].all()
    np.testing.assert_array_equal(vectors.matrix[2], vectors.matrix[3])


def test_joiners_that_are_part_of_words_stay():
    persian, marathi = "می\u200cخواهم", "र\u094d\u200dय"
    assert plain_text(persian) == persian and words_of(persian) == [persian]
    assert words_of(marathi) == [marathi]


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_a_plain_text_is_plain(text):
    plain = plain_text(text)
    assert plain_text(plain) == plain
    assert words_of(plain) == words_of(text)
    assert with_blanks(plain).replace(" ", "") == plain.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी में भुगतान", ["हिन्दी", "में", "भुगतान"]),  # vowel signs are marks
        ("怎么用Keras？", ["怎么", "么用", "keras"]),
        ("字", ["字"]),
        ("日本語です", ["日本", "本語", "語で", "です"]),
        ("ครับ", ["ครั", "รับ"]),  # the mark stays with its letter
        ("한국어 질문", ["한국어", "질문"]),
    ],
)
def test_words_of_scripts_with_marks_or_without_blanks(text, words):
    assert words_of(text) == words


def test_each_chinese_character_is_a_token():
    tokens = Tokenizer(pretokenised=False)(["请问Keras怎么用"])[0]
    assert tokens == ["请", "问", "keras", "怎", "么", "用"]
    assert "北京" in Tokenizer(pretokenised=False)(["Beijing is written 北京 there."])[0]
