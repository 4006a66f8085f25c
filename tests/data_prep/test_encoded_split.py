from collections import Counter

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import (
    EncodedTexts,
    SharedTexts,
    Tokenizer,
    Vocabulary,
    apply_protocol,
    encode_split,
)
from answer_ranking.data_prep.encoded_split import count_words
from answer_ranking.data_prep.tables import check_table

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

    words = [
        *"".join(expected["candidate"]).replace(" ", ""),
        *expected.groupby("question_id")["question"].first(),
    ]
    counts = dict(zip(vocabulary.words, count_words([chosen], len(vocabulary)), strict=True))
    assert {word: n for word, n in counts.items() if n} == Counter(words)

    def text(texts, i):
        return " ".join(vocabulary.words[number] for number in texts.take([i]).words)

    assert [text(chosen.candidates, i) for i in range(chosen.n_rows)] == expected["candidate"].tolist()
    assert [text(chosen.questions, i) for i in chosen.question_of_row] == expected["question"].tolist()


token_lists = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=6)


def encode(lists):
    return EncodedTexts.from_tokens(lists, Vocabulary.build(lists))


def padded_by_hand(texts, indices, width):
    rows = []
    for i in indices:
        row = texts.words[texts.offsets[i] : texts.offsets[i + 1]].tolist()[:width]
        rows.append(row + [0] * (width - len(row)))
    return rows


@given(token_lists, st.data())
def test_padded_and_take(lists, data):
    texts = encode(lists)
    assert texts.lengths.tolist() == [len(tokens) for tokens in lists]
    indices = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    width = max([1, *(len(lists[i]) for i in indices)])
    assert texts.padded(indices).tolist() == padded_by_hand(texts, indices, width)
    longest = max(1, *map(len, lists), 1)
    assert texts.padded().tolist() == padded_by_hand(texts, range(len(lists)), longest)
    taken = texts.take(indices)
    assert (taken.words.dtype, taken.offsets.dtype) == (np.int32, np.int64)
    assert taken.padded().tolist() == texts.padded(indices).tolist()


@given(token_lists, st.data())
def test_shared_texts_are_the_texts_of_their_rows(lists, data):
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
    assert shared.take(rows).padded().tolist() == full.padded(rows).tolist()
    assert shared.padded(rows).tolist() == full.padded(rows).tolist()
    assert EncodedTexts.padded(shared).tolist() == full.padded().tolist() == shared.padded().tolist()
    selected = shared.select(rows)
    assert selected.texts is table
    np.testing.assert_array_equal(selected.words, full.take(rows).words)


def test_many_rows_are_laid_out_in_parts():
    table = encode([["a", "b", "c"], [], ["d"], ["b", "a"]])
    index = np.random.default_rng(0).integers(0, 4, 40_000).astype(np.int32)
    np.testing.assert_array_equal(SharedTexts(table, index).words, table.take(index).words)
