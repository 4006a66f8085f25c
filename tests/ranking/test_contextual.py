"""Rankers of contextual words: trained on a table, saved without the encoder, and used on new texts."""

import shutil

import numpy as np
import pandas as pd
import pytest

from answer_ranking import AnswerIndex, Ranker, train_ranker
from answer_ranking.data_prep import UserError

ANSWERS = ["Ann wrote the book.", "The train rained at noon.", "It rained."]


@pytest.fixture
def table():
    rows = []
    for number in range(12):
        letter = chr(ord("a") + number)
        rows += [(f"Who wrote the book {letter}?", f"Ann wrote book {letter}.", 1)]
        rows += [(f"Who wrote the book {letter}?", f"The train {letter} rained.", 0)]
    return pd.DataFrame(rows, columns=["question", "candidate", "label"])


@pytest.fixture
def train(write_encoder, tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_encoder(tmp_path / "encoder")

    def train(model="hyperqa-list"):
        trained = train_ranker(
            table, model=model, embeddings=str(folder), epochs=2, output=tmp_path / "outputs"
        )
        return trained.ranker, trained.folder / "model"

    return train


@pytest.mark.parametrize("model", ["hyperqa-list", "hyperqa", "cosinet", "ap-cnn"])
def test_a_saved_ranker_ranks_new_texts_as_the_trained_one(train, model):
    ranker, folder = train(model)
    question = "Who wrote a new book?"
    expected = ranker.rank(question, ANSWERS)
    loaded = Ranker.load(folder)
    pd.testing.assert_frame_equal(loaded.rank(question, ANSWERS), expected)
    # Other texts in between, and a text twice, change nothing.
    loaded.rank("It?", ["noon", "noon", "train"])
    pd.testing.assert_frame_equal(loaded.rank(question, ANSWERS), expected)
    assert len(set(expected["score"].round(4))) > 1
    assert loaded.unknown_words("xyzzy") == []


def test_numpy_scores_as_keras(train):
    ranker, _ = train("hyperqa")
    pairs = [("Who wrote it?", text) for text in ANSWERS]
    encoded = ranker.open_vocabulary.encode(["Who wrote it?", *ANSWERS])
    model = ranker.grown_model(encoded)
    question = np.repeat(encoded.padded([0]), len(ANSWERS), axis=0)
    by_keras = model([question, encoded.padded([1, 2, 3])]).numpy()
    np.testing.assert_allclose(ranker.score(pairs), by_keras, rtol=1e-4, atol=1e-4)


def test_the_folder_holds_the_head_alone(train):
    _, folder = train()
    # 8 x 300 weights; the vectors of the table's tokens would be more by themselves.
    assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000


def test_another_encoder_is_refused_and_a_missing_one_named(train, write_encoder, tmp_path):
    _, folder = train()
    write_encoder(tmp_path / "encoder", seed=1)
    with pytest.raises(UserError, match="not that of the training"):
        Ranker.load(folder).rank("Who?", ANSWERS)
    shutil.rmtree(tmp_path / "encoder")
    with pytest.raises(UserError, match="encoder"):
        Ranker.load(folder).rank("Who?", ANSWERS)


def test_empty_texts_are_refused(train):
    ranker, _ = train()
    with pytest.raises(UserError, match="empty"):
        ranker.encode_document(["Ann.", " "])


def test_every_token_has_its_share(train):
    ranker, _ = train()
    why = ranker.explain("Who wrote it?", "Ann rained.")
    assert list(why.answer) == ["[CLS]", "ann", "rain", "##ed", ".", "[SEP]"]
    assert np.isfinite(why.answer_weights).all()


def test_answers_are_indexed_and_found(train, tmp_path):
    ranker, folder = train()
    answers = pd.DataFrame({"candidate": ANSWERS})
    index = AnswerIndex.build(folder, answers, tmp_path / "index")
    found = index.search("Who wrote a new book?", k=3)
    expected = ranker.rank("Who wrote a new book?", ANSWERS)
    assert found["candidate"].tolist() == expected["text"].tolist()
    np.testing.assert_allclose(found["score"], expected["score"], atol=1e-4)
