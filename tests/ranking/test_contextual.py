"""Rankers of contextual words: trained on a table, saved without the encoder, and used on new texts."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answer_ranking import AnswerIndex, Ranker, train_ranker
from answer_ranking.data_prep import UserError, Vocabulary, load_dataset
from answer_ranking.data_prep.word_vectors.contextual import ContextualEncoder
from answer_ranking.engine import encode
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking import ranker as ranker_module
from answer_ranking.ranking.contextual_vocabulary import ContextualVocabulary
from answer_ranking.ranking.keras_scorer import KerasScorer
from answer_ranking.ranking.train_options import FROM_PRESETS
from answer_ranking.training import score

QUESTION = "Who wrote a new book?"
ANSWERS = ["Ann wrote the book.", "The train rained at noon.", "It rained."]


@pytest.fixture(scope="module")
def trained(write_encoder, tmp_path_factory):
    """Train HyperQA on a table of twelve questions; gives the ranker and its folder."""
    rows = []
    for letter in "abcdefghijkl":
        rows.append((f"Who wrote the book {letter}?", f"Ann wrote book {letter}.", 1))
        rows.append((f"Who wrote the book {letter}?", f"The train {letter} rained.", 0))
    table = pd.DataFrame(rows, columns=["question", "candidate", "label"])
    place = tmp_path_factory.mktemp("contextual")
    encoder = write_encoder(place / "encoder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        options = {"embeddings": str(encoder), "epochs": 2, "output": place / "outputs"}
        found = train_ranker(table, model="hyperqa-list", **options)
    return found.ranker, found.folder / "model"


@pytest.fixture
def built(write_encoder, small_options, tmp_path):
    """Give a function that builds an untrained ranker of the catalogue, and the folder of its encoder."""
    from answer_ranking.models.encodings import ContextualWords

    encoder = write_encoder(tmp_path / "encoder")

    def build(kind):
        entry = CATALOGUE[kind]
        if kind == "ca-list":  # whose ten convolutions take long to compile
            entry = replace(entry, fixed={**entry.fixed, "widths": (2,)})
        model = entry.build(ContextualWords(8), small_options(entry))
        sha256 = ContextualEncoder(str(encoder)).sha256
        return Ranker(model, Vocabulary([]), kind=kind, vectors=[str(encoder)], encoder=sha256)

    return build, encoder


def assert_ranks_alike(loaded, ranker):
    expected = ranker.rank(QUESTION, ANSWERS)
    pd.testing.assert_frame_equal(loaded.rank(QUESTION, ANSWERS), expected)
    # Other texts in between, and a text twice, change nothing.
    loaded.rank("It?", ["noon", "noon", "train"])
    pd.testing.assert_frame_equal(loaded.rank(QUESTION, ANSWERS), expected)
    assert len(set(expected["score"].round(5))) > 1


def test_a_trained_ranker_is_saved_without_the_encoder(trained):
    ranker, folder = trained
    loaded = Ranker.load(folder)
    assert_ranks_alike(loaded, ranker)
    assert loaded.by_numpy and loaded.unknown_words("xyzzy") == []
    assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000


def test_a_preset_of_contextual_words_goes_on_from_its_weights(trained, tmp_path, monkeypatch):
    """With steps too small to change anything the trained ranker scores as the preset does."""
    ranker, folder = trained
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    preset = FROM_PRESETS["hyperqa_minilm"]._replace(embeddings=tuple(ranker.vectors))
    monkeypatch.setitem(FROM_PRESETS, "hyperqa_minilm", preset)
    monkeypatch.setattr(Ranker, "from_preset", lambda name: Ranker.load(folder))
    tables = [table[["question", "candidate", "label"]] for table in load_dataset("sample").splits.values()]
    options = {"epochs": 1, "learning_rate": 1e-12, "output": tmp_path}
    found = train_ranker(*tables, model="hyperqa_minilm", **options)
    assert found.result["model"] == "HyperQA list from hyperqa_minilm"
    assert_ranks_alike(found.ranker, ranker)


@pytest.mark.parametrize("kind", ["hyperqa", "ap-cnn", "ctrn"])
def test_saved_heads_rank_new_texts_as_before(built, tmp_path, kind):
    ranker = built[0](kind)
    ranker.save(tmp_path / "model")
    assert_ranks_alike(Ranker.load(tmp_path / "model"), ranker)


def test_numpy_scores_as_keras(built):
    ranker = built[0]("hyperqa")
    encoded = ranker.open_vocabulary.encode([QUESTION, *ANSWERS])
    question = np.repeat(encoded.padded([0]), len(ANSWERS), axis=0)
    with KerasScorer(ranker.model, True).grown(encoded, encoded.vectors) as model:
        by_keras = model([question, encoded.padded([1, 2, 3])]).numpy()
    by_numpy = ranker.score([(QUESTION, text) for text in ANSWERS])
    np.testing.assert_allclose(by_numpy, by_keras, rtol=1e-3, atol=1e-3)


def test_an_untrained_encoder_ranks_by_the_cosine_of_mean_vectors(write_encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = str(write_encoder(tmp_path / "encoder"))
    ranker = Ranker.of_encoder(source)
    q, *means = [
        each.astype(float).mean(0) for each in ContextualEncoder(source).encode([QUESTION, *ANSWERS])
    ]
    expected = [q @ a / np.linalg.norm(q) / np.linalg.norm(a) for a in means]
    pairs = [(QUESTION, text) for text in ANSWERS]
    np.testing.assert_allclose(ranker.score(pairs), expected, atol=1e-5)
    ranker.save(tmp_path / "model")
    loaded = Ranker.load(tmp_path / "model")
    # Whether the vectors of tokens are kept or not, they are the same ones.
    loaded.open_vocabulary.kept = True
    for _ in range(2):
        np.testing.assert_allclose(loaded.score(pairs), expected, atol=1e-5)


def test_another_encoder_is_refused_and_a_missing_one_named(built, write_encoder, tmp_path):
    build, encoder = built
    build("hyperqa").save(tmp_path / "model")
    write_encoder(encoder, seed=1)
    with pytest.raises(UserError, match="not that of the training"):
        Ranker.load(tmp_path / "model").rank(QUESTION, ANSWERS)
    shutil.rmtree(encoder)
    with pytest.raises(UserError, match=r"there is no encoder .*QA_EMBEDDINGS_HOME"):
        Ranker.load(tmp_path / "model").rank(QUESTION, ANSWERS)


def test_an_encoder_that_another_machine_has_elsewhere_is_found_by_its_name(built, tmp_path, monkeypatch):
    build, encoder = built
    ranker, home = build("hyperqa"), tmp_path / "home"
    ranker.save(tmp_path / "model")
    expected = ranker.rank(QUESTION, ANSWERS)
    home.mkdir()
    encoder.rename(home / encoder.name)
    given = Ranker.load(tmp_path / "model", embeddings_home=home)
    pd.testing.assert_frame_equal(given.rank(QUESTION, ANSWERS), expected)
    monkeypatch.setenv("QA_EMBEDDINGS_HOME", str(home))
    pd.testing.assert_frame_equal(Ranker.load(tmp_path / "model").rank(QUESTION, ANSWERS), expected)


def test_rankers_of_one_training_leave_its_vectors_alone(write_encoder, small_options, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = encode(load_dataset("sample"), [str(write_encoder(tmp_path / "encoder"))])
    entry = CATALOGUE["ap-cnn"]
    models = [entry.build(data.word_embedding, small_options(entry)) for _ in range(2)]
    expected = [score(model, data.test) for model in models]
    rankers = [Ranker.of_training(model, "ap-cnn", data, "sample") for model in models]
    alone = [ranker.score([(QUESTION, text) for text in ANSWERS]) for ranker in rankers]
    for model, before in zip(models, expected, strict=True):
        np.testing.assert_array_equal(score(model, data.test), before)
    # Both at once, texts of two lengths.
    with ThreadPoolExecutor(4) as pool:
        asked = [(QUESTION, text) for text in ANSWERS], [("It?", "noon")] * 3
        calls = [pool.submit(ranker.score, pairs) for _ in range(20) for ranker in rankers for pairs in asked]
        found = [call.result() for call in calls]
    for number in range(0, len(found), 2):
        np.testing.assert_allclose(found[number], alone[number // 2 % 2], rtol=1e-5)


@pytest.mark.parametrize("kind", ["hyperqa", "ap-cnn", "ca-list"])
def test_few_tokens_are_held_at_a_time(built, kind, monkeypatch):
    ranker, texts = built[0](kind), [f"{text} {letter}" for letter in "abcdef" for text in ANSWERS]
    asked = [(question, text) for question in (QUESTION, "It?") for text in texts]
    encodes, reads_lists = kind == "hyperqa", kind == "ca-list"

    def use():
        yield ranker.score(asked)
        if encodes:
            yield from (ranker.encode_document(texts), *ranker.encode_and_tell_known(texts))
            yield ranker.encode_query(texts)

    expected, held = list(use()), []
    encode_texts = ContextualVocabulary.encode

    def counted(*given):
        held.append(encode_texts(*given))
        return held[-1]

    monkeypatch.setattr(ContextualVocabulary, "encode", counted)
    monkeypatch.setattr(ranker_module, "_TOKENS_AT_ONCE", 100)
    for found, whole in zip(use(), expected, strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-3, atol=1e-4)
    # A model of lists sees all candidates of a question.
    most = max(len(each.vectors) for each in held)
    assert (most > 100) == reads_lists
    if encodes:
        with pytest.raises(UserError, match="text 18 is empty"):
            ranker.encode_document([*texts[:17], " "])


def test_every_token_has_its_share(trained):
    ranker, _ = trained
    why = ranker.explain(QUESTION, "Ann rained.")
    assert list(why.answer) == ["[CLS]", "ann", "rain", "##ed", ".", "[SEP]"]
    assert np.isfinite(why.answer_weights).all() and np.any(why.answer_weights)


def test_answers_are_indexed_and_found(trained, tmp_path):
    ranker, folder = trained
    index = AnswerIndex.build(folder, pd.DataFrame({"candidate": ANSWERS}), tmp_path / "index")
    found, expected = index.search(QUESTION, k=3, first_stage="nearest"), ranker.rank(QUESTION, ANSWERS)
    assert found["candidate"].tolist() == expected["candidate"].tolist()
    np.testing.assert_allclose(found["score"], expected["score"], atol=1e-3)
