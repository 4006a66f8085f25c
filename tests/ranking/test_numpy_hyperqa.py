"""HyperQA and CosineQA without TensorFlow, against the Keras model; words that the training did not have."""

from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

from answer_ranking.data_prep import UserError, Vocabulary
from answer_ranking.models import ap_cnn, hyperqa, qa_cnn
from answer_ranking.ranking import Ranker

WORDS = ["who", "painted", "the", "chapel", "of", "it", "rome", "in", "."]
VOCABULARY = Vocabulary(WORDS)
QUESTION = "Who painted the chapel of Rome, or what is in it?"
ANSWERS = ["It painted it.", "The chapel of the chapel in Rome.", "Xyzzyx", "Who painted the chapel? " * 9]


def vectors(size=8):
    return np.random.default_rng(0).normal(size=(len(VOCABULARY), size)).astype("float32")


def trained_like(model):
    draw = np.random.default_rng(1)
    for layer in ("projection", "score", "score_of_texts"):
        for part in ("encoder", "matcher"):
            for variable in model.get_layer(part).variables:
                if variable.path.startswith(layer + "/"):
                    variable.assign(variable.numpy() + 0.2 * draw.normal(size=variable.shape))
    return model


def by_keras(ranker, question, answers):
    encoded = [ranker.vocabulary.encode(words) for words in ranker.tokenizer([question, *answers])]
    texts = keras.utils.pad_sequences(encoded, padding="post")
    pairs = [np.repeat(texts[:1], len(answers), 0), texts[1:]]
    return keras.ops.convert_to_numpy(ranker.model(pairs))


EDGE = 1 - 1e-5


@pytest.mark.parametrize(
    ("max_norm", "options"),
    [
        (0.7, {}),
        (0.7, {"projection": "smooth", "pooling": "mean"}),
        (0.7, {"distance_form": "released"}),
        (0.7, {"similarity": "cosine"}),
        (0.7, {"raw_embeddings": True}),
        (0.7, {"similarity": "cosine", "raw_embeddings": True, "projection": "smooth"}),
        (EDGE, {}),
        (EDGE, {"distance_form": "released"}),
        (EDGE, {"similarity": "cosine"}),
    ],
)
def test_a_loaded_ranker_scores_as_the_keras_model(max_norm, options, tmp_path):
    # The edge leaves float32 three digits of the distance from it.
    rtol = 1e-4 if max_norm == EDGE else 1e-6
    model = trained_like(hyperqa(vectors(), 30, max_norm=max_norm, seed=2, **options))
    trained = Ranker(model, VOCABULARY)
    expected = by_keras(trained, QUESTION, ANSWERS)
    trained.save(tmp_path / "model")
    ranker = Ranker.load(tmp_path / "model")
    scores = ranker.score([(QUESTION, answer) for answer in ANSWERS])
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    points = ranker.encode_document(ANSWERS)
    assert points.dtype == np.float32 and points.shape == (4, 30)
    by_points = ranker.score_points(ranker.encode_query([QUESTION]), points)
    np.testing.assert_allclose(by_points, scores, rtol=1e-6, atol=1e-6)


def test_a_loaded_ranker_that_is_saved_again_is_the_same(tmp_path):
    model = trained_like(hyperqa(vectors(), 30, max_norm=0.7, seed=2, raw_embeddings=True))
    Ranker(model, VOCABULARY).save(tmp_path / "first")
    first = Ranker.load(tmp_path / "first")
    first.save(tmp_path / "second")
    pairs = [(QUESTION, answer) for answer in ANSWERS]
    np.testing.assert_array_equal(Ranker.load(tmp_path / "second").score(pairs), first.score(pairs))


def test_the_cosine_of_tiny_points(tmp_path):
    Ranker(hyperqa(1e-4 * vectors(), 30, similarity="cosine", seed=2), VOCABULARY).save(tmp_path / "model")
    ranker = Ranker.load(tmp_path / "model")
    points = ranker.encode_document([QUESTION, *ANSWERS]).astype("float64")
    norms = np.linalg.norm(points, axis=1)
    assert norms.max() < 0.01 and 1e-5 < np.sort(norms)[1] < 1e-3, norms
    scores = ranker.score([(QUESTION, answer) for answer in ANSWERS])
    np.testing.assert_allclose(scores, by_keras(ranker, QUESTION, ANSWERS), rtol=1e-5)


def test_at_the_edge_of_the_ball_the_score_is_that_of_float64(tmp_path):
    model = trained_like(hyperqa(vectors(), 30, seed=2))
    ranker = Ranker(model, VOCABULARY)
    encoder, (scale, offset) = model.get_layer("encoder"), model.get_layer("matcher").get_weights()
    kernel, bias = (w.astype("float64") for w in encoder.get_layer("projection").get_weights())
    points = []
    for words in ranker.tokenizer([QUESTION, *ANSWERS]):
        total = np.maximum(vectors()[VOCABULARY.encode(words)] @ kernel + bias, 0).sum(0)
        points.append(total * min(1, (1 - 1e-5) / np.linalg.norm(total)))
    q, a = points[0], np.array(points[1:])
    x = 1 + 2 * ((q - a) ** 2).sum(1) / ((1 - q @ q) * (1 - (a**2).sum(1)))
    expected = scale.item() * np.arccosh(x) + offset.item()
    # 1 - |x|^2 is 2e-5 there, of which a float32 point leaves three digits; the distance is its logarithm.
    np.testing.assert_allclose(ranker.score([(QUESTION, t) for t in ANSWERS]), expected, rtol=1e-3)


def test_vectors_of_texts_by_the_keras_encoder():
    ranker = Ranker(qa_cnn(vectors(), 5, seed=3), VOCABULARY)
    encoder = ranker.model.get_layer("encoder")
    found = ranker.encode_document(ANSWERS)
    for text, vector in zip(ranker.tokenizer(ANSWERS), found, strict=True):
        np.testing.assert_allclose(vector, np.asarray(encoder(VOCABULARY.encode(text)[None]))[0], atol=1e-6)
    scores = ranker.score_points(ranker.encode_query([QUESTION]), found)
    np.testing.assert_allclose(scores, by_keras(ranker, QUESTION, ANSWERS), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("texts", [["a", " "], "a text", ["caf\udce9"], [3]])
def test_texts_that_cannot_be_encoded(texts):
    with pytest.raises(UserError):
        Ranker(hyperqa(vectors(), 4), VOCABULARY).encode_document(texts)


@pytest.fixture
def source(tmp_path):
    """Word vectors of more words than the vocabulary has, and the matrix of a training with them."""
    words = [*WORDS, "florence", "("]
    values = np.random.default_rng(3).normal(size=(len(words), 8)).astype("float32")
    lines = [f"{word} {' '.join(map(str, row.tolist()))}" for word, row in zip(words, values, strict=True)]
    path = tmp_path / "own.txt"
    path.write_text("\n".join(lines) + "\n")
    return path, np.concatenate([np.zeros((2, 8), np.float32), values])


@pytest.mark.parametrize(
    "build",
    [lambda v: trained_like(hyperqa(v, 6, seed=2)), lambda v: qa_cnn(v, 6)],
)
def test_a_word_beyond_the_vocabulary_has_its_vector(build, source, tmp_path):
    path, matrix = source
    model = build(matrix[:-2])
    Ranker(model, VOCABULARY, lowercase=False, vectors=[str(path)]).save(tmp_path / "model")
    ranker = Ranker.load(tmp_path / "model")
    # The same weights over a vocabulary that has the words, which are in lower case there.
    whole = build(matrix)
    for new, old in zip(whole.weights, model.weights, strict=True):
        if new.shape == old.shape:
            new.assign(old)
    expected = Ranker(whole, Vocabulary([*WORDS, "florence", "("]))
    pairs = [("Who painted it.", answer) for answer in ("FLORENCE ( in it.", "The chapel in Rome.", "It.")]
    for _ in range(2):
        np.testing.assert_allclose(ranker.score(pairs), expected.score(pairs), rtol=1e-5, atol=1e-6)
    assert ranker.unknown_words("FLORENCE or xyzzyx in Rome") == ["or", "xyzzyx"]
    ranker.save(tmp_path / "again")
    np.testing.assert_array_equal(Ranker.load(tmp_path / "again").score(pairs), ranker.score(pairs))


def test_vectors_of_a_training_s_own_are_no_other_file(source, capsys):
    path, matrix = source
    # What goes on from a preset has vectors of its own for words that the file lacks.
    own = np.concatenate([matrix[:-2], np.ones_like(matrix[:1])])
    vocabulary = Vocabulary([*WORDS, "zorbulator"])
    ranker = Ranker(hyperqa(own, 6), vocabulary, lowercase=False, vectors=[str(path)])
    assert ranker.unknown_words("FLORENCE") == [] and not capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "there are no word vectors"),
        (lambda path: path.write_text(path.read_text().replace(".", ".0")), "not those of the training"),
    ],
)
def test_other_word_vectors_are_left_alone_with_a_line(damage, message, source, tmp_path, capsys):
    path, matrix = source
    model = hyperqa(matrix[:-2], 6, seed=2)
    Ranker(model, VOCABULARY, vectors=[str(path)]).save(tmp_path / "model")
    damage(path)
    ranker = Ranker.load(tmp_path / "model")
    pairs = [("Who is it?", "Florence."), ("Who is it?", "Rome.")]
    np.testing.assert_array_equal(ranker.score(pairs), Ranker(model, VOCABULARY).score(pairs))
    assert ranker.unknown_words("Florence?") == ["florence", "?"]
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_trained_word_vectors_have_no_other_words(source):
    path, matrix = source
    model = ap_cnn(matrix[:-2], 4, train_word_vectors=True)
    assert Ranker(model, VOCABULARY, vectors=[str(path)]).unknown_words("Florence") == ["florence"]


@pytest.mark.parametrize("build", [lambda v: hyperqa(v, 6), lambda v: qa_cnn(v, 6)])
def test_threads_get_what_one_gets(build, source):
    path, matrix = source
    make = lambda: Ranker(build(matrix[:-2]), VOCABULARY, vectors=[str(path)])  # noqa: E731
    texts = [f"{word} in {other}." for word in (*WORDS, "florence", "(") for other in WORDS[:3]]
    expected = make().encode_document(texts)
    shared = make()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: shared.encode_document([text])[0], texts))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
