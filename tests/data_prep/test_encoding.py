import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep import (
    EncodedTexts,
    SharedTexts,
    Tokenizer,
    Vocabulary,
    apply_protocol,
    encode_dataset,
    encode_split,
    load_dataset,
)
from data_prep.tables import check_table

token_lists = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=6)


def encode(lists):
    return EncodedTexts.from_tokens(lists, Vocabulary.build(lists))


def padded_by_hand(texts, indices, width):
    rows = []
    for i in indices:
        row = texts.words[texts.offsets[i] : texts.offsets[i + 1]].tolist()[:width]
        rows.append(row + [0] * (width - len(row)))
    return rows


@given(token_lists, st.data(), st.integers(1, 8))
def test_padded_and_take(lists, data, width):
    texts = encode(lists)
    assert texts.lengths.tolist() == [len(tokens) for tokens in lists]
    indices = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    assert texts.padded(indices, width).tolist() == padded_by_hand(texts, indices, width)
    longest = max(1, *map(len, lists), 1)
    assert texts.padded().tolist() == padded_by_hand(texts, range(len(lists)), longest)
    taken = texts.take(indices)
    assert (taken.words.dtype, taken.offsets.dtype) == (np.int32, np.int64)
    assert taken.padded(max_length=width).tolist() == texts.padded(indices, width).tolist()


@given(token_lists, st.data(), st.integers(1, 8))
def test_shared_texts_are_the_texts_of_their_rows(lists, data, width):
    """A table and an index do all that the same texts laid out in full do."""
    table = encode(lists)
    row_lists = st.lists(st.integers(0, len(lists) - 1), max_size=8)
    index = np.array(data.draw(row_lists), np.int32)
    shared, full = SharedTexts(table, index), table.take(index)
    assert len(shared) == len(full)
    for name in ("words", "offsets", "lengths"):
        np.testing.assert_array_equal(getattr(shared, name), getattr(full, name))
        assert getattr(shared, name).dtype == getattr(full, name).dtype
    rows = data.draw(st.lists(st.integers(0, len(index) - 1), max_size=8) if len(index) else st.just([]))
    assert shared.take(rows).padded(max_length=width).tolist() == full.padded(rows, width).tolist()
    assert shared.padded(rows, width).tolist() == full.padded(rows, width).tolist()
    assert EncodedTexts.padded(shared).tolist() == full.padded().tolist() == shared.padded().tolist()
    selected = shared.select(rows)
    assert selected.texts is table
    np.testing.assert_array_equal(selected.words, full.take(rows).words)
    counts = np.bincount(full.words, minlength=20)
    np.testing.assert_array_equal(shared.token_counts(20), counts)


def test_many_rows_are_laid_out_in_parts():
    table = encode([["a", "b", "c"], [], ["d"], ["b", "a"]])
    index = np.random.default_rng(0).integers(0, 4, 40_000).astype(np.int32)
    np.testing.assert_array_equal(SharedTexts(table, index).words, table.take(index).words)


@given(token_lists, st.data())
def test_vocabulary_of_repeated_texts(lists, data):
    times = data.draw(st.lists(st.integers(1, 3), min_size=len(lists), max_size=len(lists)))
    repeated = [tokens for tokens, n in zip(lists, times, strict=True) for _ in range(n)]
    assert Vocabulary.build(lists, times).words == Vocabulary.build(repeated).words


def test_rows_of_the_same_text_share_it(tmp_path):
    answers = ["the same", "another", "the same", "a third", "another"]
    table = check_table(
        pd.DataFrame({"question": list("ppqqq"), "candidate": answers, "label": [1, 0, 0, 1, 0]}), "rows"
    )
    dataset = replace(load_dataset("sample"), train=table, further_tests={"test2": table})
    for _ in range(2):  # made, then read from the cache
        encoded = encode_dataset(dataset, cache_home=tmp_path)
        for split in (encoded.train, encoded.splits["test2"]):
            assert split.candidates.index.tolist() == [0, 1, 0, 2, 1]
            assert split.candidates.texts.lengths.tolist() == [2, 1, 2]
            kept = split.keep_questions(np.array([False, True]))
            assert kept.candidates.texts is split.candidates.texts
            assert kept.candidates.lengths.tolist() == [2, 2, 1]
            assert kept.candidate_ids == ["c3", "c4", "c5"]


def test_further_test_splits_need_names_of_their_own():
    dataset = load_dataset("sample")
    with pytest.raises(ValueError, match=r"Received: \['dev'\]"):
        replace(dataset, further_tests={"dev": dataset.test})


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


def test_tokenizers():
    text = "  Isn't  it\u00a0U.S. soil? "
    assert Tokenizer(pretokenised=True)([text]) == [["isn't", "it", "u.s.", "soil?"]]
    assert Tokenizer(pretokenised=True, lowercase=False)(["A b"]) == [["A", "b"]]
    spacy = pytest.importorskip("spacy")
    expected = [token.text for token in spacy.blank("en")(text) if not token.is_space]
    assert Tokenizer(pretokenised=False, lowercase=False)([text]) == [expected]
    assert Tokenizer(pretokenised=False)([text, text]) == [[token.lower() for token in expected]] * 2


rows = st.lists(
    st.tuples(
        st.sampled_from("pqrs"), st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.integers(0, 1)
    ),
    min_size=1,
    max_size=12,
)


@given(rows, st.sampled_from(["all", "answerable", "clean"]))
def test_a_split_keeps_the_table_and_its_protocols(rows, rule):
    data = [{"question": q, "candidate": " ".join(c), "label": y} for q, c, y in rows]
    table = check_table(pd.DataFrame(data), "rows")
    tokenizer, vocabulary = Tokenizer(pretokenised=True), Vocabulary(list("abcpqrs"))
    split = encode_split(table, tokenizer, vocabulary)
    chosen = split.keep_questions(split.counts_under(rule))
    expected = apply_protocol(table, rule)
    assert chosen.candidate_ids == expected["candidate_id"].tolist()
    assert chosen.labels.tolist() == expected["label"].tolist()
    assert [chosen.question_ids[i] for i in chosen.question_of_row] == expected["question_id"].tolist()
    assert (chosen.n_questions, chosen.n_rows) == (expected["question_id"].nunique(), len(expected))

    def text(texts, i):
        return " ".join(vocabulary.words[number] for number in texts.take([i]).words)

    assert [text(chosen.candidates, i) for i in range(chosen.n_rows)] == expected["candidate"].tolist()
    assert [text(chosen.questions, i) for i in chosen.question_of_row] == expected["question"].tolist()


def same(a, b):
    assert a.vocabulary.words == b.vocabulary.words
    for one, other in zip(a.splits.values(), b.splits.values(), strict=True):
        assert (one.question_ids, one.candidate_ids) == (other.question_ids, other.candidate_ids)
        for name in ("questions", "candidates"):
            np.testing.assert_array_equal(getattr(one, name).words, getattr(other, name).words)
            np.testing.assert_array_equal(getattr(one, name).offsets, getattr(other, name).offsets)
        np.testing.assert_array_equal(one.candidate_offsets, other.candidate_offsets)
        np.testing.assert_array_equal(one.labels, other.labels)
        assert (one.labels.dtype, one.candidate_offsets.dtype) == (np.int8, np.int64)


def test_cache_gives_back_what_was_encoded(tmp_path):
    dataset = load_dataset("sample")
    first = encode_dataset(dataset, cache_home=tmp_path)
    (entry,) = tmp_path.rglob("*.npz")
    written = entry.stat().st_mtime_ns
    same(first, encode_dataset(dataset, cache_home=tmp_path))
    assert entry.stat().st_mtime_ns == written
    total = sum(len(split.questions.words) + len(split.candidates.words) for split in first.splits.values())
    assert first.word_counts.sum() == total
    assert first.word_counts[:2].tolist() == [0, 0]


@pytest.mark.parametrize("keep", [0, 100, -1, None])
def test_damaged_cache_is_made_anew(tmp_path, keep):
    dataset = load_dataset("sample")
    first = encode_dataset(dataset, cache_home=tmp_path)
    (entry,) = tmp_path.rglob("*.npz")
    content = entry.read_bytes()
    middle = len(content) // 2
    entry.write_bytes(content[:middle] + b"?" + content[middle + 1 :] if keep is None else content[:keep])
    with pytest.warns(UserWarning, match="damaged"):
        same(first, encode_dataset(dataset, cache_home=tmp_path))
    assert entry.read_bytes() == content


def test_cache_follows_the_content(tmp_path):
    dataset = load_dataset("sample")
    encode_dataset(dataset, cache_home=tmp_path)
    encode_dataset(dataset, lowercase=False, cache_home=tmp_path)
    test = dataset.test.copy()
    test.loc[0, "label"] = 1 - test.loc[0, "label"]
    changed = encode_dataset(replace(dataset, test=test), cache_home=tmp_path)
    assert changed.test.labels[0] == test.loc[0, "label"]
    assert len(list(tmp_path.rglob("*.npz"))) == 3


def test_cache_that_cannot_be_written_is_a_warning_only(tmp_path):
    (tmp_path / "encoded").write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="not kept for the next run"):
        encode_dataset(load_dataset("sample"), cache_home=tmp_path)


def test_import_is_light():
    code = (
        "import sys, json, data_prep, data_prep.cli, data_prep.download;"
        "heavy = {'tensorflow', 'keras', 'spacy', 'gensim', 'matplotlib'};"
        "print(json.dumps(sorted(heavy & set(sys.modules))))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []


def test_parts_of_the_texts_make_the_same_arrays_as_all_at_once(tmp_path, monkeypatch):
    dataset = load_dataset("sample")
    whole = encode_dataset(dataset, cache_home=tmp_path / "whole")
    monkeypatch.setattr("data_prep.encoded_dataset._TEXTS_AT_ONCE", 7)
    parts = encode_dataset(dataset, cache_home=tmp_path / "parts")
    assert parts.vocabulary.words == whole.vocabulary.words
    for name, split in whole.splits.items():
        other = parts.splits[name]
        np.testing.assert_array_equal(other.questions.words, split.questions.words)
        np.testing.assert_array_equal(other.candidates.texts.words, split.candidates.texts.words)
        np.testing.assert_array_equal(other.candidates.index, split.candidates.index)
