from collections import Counter

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.data_prep import Tokenizer, Vocabulary, apply_protocol, encode_split
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
