import io
import itertools
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answer_ranking.data_prep import encode_dataset, load_dataset
from answer_ranking.data_prep.tables import check_table


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


@pytest.fixture
def few():
    """The first rows of the sample."""
    sample = load_dataset("sample")
    return replace(sample, **{name: table[:12].copy() for name, table in sample.splits.items()})


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


def test_cache_gives_back_what_was_encoded(tmp_path, few):
    first = encode_dataset(few, cache_home=tmp_path)
    (entry,) = tmp_path.rglob("*.npz")
    written = entry.stat().st_mtime_ns
    same(first, encode_dataset(few, cache_home=tmp_path))
    assert entry.stat().st_mtime_ns == written
    total = sum(len(split.questions.words) + len(split.candidates.words) for split in first.splits.values())
    assert first.word_counts.sum() == total
    assert first.word_counts[:2].tolist() == [0, 0]


def test_candidates_are_shown_in_the_document_s_order_only_where_it_is_a_signal(tmp_path, few):
    """Where correct answers stand first their order is the label, and a list-wise model would read it."""
    document = replace(few, description=replace(few.description, order_is_signal=True))
    for dataset, seed in ((few, 0), (document, None), (few, 0)):  # from one cache
        for split in encode_dataset(dataset, cache_home=tmp_path).splits.values():
            assert split.order_seed == split.keep_questions(split.n_correct > 0).order_seed == seed


def test_any_damaged_cache_is_made_anew(tmp_path, damaged, few):
    first = encode_dataset(few, cache_home=tmp_path)
    (entry,) = tmp_path.rglob("*.npz")
    content = entry.read_bytes()
    with np.load(entry) as file:
        arrays = dict(file)
    changed = {"train_labels": np.zeros(3, np.int8), "names": np.frombuffer(b"[" * 100_000, np.uint8)}
    with pytest.warns(UserWarning, match="damaged"):
        entry.write_bytes(content[:-1])
        same(first, encode_dataset(few, cache_home=tmp_path))
    assert entry.read_bytes() == content
    # One in four: of each, three splits are encoded anew.
    contents = [b"", content[:100], *itertools.islice(damaged(content), 0, None, 4)]
    for name, array in changed.items():
        buffer = io.BytesIO()
        np.savez(buffer, **{**arrays, name: array})
        contents.append(buffer.getvalue())
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays, bomb=np.zeros(10_000_000))
    for damage in [*contents, buffer.getvalue()]:
        entry.write_bytes(damage)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(first, encode_dataset(few, cache_home=tmp_path))


def test_cache_follows_the_content(tmp_path, few):
    encode_dataset(few, cache_home=tmp_path)
    encode_dataset(few, lowercase=False, cache_home=tmp_path)
    test = few.test.copy()
    test.loc[0, "label"] = 1 - test.loc[0, "label"]
    changed = encode_dataset(replace(few, test=test), cache_home=tmp_path)
    assert changed.test.labels[0] == test.loc[0, "label"]
    assert len(list(tmp_path.rglob("*.npz"))) == 3


def test_cache_that_cannot_be_written_is_a_warning_only(tmp_path, few):
    (tmp_path / "encoded").write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="not kept for the next run"):
        encode_dataset(few, cache_home=tmp_path)


def test_parts_of_the_texts_make_the_same_arrays_as_all_at_once(tmp_path, monkeypatch, few):
    whole = encode_dataset(few, cache_home=tmp_path / "whole")
    monkeypatch.setattr("answer_ranking.data_prep.encoded_dataset._TEXTS_AT_ONCE", 7)
    same(encode_dataset(few, cache_home=tmp_path / "parts"), whole)
