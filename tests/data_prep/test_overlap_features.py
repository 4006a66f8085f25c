import math
from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.data_prep import Tokenizer, Vocabulary, encode_dataset, encode_split, load_dataset
from answer_ranking.data_prep.overlap_features import (
    inverse_document_frequencies,
    overlap_features,
    stop_words,
)
from answer_ranking.data_prep.tables import check_table

WORDS = ["the", "cat", "sat", "mat", "?"]


def encoded(rows, vocabulary):
    table = pd.DataFrame(rows, columns=["question", "candidate"]).assign(label=0)
    return encode_split(check_table(table, "rows"), Tokenizer(pretokenised=True), vocabulary)


def test_features_of_a_hand_computed_example():
    vocabulary = Vocabulary(WORDS)
    # 1 question and 2 candidates: "the" in 3 of 3 texts, "cat" in 2, "sat" in 2, "mat" and "?" in 1.
    train = encoded([("the cat sat ?", "the the cat"), ("the cat sat ?", "the sat mat")], vocabulary)
    idf = inverse_document_frequencies(train, len(vocabulary))
    np.testing.assert_allclose(
        idf, [math.log(4 / (n + 1)) for n in (0, 0, 3, 2, 2, 1, 1)], rtol=1e-12, atol=1e-12
    )
    test = encoded([("the cat ?", "the cat sat"), ("the cat ?", "mat"), ("the cat ?", "? the")], vocabulary)
    # Without "the" and "?", "cat" alone is shared, by the first candidate.
    expected = [[2, math.log(4 / 3), 1, math.log(4 / 3)], [0, 0, 0, 0], [2, math.log(4 / 2), 0, 0]]
    features = overlap_features(test, vocabulary, idf)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, expected, rtol=1e-6)


def test_two_unknown_words_do_not_overlap_and_empty_sets_give_zero():
    vocabulary = Vocabulary(["cat", "the"])
    split = encoded([("dog", "cow"), ("the", "the")], vocabulary)
    features = overlap_features(split, vocabulary, np.ones(4))
    np.testing.assert_array_equal(features[0], 0)
    np.testing.assert_allclose(features[1], [1, 1, 0, 0])


texts = st.lists(st.sampled_from([*WORDS, "rare"]), min_size=1, max_size=8)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(texts, texts), min_size=1, max_size=5),
    st.lists(st.floats(0, 9), min_size=7, max_size=7),
)
def test_bounds_symmetry_and_blindness_to_order_and_repetition(pairs, idf):
    vocabulary, idf = Vocabulary(WORDS), np.array(idf)

    def measure(question, candidate):
        split = encoded([(" ".join(question), " ".join(candidate))], vocabulary)
        return overlap_features(split, vocabulary, idf)[0]

    for question, candidate in pairs:
        features = measure(question, candidate)
        assert (features >= 0).all()
        assert features[2] <= features[0] <= min(len(set(question)), len(set(candidate)))
        assert (features[[1, 3]] <= features[[0, 2]] * idf.max() + 1e-6).all()
        np.testing.assert_array_equal(measure(candidate, question), features)
        np.testing.assert_array_equal(measure(question[::-1], candidate * 2), features)
        known = [word for word in question if word in WORDS]
        content = [word for word in known if word not in stop_words()]
        if known:
            same = measure(known, known)
            np.testing.assert_array_equal(same[[0, 2]], [len(set(known)), len(set(content))])


def test_encoding_carries_the_features_through_cache_and_choice(tmp_path):
    dataset = load_dataset("sample")
    plain = encode_dataset(dataset, cache_home=tmp_path)
    assert all(split.features is None for split in plain.splits.values())
    made = encode_dataset(dataset, cache_home=tmp_path, overlap=True)
    read = encode_dataset(dataset, cache_home=tmp_path, overlap=True)
    assert len(list(tmp_path.rglob("*.npz"))) == 2
    assert encode_dataset(dataset, cache_home=tmp_path).train.features is None
    for one, other in zip(made.splits.values(), read.splits.values(), strict=True):
        assert (one.features.shape, one.features.dtype) == ((one.n_rows, 4), np.float32)
        np.testing.assert_array_equal(one.features, other.features)
    mask = np.arange(made.dev.n_questions) % 2 == 1
    chosen = made.dev.keep_questions(mask)
    np.testing.assert_array_equal(chosen.features, made.dev.features[mask[made.dev.question_of_row]])
    assert plain.dev.keep_questions(mask).features is None


def test_document_frequencies_come_from_training_alone(tmp_path):
    dataset = load_dataset("sample")
    before = encode_dataset(dataset, cache_home=tmp_path, overlap=True)
    test = dataset.test.copy()
    test["candidate"] = "the " * 3 + test["question"]
    after = encode_dataset(replace(dataset, test=test), cache_home=tmp_path, overlap=True)
    np.testing.assert_array_equal(before.dev.features, after.dev.features)
    np.testing.assert_array_equal(before.train.features, after.train.features)
    assert (before.test.features != after.test.features).any()
