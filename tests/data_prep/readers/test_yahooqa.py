import pickle

import pytest

from answer_ranking.data_prep import UserError, load_dataset
from answer_ranking.data_prep.readers.yahooqa import read_yahooqa

PART = {
    "how do I dry an umbrella ?": [["In the sun .", 1], ["No .", 0], ["No .", 0], [" ", 0]],
    ("why", "?"): (("So .", 1), (["Not", "so", "."], 0)),
}


def env(**changes):
    return {"train": PART, "dev": PART, "test": PART, "word2idx": {"a": 1}, **changes}


@pytest.mark.parametrize("protocol", [2, 4])
def test_yahooqa(tmp_path, protocol):
    (tmp_path / "yahooqa").mkdir()
    (tmp_path / "yahooqa" / "env.pkl").write_bytes(pickle.dumps(env(), protocol))
    dataset = load_dataset("yahooqa", data_home=tmp_path)
    for table in dataset.splits.values():
        assert table["question"].unique().tolist() == ["how do I dry an umbrella ?", "why ?"]
        assert table["candidate"].tolist() == ["In the sun .", "No .", "So .", "Not so ."]
        assert table["label"].tolist() == [1, 0, 1, 0]
        assert sum(table.attrs["skipped"].values()) == 2
    assert dataset.train["candidate_id"].tolist()[:2] == ["train-1-1", "train-1-2"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "no dictionary 'train'"),
        (env(dev=[PART]), "no dictionary 'dev'"),
        (env(test={"q": [["a"]]}), "test, question 1: not a text"),
        (env(test={"q": [["a", 2]]}), "the label 2 is not 0 or 1"),
        (env(test={" ": [["a", 1]]}), "the question is empty"),
    ],
)
def test_another_form_is_a_user_error(value, message):
    with pytest.raises(UserError, match=message):
        read_yahooqa(pickle.dumps(value), "env.pkl")


def test_one_list_for_the_answers_of_many_questions_is_refused():
    answers = [[f"a{i}", 0] for i in range(3000)]
    with pytest.raises(UserError, match="more is in it than its length allows"):
        read_yahooqa(pickle.dumps(env(train={f"q{i}": answers for i in range(3000)})), "env.pkl")
    word = "a" * 100_000
    for shared in ({"q": [[[word] * 100_000, 1]]}, {f"q{i}": [[word, 1]] for i in range(100_000)}):
        with pytest.raises(UserError, match="more is in it than its length allows"):
            read_yahooqa(pickle.dumps(env(train=shared)), "env.pkl")
