"""Words that a ranker's training did not have: misspelt ones, and ones that nobody knows."""

import random
import string
import time

import numpy as np
import pytest

from answer_ranking.data_prep import Tokenizer, Vocabulary
from answer_ranking.data_prep.word_vectors.unknown_words import hashed_vectors, meant_words
from answer_ranking.ranking import open_vocabulary
from answer_ranking.ranking.open_vocabulary import OpenVocabulary

WORDS = ["the", "password", "connection", "lost", "?"]
VECTORS = np.random.default_rng(0).normal(size=(7, 50)).astype("float32")


def make(hashes=True):
    tokenizer = Tokenizer(pretokenised=False)
    return OpenVocabulary(Vocabulary(WORDS), tokenizer, (), VECTORS.__getitem__, hashes=hashes)


def cosines(vectors):
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units @ units.T


def test_words_that_are_written_alike_have_near_vectors():
    words = ["zorbulator", "zorbulators", "zorbulater", "frimbleton", "🚀", "مرحبا"]
    near = cosines(hashed_vectors(words, 300))
    assert min(near[0, 1], near[0, 2]) > 0.4
    assert np.abs(near[:3, 3:]).max() < 0.3 and abs(near[4, 5]) < 0.3
    np.testing.assert_array_equal(hashed_vectors(words[::-1], 300), hashed_vectors(words, 300)[::-1])
    np.testing.assert_allclose(np.linalg.norm(hashed_vectors(words, 300), axis=1), 0.05 * 300**0.5, rtol=1e-5)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("passwrod", "password"),  # neighbours that changed places are one mistake
        ("pasword", "password"),
        ("conection", "connection"),
        ("connnectoin", "connection"),  # two, in a long word
        ("pazzwird", None),  # three
        ("lots", None),  # too short
        ("x1234", None),
    ],
)
def test_misspelt_words(word, meant):
    (place,) = meant_words([word], WORDS)
    assert (None if place is None else WORDS[place]) == meant


def test_misspelt_words_of_questions_alone_are_read_as_what_is_meant():
    words = make()
    encoded = words.encode(["lost pasword?", "the pasword"], n_questions=1)
    password, own = WORDS.index("password") + 2, len(WORDS) + 2
    assert encoded.words.tolist() == [5, password, 6, 2, own]
    np.testing.assert_array_equal(words.added, hashed_vectors(["pasword"], 50))
    assert words.unknown("the pasword xyzzy xyzzy") == ["xyzzy"]
    assert words.unknown("the pasword xyzzy", is_question=False) == ["pasword", "xyzzy"]


def test_a_question_full_of_misspelt_words_is_read_quickly():
    draw = random.Random(0)
    drawn = {"".join(draw.choices(string.ascii_lowercase, k=draw.randint(9, 12))) for _ in range(60_000)}
    known = sorted(drawn)
    vectors = np.ones((len(known) + 2, 4), np.float32)
    words = OpenVocabulary(Vocabulary(known), Tokenizer(pretokenised=False), (), vectors.__getitem__)
    misspelt = [f"{word}q" for word in draw.sample(known, 300)]
    start = time.process_time()
    read = words.encode([" ".join(misspelt), misspelt[-1]], n_questions=2).words
    assert time.process_time() - start < 1  # 5 seconds when each word was looked for among all others alone
    unknown = words.unknown(" ".join(misspelt))
    assert unknown == misspelt[20:] and (read[20:300] == 1).all()
    meant = [known[number - 2] for number in read[[*range(20), 300]].tolist()]
    assert meant == [word[:-1] for word in [*misspelt[:20], misspelt[-1]]]


def test_a_question_is_read_alike_whatever_was_read_before():
    words = make()
    question = words.encode(["lost pasword"], n_questions=1).words.tolist()
    own = words.encode(["pasword"]).words.tolist()
    assert own != question[1:]
    assert words.encode(["lost pasword"], n_questions=1).words.tolist() == question
    assert words.encode(["pasword"]).words.tolist() == own and len(words.added) == 1
    assert words.unknown("pasword") == []


def test_signs_and_unknown_words_are_no_known_words():
    words = make()
    texts = ["?", "xyzzy?", "the xyzzy", "xyzzy the"]
    for _ in range(2):
        assert words.knows(words.encode(texts)).tolist() == [False, False, True, True]


def test_unknown_words_are_bounded_and_then_one(monkeypatch):
    monkeypatch.setattr(open_vocabulary, "_MOST_HASHED", 2)
    words = make()
    assert words.encode(["a1 b2 a1", "c3 d4 b2"]).words.tolist() == [7, 8, 7, 1, 1, 8]
    assert words.words == [*WORDS, "a1", "b2"] and len(words.added) == 2
    assert make(hashes=False).encode(["a1 b2"]).words.tolist() == [1, 1]
