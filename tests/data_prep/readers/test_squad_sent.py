import json

import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.data_prep.downloads.data_files import DataFiles
from answer_ranking.data_prep.readers.rows import split_by_article
from answer_ranking.data_prep.readers.squad_sent import SQUAD_SENT, read_squad

CONTEXT = "Otters swim. They eat 3.5 kg of fish! Do they sleep afloat? Yes."


def squad(*questions, context=CONTEXT, title="Otter"):
    return json.dumps(
        {
            "version": "v2.0",
            "data": [{"title": title, "paragraphs": [{"context": context, "qas": questions}]}],
        }
    )


def ask(identifier, *answers):
    return {
        "id": identifier,
        "question": "What do  they eat?",
        "answers": [{"text": text, "answer_start": CONTEXT.index(text)} for text in answers],
        "is_impossible": not answers,
    }


def test_the_sentence_that_holds_the_first_answer_is_correct():
    crossing = "swim. They"
    table = read_squad(
        squad(ask("a", "fish", "Yes"), ask("b"), ask("c", crossing), ask("d", "Yes")), "a.json"
    )
    assert table["candidate"].tolist()[:4] == [
        "Otters swim.",
        "They eat 3.5 kg of fish!",
        "Do they sleep afloat?",
        "Yes.",
    ]
    labels = table.groupby("question_id")["label"].apply(list).to_dict()
    assert labels == {"a": [0, 1, 0, 0], "b": [0, 0, 0, 0], "c": [1, 0, 0, 0], "d": [0, 0, 0, 1]}
    assert table["candidate_id"].tolist()[:2] == ["Otter/0/0", "Otter/0/1"]
    assert set(table["question"]) == {"What do they eat?"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not SQuAD's JSON"),
        (squad(ask("a"))[:-9], "not SQuAD's JSON"),
        ("[" * 100_000, "not SQuAD's JSON"),
        ('{"data": [{"title": "x", "paragraphs": [{"qas": []}]}]}', "not SQuAD's JSON"),
        (squad({"id": "a", "question": "x"}), "article 'Otter', paragraph 1: .*'answers'"),
        (squad({**ask("a"), "question": None}), "paragraph 1: .*None is not a text"),
        (squad({**ask("a"), "answers": [{"text": "fish", "answer_start": 3}]}), "does not stand at 3"),
        (squad(ask("a"), ask("a")), "occurs twice"),
        (squad(ask("a"), context=" \n"), "no rows"),
    ],
)
def test_damaged_squad_is_a_user_error(text, message):
    with pytest.raises(UserError, match=message) as error:
        read_squad(text, "a.json")
    assert str(error.value).startswith("a.json")


def test_articles_are_set_aside_whole():
    tables = [read_squad(squad(ask(f"{i}"), ask(f"{i}b"), title=f"T{i}"), "a.json") for i in range(20)]
    import pandas as pd

    table = pd.concat(tables, ignore_index=True)
    train, dev = split_by_article(table, 0.1, seed=3)
    assert not set(train["article"]) & set(dev["article"])
    assert dev["question_id"].nunique() == 4
    assert len(train) + len(dev) == len(table)
    assert split_by_article(table, 0.1, seed=3)[1]["article"].tolist() == dev["article"].tolist()
    assert any(
        set(split_by_article(table, 0.1, seed)[1]["article"]) != set(dev["article"]) for seed in range(9)
    )
    with pytest.raises(UserError, match="about the articles"):
        split_by_article(tables[0])


@pytest.mark.real_data
def test_real_squad_counts_beside_the_papers(real_folder):
    real_data_home = real_folder("squad").parent
    path = "squad/dev-v2.0.json"  # which is the test split; a question of the others is read alike
    test = read_squad(DataFiles(SQUAD_SENT, real_data_home)(path), path)
    assert test["question_id"].nunique() == 11873
    assert test["label"].sum() == 5928  # 49.93 %; the paper has 49.92 %
    # The paper's splitter finds 63,959 sentences, which gives 30.54 for P@1 and 53.53 for MAP of the order.
    assert len(test) == pytest.approx(63959, rel=0.03)
    rows = test[test["question_id"].isin(test.loc[test["label"] == 1, "question_id"])]
    assert rows.drop_duplicates("question_id")["label"].mean() == pytest.approx(0.3054, abs=0.015)
    ranks = rows.groupby("question_id").cumcount()[rows["label"] == 1] + 1
    assert (1 / ranks).mean() == pytest.approx(0.5353, abs=0.015)
