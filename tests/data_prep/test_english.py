"""Whether a table is in the language that the word vectors know."""

import pandas as pd
import pytest

from answer_ranking.data_prep import load_dataset
from answer_ranking.data_prep.english import know_english_alone, looks_english
from answer_ranking.ranking import AnswerIndex

OTHERS = {
    "Dutch": "Hoe kan ik mijn bestelling retourneren? De levertijd is drie werkdagen, of langer.",
    "German": "Wie kann ich meine Bestellung zurück senden? Das Geld ist in fünf Tagen auf dem Konto.",
    "French": "Comment puis-je retourner ma commande? On a le droit de changer d'avis à tout moment.",
    "Danish": "Hvordan betaler jeg min faktura? Er der en garanti på varer? Ja, i to år, for alle.",
    "Chinese": "我怎么退货？您可以在三十天内把商品退回给我们。",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_other_languages(text):
    assert not looks_english([text] * 5)


@pytest.mark.parametrize("column", ["question", "candidate"])
def test_english(column):
    assert looks_english(load_dataset("sample").test[column])
    assert looks_english([OTHERS["German"]])  # too little to tell


def test_neither_a_long_text_nor_terse_answers_make_a_table_foreign():
    english = load_dataset("sample").test["candidate"].unique().tolist()
    names = " ".join(f"xq{i}" for i in range(5000))
    assert looks_english([*english, names]) and not looks_english([OTHERS["German"]] * 9 + [english[0]])
    terse = ["14 days", "Visa, Mastercard, PayPal", "Settings > Account > Delete", "support@example.org"] * 5
    questions = ["How long do I have to return it?", "What can I pay with?", "Who can help me with this?"] * 7
    assert not looks_english(terse) and looks_english(questions, terse)


def test_an_index_of_another_language_says_so(tmp_path, capsys):
    table = pd.DataFrame({"answer": [OTHERS["German"], OTHERS["Dutch"], OTHERS["Danish"]]})
    AnswerIndex.build("hyperqa_squad", table, tmp_path / "german")
    assert "--first-stage ngrams" in capsys.readouterr().err
    AnswerIndex.build(None, table, tmp_path / "words")
    AnswerIndex.build("hyperqa_squad", table[:1].assign(question=[7]), tmp_path / "numbers")
    english = load_dataset("sample").test[["candidate"]].drop_duplicates()
    AnswerIndex.build("hyperqa_squad", english, tmp_path / "english")
    assert not capsys.readouterr().err


def test_vectors_that_were_trained_on_the_table_know_its_language():
    assert know_english_alone(["glove-6b-50d"]) and not know_english_alone(["task-skipgram-100d"])


def test_a_file_of_ones_own_may_know_any_language():
    for name in ("minilm", "glove+spacy-450d", "googlenews-300d"):
        assert know_english_alone([name])
    for name in ("glove-deutsch.txt", "minilm-multilingual"):
        assert not know_english_alone([name]) and not know_english_alone(["glove-6b-50d", name])
