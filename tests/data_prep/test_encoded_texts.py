import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import EncodedTexts, SharedTexts, Vocabulary

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


def test_many_rows_are_laid_out_in_parts():
    table = encode([["a", "b", "c"], [], ["d"], ["b", "a"]])
    index = np.random.default_rng(0).integers(0, 4, 40_000).astype(np.int32)
    np.testing.assert_array_equal(SharedTexts(table, index).words, table.take(index).words)
