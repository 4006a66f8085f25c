"""What all systems that the papers quote have in common."""

import keras
import numpy as np
import pytest

from answer_ranking.models.catalogue import of_paper

QUESTION = np.array([[3, 4, 9, 0], [5, 0, 0, 0], [7, 8, 2, 6]], "int32")
ANSWER = np.array([[7, 8, 0, 0, 0], [2, 11, 4, 0, 0], [9, 8, 7, 6, 2]], "int32")
each_system = pytest.mark.parametrize("entry", of_paper("field"), ids=lambda entry: entry.name)


def scores(model, question=QUESTION, answer=ANSWER):
    features = np.random.default_rng(1).normal(size=(len(QUESTION), 2)).astype("float32")
    inputs = [question, answer, features[: len(question)]][: len(model.inputs)]
    return keras.ops.convert_to_numpy(model(inputs))


@each_system
def test_padding_and_the_other_pairs_change_no_score(small, entry):
    model = small(entry)
    expected = scores(model)
    assert (expected.shape, expected.dtype) == ((3,), np.float32)
    assert len(set(expected.tolist())) == 3
    padded = [np.pad(QUESTION, ((0, 0), (0, 5))), np.pad(ANSWER, ((0, 0), (0, 2)))]
    np.testing.assert_allclose(scores(model, *padded), expected, rtol=1e-4, atol=1e-6)
    alone = scores(model, QUESTION[:1, :3], ANSWER[:1, :2])
    np.testing.assert_allclose(alone, expected[:1], rtol=1e-4, atol=1e-6)


@each_system
def test_a_text_without_words_has_a_finite_score(small, entry):
    assert np.isfinite(scores(small(entry), QUESTION * 0, ANSWER)).all()


@each_system
def test_a_loaded_system_is_the_same(small, entry, tmp_path):
    model = small(entry)
    model.save(tmp_path / "system.keras")
    loaded = keras.models.load_model(tmp_path / "system.keras")
    np.testing.assert_array_equal(scores(loaded), scores(model))
