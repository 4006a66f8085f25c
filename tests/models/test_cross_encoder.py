"""A BERT over question and answer together; the reference is in NumPy and float64."""

import zipfile
from dataclasses import replace

import keras
import numpy as np
import pytest
from bert_numpy import reference_score

from answer_ranking.models.networks.cross_encoder import cross_encoder


def padded(texts):
    block = np.zeros((len(texts), max(map(len, texts))), np.int32)
    for row, text in zip(block, texts, strict=True):
        row[: len(text)] = text
    return block


def made(encoder, **options):
    """Build a model with a score of which the bias counts, too."""
    model = cross_encoder(encoder, **{"most_pieces": 12, "dropout": 0.0, **options})
    score = model.get_layer("score")
    score.set_weights([score.kernel * 30, np.array([0.3])])
    return model


PAIRS = [
    ([9, 12], [10]),
    ([9, 12, 13, 20], [30, 31, 32, 33, 34]),  # as many as there is room for
    ([9], [30, 31, 32, 33, 34, 35, 36, 37, 38, 39]),  # the answer is cut
    ([9, 12, 13, 20, 21, 22, 23, 24], [30, 31]),  # the question is cut
    ([9, 12, 13, 20, 21, 22, 23, 24], [30, 31, 32, 33, 34, 35, 36]),  # both
    ([8, 1, 3], [2, 1]),
]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("most_pieces", [12, 9, 4])
def test_scores_equal_the_equations_whatever_stands_beside_a_pair(encoder, most_pieces, pooling):
    model = made(encoder, most_pieces=most_pieces, pooling=pooling)
    score, room = model.get_layer("score").get_weights(), most_pieces - 3
    own = encoder.weights, encoder.config, score
    expected = [reference_score(*own, pair, room, pooling) for pair in PAIRS]
    found = model([padded([pair[0] for pair in PAIRS]), padded([pair[1] for pair in PAIRS])]).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for pair, value in zip(PAIRS, found, strict=True):
        for more in (0, 3):
            alone = [np.pad(np.int32([text]), ((0, 0), (0, more))) for text in pair]
            assert model(alone).numpy()[0] == pytest.approx(value, abs=1e-5)
    assert np.ptp(found) > 1e-3


def test_a_list_s_scores_are_those_of_its_pairs(encoder):
    lists, pairs = made(encoder, objective="listwise"), made(encoder)
    question, others = [9, 12, 13], [8, 7]
    answers = [[30], [31, 32, 33, 34, 35, 36, 37, 38], [33, 10]]
    block = np.zeros((2, 3, 8), np.int32)
    block[0] = padded(answers)
    block[1, 0, :2] = [40, 41]
    found = lists([padded([question, others]), block]).numpy()
    expected = pairs([padded([question] * 3 + [others]), padded([*answers, [40, 41]])]).numpy()
    np.testing.assert_allclose(found[block[..., 0] > 0], expected, atol=1e-5)
    assert found[1, 1:].tolist() == [0, 0]


@pytest.mark.parametrize(("objective", "pooling"), [("pointwise", "cls"), ("listwise", "mean")])
def test_a_saved_model_scores_the_same(encoder, tmp_path, objective, pooling):
    model = made(encoder, objective=objective, dropout=0.1, pooling=pooling)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    question, answers = padded([[9, 12], [8]]), padded([[10, 30, 31], [20]])
    pair = [question, answers[:, None] if objective == "listwise" else answers]
    np.testing.assert_array_equal(loaded(pair).numpy(), model(pair).numpy())


def test_a_model_saved_before_there_was_a_choice_has_the_state_of_cls(encoder, tmp_path):
    model = made(encoder, pooling="cls")
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    before = parts["config.json"].replace(b', "pooling": "cls"', b"")
    assert before != parts["config.json"] and b"pooling" not in before
    with zipfile.ZipFile(tmp_path / "before.keras", "w") as file:
        for name, part in (parts | {"config.json": before}).items():
            file.writestr(name, part)
    loaded = keras.models.load_model(tmp_path / "before.keras")
    pair = [padded([[9, 12], [8]]), padded([[10, 30, 31], [20]])]
    np.testing.assert_array_equal(loaded(pair).numpy(), model(pair).numpy())


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ({}, {"most_pieces": 13}, "most_pieces"),
        ({}, {"most_pieces": 3}, "most_pieces"),
        ({}, {"objective": "pairwise"}, "objective"),
        ({}, {"pooling": "max"}, "pooling"),
        ({"layers": 101}, {}, "layers"),
    ],
)
def test_what_an_encoder_cannot_read_is_refused(encoder, sizes, options, message):
    files = replace(encoder, config=replace(encoder.config, **sizes))
    with pytest.raises(ValueError, match=message):
        cross_encoder(files, **{"most_pieces": 12, **options})
