"""Contextual words: what the store keeps, and what a data set looks like in them."""

import errno
import shutil

import numpy as np
import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.data_prep.word_vectors.contextual import (
    ContextualEncoder,
    TokenVectors,
    encode_with,
    encoder_among,
)
from answer_ranking.data_prep.word_vectors.token_store import INDEX, VECTORS, TokenStore


def counted(calls, size=3, dies_after=None):
    """Make an encoder that gives a text as many equal vectors as it has characters, two texts at a time."""

    def encode(texts):
        for start in range(0, len(texts), 2):
            if dies_after is not None and start >= dies_after:
                raise KeyboardInterrupt
            part = texts[start : start + 2]
            calls.extend(part)
            yield (
                list(range(start, start + len(part))),
                [np.full((len(t), size), len(t), np.float16) for t in part],
            )

    return encode


def rows_of(found):
    """Give the vectors of each text as lists."""
    return [
        found.vectors[first : first + length].tolist()
        for first, length in zip(found.first, found.lengths, strict=True)
    ]


def test_each_text_is_encoded_once_and_found_again(tmp_path):
    calls = []
    store = TokenStore(tmp_path / "store", 3)
    texts = ["a", "bb", "ccc", "", "naïve"]
    first = rows_of(store.of(texts, counted(calls)))
    assert first == [[[float(len(text))] * 3] * len(text) for text in texts]
    again = TokenStore(tmp_path / "store", 3).of(["new text", "ccc", "a"], counted(calls))
    assert calls == [*texts, "new text"]
    assert rows_of(again)[1:] == [first[2], first[0]]


def test_a_store_sees_what_others_do_to_its_folder(tmp_path):
    calls = []
    folder = tmp_path / "store"
    store = TokenStore(folder, 3)
    store.of(["a", "bb"], counted(calls))
    TokenStore(folder, 3).of(["ccc"], counted(calls))
    assert rows_of(store.of(["ccc", "a"], counted(calls))) == [[[3.0] * 3] * 3, [[1.0] * 3]]
    assert calls == ["a", "bb", "ccc"]
    shutil.rmtree(folder)
    assert rows_of(store.of(["bb"], counted(calls))) == [[[2.0] * 3] * 2]
    assert calls == ["a", "bb", "ccc", "bb"]


def test_a_killed_encoding_goes_on_where_it_was(tmp_path):
    calls = []
    store = TokenStore(tmp_path, 3)
    with pytest.raises(KeyboardInterrupt):
        store.of(["a", "bb", "ccc", "dddd"], counted(calls, dies_after=2))
    # What a kill in the middle of writing leaves.
    for name, rest in ((VECTORS, b"12345"), (INDEX, b"half of an entry")):
        with (tmp_path / name).open("ab") as file:
            file.write(rest)
    found = store.of(["a", "bb", "ccc", "dddd"], counted(calls))
    assert calls == ["a", "bb", "ccc", "dddd"]
    assert rows_of(found) == [[[n] * 3] * n for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("name", [VECTORS, INDEX])
def test_damaged_and_missing_vectors_are_made_anew(tmp_path, name):
    calls = []
    store = TokenStore(tmp_path, 3)
    store.of(["a", "bb"], counted(calls))
    content = bytearray((tmp_path / name).read_bytes())
    content[0] ^= 1
    (tmp_path / name).write_bytes(content)
    assert rows_of(store.of(["a", "bb"], counted(calls))) == [[[1.0] * 3], [[2.0] * 3] * 2]
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    assert rows_of(store.of(["a", "bb"], counted(calls))) == [[[1.0] * 3], [[2.0] * 3] * 2]


def test_a_full_disk_is_said_and_loses_nothing(tmp_path, monkeypatch):
    calls = []
    store = TokenStore(tmp_path, 3)
    store.of(["a"], counted(calls))
    monkeypatch.setattr(
        "answer_ranking.data_prep.word_vectors.token_store.os.fsync",
        lambda handle: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")),
    )
    with pytest.raises(UserError, match="No space left"):
        store.of(["a", "bb"], counted(calls))
    monkeypatch.undo()
    assert rows_of(store.of(["a", "bb"], counted(calls))) == [[[1.0] * 3], [[2.0] * 3] * 2]


@pytest.fixture
def encoder(write_encoder, tmp_path):
    return ContextualEncoder(str(write_encoder(tmp_path / "encoder")))


def test_a_text_has_the_same_vectors_whatever_is_encoded_beside_it(encoder):
    texts = ["Who wrote the book?", "Ann.", "The train rained at noon."]
    alone = [encoder.encode([text])[0] for text in texts]
    for together, own, text in zip(encoder.encode(texts), alone, texts, strict=True):
        assert len(own) == len(encoder.tokens(text))
        np.testing.assert_allclose(together.astype(float), own.astype(float), atol=2e-3)
    assert encoder.tokens("Ann.") == ["[CLS]", "ann", ".", "[SEP]"]


def test_a_word_has_another_vector_in_another_text(encoder):
    first, second = encoder.encode(["the book", "the train"])
    assert np.abs(first[1] - second[1]).max() > 0.01


def test_a_long_text_is_cut_into_windows(encoder, capsys):
    long = " ".join("abcdefghijklmnopqrstuvw")
    (vectors,) = encoder.encode([long])
    tokens = encoder.tokens(long)
    # The encoder has 12 positions: three windows of 8, 8 and 7 letters.
    assert len(vectors) == len(tokens) == 23 + 3 * 2
    assert tokens[8:12] == ["h", "[SEP]", "[CLS]", "i"]
    np.testing.assert_allclose(vectors[:10], encoder.encode(["a b c d e f g h"])[0], atol=2e-3)
    assert "texts of more than 12 tokens, encoded in several windows: 1" in capsys.readouterr().err


def test_a_data_set_in_contextual_words(encoder, tmp_path):
    dataset = load_dataset("sample")
    encoded, words = encode_with(encoder, dataset, tmp_path)
    table, split = dataset.test, encoded.test
    row = len(table) // 2
    of_row = split.candidates.take([row]).words
    expected = encoder.encode([table["candidate"].iloc[row]])[0]
    np.testing.assert_allclose(words.matrix.take(of_row), expected, atol=2e-3)
    np.testing.assert_array_equal(split.labels, table["label"])
    assert split.question_ids == list(table["question_id"].unique())
    assert len(encoded.vocabulary) == 2 and words.encoder == encoder.sha256
    again, same = encode_with(encoder, dataset, tmp_path)
    assert same.matrix.identity == words.matrix.identity
    np.testing.assert_array_equal(again.train.candidates.texts.words, encoded.train.candidates.texts.words)


def test_padding_and_unknown_are_zero():
    stored = np.array([[1, 2], [3, 4]], np.float16)
    assert TokenVectors(stored).take(np.array([0, 1, 3, 2])).tolist() == [[0, 0], [0, 0], [3, 4], [1, 2]]


def test_contextual_words_stand_alone():
    assert encoder_among(["glove-6b-50d", "glove-6b-100d"]) is None
    with pytest.raises(UserError, match="minilm"):
        encoder_among(["minilm", "glove-6b-50d"])
