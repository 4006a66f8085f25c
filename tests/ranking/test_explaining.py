"""The reasons of each ranker against the formulas, and what is drawn of them."""

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import Vocabulary
from answer_ranking.layers import WordRelatedness
from answer_ranking.models import cosinet, ctrn, hyperqa, qa_cnn, qrnn
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking import Disk, Explanation, Ranker

WORDS = ["who", "wrote", "the", "book", "ann", "did", "rain", ".", "?", "<script>"]
QUESTION, ANSWER = "Who wrote the book?", "Ann did <script>."
VOCABULARY = Vocabulary(WORDS)
VECTORS = np.random.default_rng(0).normal(size=(len(VOCABULARY), 8)).astype("float32")


def ranker(build, **options):
    return Ranker(build(VECTORS, **options), VOCABULARY)


def shortened(one, side, i):
    words = [list(one.question), list(one.answer)]
    del words[side][i]
    return tuple(" ".join(each) for each in words)


@pytest.mark.parametrize(
    ("build", "options", "kind"),
    [
        (hyperqa, {"dimension": 5, "max_norm": 0.7}, "shares"),
        (hyperqa, {"dimension": 5, "max_norm": 0.7, "similarity": "cosine"}, "shares"),
        (qa_cnn, {"filters": 4}, "occlusion"),
    ],
)
def test_a_word_s_share_is_what_the_score_loses_without_it(build, options, kind):
    made = ranker(build, **options)
    one = made.explain("who wrote the book", "ann did rain")
    assert one.kind == kind
    (whole,) = made.score([("who wrote the book", "ann did rain")])
    for side, weights in enumerate((one.question_weights, one.answer_weights)):
        for i, weight in enumerate(weights):
            assert weight == pytest.approx(whole - made.score([shortened(one, side, i)])[0], abs=1e-5)
    assert json.loads(json.dumps(one.data()))["question"] == ["who", "wrote", "the", "book"]


@pytest.mark.parametrize(("build", "options"), [(hyperqa, {"dimension": 5}), (cosinet, {"filters": 4})])
def test_a_text_that_shows_nothing_is_refused(build, options):
    made = ranker(build, **options)
    for nothing in ("\u200b", "\u2800 "):
        with pytest.raises(UserError, match="text 2 is empty"):
            made.explain("who", nothing)
        with pytest.raises(UserError, match="text 1 is empty"):
            made.explain(nothing, "ann")
    # A tokenizer may leave nothing of a text.
    made.open_vocabulary.tokenizer = lambda texts: [text.split("-")[0].split() for text in texts]
    with pytest.raises(UserError, match="the answer has no words"):
        made.explain("who", "- ann")


def test_relatedness_is_the_layer_s():
    made = ranker(cosinet, filters=4, width=3)
    one = made.explain("who wrote the book", "ann did rain")
    texts = [VECTORS[[2, 3, 4, 5]][None], VECTORS[[6, 7, 8]][None]]
    expected = WordRelatedness(concatenate=False)(texts)
    for weights, channel in zip((one.question_weights, one.answer_weights), expected, strict=True):
        np.testing.assert_allclose(weights, np.asarray(channel)[0, :, 0], atol=1e-6)
    np.testing.assert_allclose(one.matrix.max(axis=1), one.question_weights)
    assert one.kind == "relatedness" and "cosine" in one.summary
    assert made.explain("who wrote the book", "ann did rain", "occlusion").kind == "occlusion"


def test_anmm_says_its_attention_and_matches():
    entry = CATALOGUE["anmm-2"]
    made = Ranker(entry.build(VECTORS, entry.options(bins=10)), VOCABULARY, kind="anmm-2")
    one = made.explain("who wrote the book", "ann did rain")
    question, answer = np.float64(VECTORS[[2, 3, 4, 5]]), np.float64(VECTORS[[6, 7, 8]])
    powers = np.exp(question @ np.float64(made.model.get_layer("attention").get_weights()[0])[:, 0])
    np.testing.assert_allclose(one.question_weights, powers / powers.sum(), atol=1e-6)
    lengths = [np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (question, answer)]
    cosines = (question / lengths[0]) @ (answer / lengths[1]).T
    np.testing.assert_allclose(one.matrix, cosines, atol=1e-6)
    np.testing.assert_allclose(one.answer_weights, cosines.max(axis=0), atol=1e-6)
    assert one.kind == "matches"
    (_, words), _ = one.rows
    assert words[int(powers.argmax())].look == "plus s9"


@pytest.mark.parametrize(
    ("alignment", "lent"), [("index", [0, 1, 2, 2]), ("scaled", [1, 2, 2, 2]), (None, None)]
)
def test_gates_are_those_of_the_equations(alignment, lent):
    options = {"alignment": alignment} if alignment else {}
    made = ranker(ctrn if alignment else qrnn, filters=4, hidden=(3,), **options)
    one = made.explain("who wrote the book", "ann did rain")
    kernel = np.float64(made.model.get_layer("encoder").gates.get_weights()[2]).reshape(16, 4)
    for weights, numbers in ((one.question_weights, [2, 3, 4, 5]), (one.answer_weights, [6, 7, 8])):
        z = np.float64(VECTORS[numbers])
        windows = np.concatenate([np.vstack([np.zeros(8), z[:-1]]), z], axis=1)
        output = 1 / (1 + np.exp(-windows @ kernel))
        np.testing.assert_allclose(weights, output.mean(axis=1), atol=1e-6)
    assert ("lent" in one.summary) == (lent is not None) == (one.lent is not None)
    if lent is not None:
        np.testing.assert_allclose(one.lent[0], one.answer_weights[lent])


def test_distances_to_the_question_are_the_model_s():
    made = ranker(hyperqa, dimension=5, max_norm=0.9)
    answers = ["ann did rain", "the book .", "who", "rain rain"]
    disk = made.disk("who wrote", answers)
    u = np.array([disk.question, 0.0])
    apart, edge = np.square(disk.places - u).sum(1), 1 - np.square(disk.places).sum(1)
    distances = np.arccosh(1 + 2 * apart / (edge * (1 - u @ u)))
    np.testing.assert_allclose(distances, disk.distances, atol=1e-6)
    scores = made.score([("who wrote", answer) for answer in disk.answers])
    weight, bias = made.model.get_layer("matcher").get_layer("score").get_weights()
    np.testing.assert_allclose(scores, weight[0, 0] * distances + bias[0], atol=1e-4)
    assert disk.answers == made.rank("who wrote", answers)["candidate"].tolist()
    assert "4 answers" in disk.summary and "ann did rain" in disk.html()
    with pytest.raises(UserError, match="no answers"):
        made.disk("who", [])
    with pytest.raises(UserError, match="HyperQA and CosineQA"):
        ranker(qa_cnn, filters=4).disk("who", answers)


def test_cosineqa_s_disk_is_a_circle():
    made = ranker(hyperqa, dimension=5, similarity="cosine")
    answers = ["ann did rain", "the book .", "wrote who"]
    disk = made.disk("who wrote", answers)
    points = np.float64(made.encode_document([*disk.answers, "who wrote"]))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(disk.places, axis=1), 1)
    np.testing.assert_allclose(disk.places[:, 0], points[:-1] @ points[-1], atol=1e-6)
    np.testing.assert_allclose(disk.distances, 1 - points[:-1] @ points[-1], atol=1e-6)
    assert disk.answers == made.rank("who wrote", answers)["candidate"].tolist() and "circle" in disk.summary


def test_points_on_the_sphere_have_finite_distances():
    disk = Disk.of(np.array([0.6, 0.8]), np.array([[0.8, -0.6], [0.6, 0.8]]), ["far", "same"])
    assert disk.answers == ["same", "far"]
    # Two factors of 1e-5, the layer's bound: arccosh(1 + 2 * 2 / 1e-10).
    np.testing.assert_allclose(disk.distances, [0, np.arccosh(1 + 4e10)], atol=1e-9)


def test_drawings_stand_for_themselves(tmp_path):
    one = ranker(hyperqa, dimension=5).explain(QUESTION, ANSWER)
    drawings = [one.svg(), Disk.of(np.ones(2) / 2, np.eye(2) / 2, ["a", "b"]).svg()]
    for svg in drawings:
        element = ElementTree.fromstring(svg)
        assert element.get("role") == "img" and element.get("aria-label")
        assert "<script" not in svg
        assert not re.search(r'href="(?!#)', svg)
    assert "<script>" not in one.html() and "script" in one.html()
    one.figure().savefig(tmp_path / "why.png")


def test_words_of_every_script_are_text_in_the_drawing(recwarn):
    words = ["שלום", "你好", "\N{GRINNING FACE}", "<b>&", "bell\x07"]
    one = Explanation(words, np.ones(5), ["a"], np.ones(1), "occlusion")
    element = ElementTree.fromstring(one.svg())
    shown = [each.text for each in element.iter() if each.tag.endswith("}text")]
    assert {*words[:4], "bell\N{REPLACEMENT CHARACTER}"} <= set(shown)
    assert not [each for each in recwarn if "Glyph" in str(each.message)]


def test_a_misspelt_word_of_the_answer_is_unknown_as_the_model_reads_it():
    made = ranker(hyperqa, dimension=5, max_norm=0.7)
    assert made.explain("who wrrote", "ann wrote").unknown == frozenset()
    one = made.explain("who wrote", "ann wrrote")
    assert one.unknown == {"wrrote"}
    assert one.answer_weights.tolist() == made.explain("who wrote", "ann xyzzy").answer_weights.tolist()


def test_more_words_than_can_be_explained_are_refused():
    made = ranker(hyperqa, dimension=5, max_norm=0.7)
    for question, answer in (("谁", "长" * 100_000), ("who wrote " * 500, "ann did " * 501)):
        with pytest.raises(UserError, match="at most 2,000 words of both texts"):
            made.explain(question, answer)
    assert len(made.explain("who wrote " * 500, "ann did " * 500).answer) == 1_000
