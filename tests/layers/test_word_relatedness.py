"""Word relatedness against NumPy loops over the real words, after Eq. 1 of the Cosinet paper."""

import keras
import numpy as np
import pytest
from gradients import central_differences, compiled, gradients
from layer_checks import assert_close, check_padding, dtype_of, run_layer_test, to_numpy

from answer_ranking.layers import WordRelatedness

RNG = np.random.default_rng(7)
QUESTIONS = np.float32(RNG.normal(size=(4, 3, 5)))
ANSWERS = np.float32(RNG.normal(size=(4, 6, 5)))
QUESTIONS[0, 1] = ANSWERS[0, 2] = ANSWERS[2, 0] = 0  # words without a vector
ANSWERS[1, 0] = 3 * QUESTIONS[1, 2]
QUESTION_MASK = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=bool)
ANSWER_MASK = np.array([[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6, [1, 1, 1, 0, 0, 0]], dtype=bool)
# Three candidates for each of two questions, the last one of padding alone.
CANDIDATES = np.float32(RNG.normal(size=(2, 3, 6, 5)))
CANDIDATE_MASK = np.array([[[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6]] * 2, dtype=bool)


def cosine(x, y):
    x, y = np.float64(x), np.float64(y)
    return x @ y / (np.linalg.norm(x) * np.linalg.norm(y)) if x.any() and y.any() else 0.0


def channel(text, mask, other, other_mask):
    return np.array(
        [
            max((cosine(word, partner) for partner in other[other_mask]), default=0.0) if real else 0.0
            for word, real in zip(text, mask, strict=True)
        ]
    )[:, None]


def channels(question, question_mask, answer, answer_mask):
    return (
        channel(question, question_mask, answer, answer_mask),
        channel(answer, answer_mask, question, question_mask),
    )


@pytest.mark.parametrize(
    ("arguments", "candidates"), [({}, False), ({"concatenate": False, "stop_gradient": False}, True)]
)
def test_word_relatedness_layer(arguments, candidates, tmp_path):
    inputs, masks = [QUESTIONS, ANSWERS], [QUESTION_MASK, ANSWER_MASK]
    leading = (4,)
    if candidates:
        inputs, masks = [QUESTIONS[:2], CANDIDATES], [QUESTION_MASK[:2], CANDIDATE_MASK]
        leading = (2, 3)
    n = 1 if arguments else 6
    shapes = [(*leading, 3, n), (*leading, 6, n)]
    run_layer_test(WordRelatedness, arguments, inputs, tmp_path, masks=masks, output_shape=shapes)


def test_channels_equal_numpy():
    inputs, masks = [QUESTIONS, ANSWERS], [QUESTION_MASK, ANSWER_MASK]
    outputs = to_numpy(WordRelatedness(concatenate=False)(inputs, mask=masks))
    expected = [channels(*row) for row in zip(QUESTIONS, QUESTION_MASK, ANSWERS, ANSWER_MASK, strict=True)]
    assert_close(outputs, [np.stack(side) for side in zip(*expected, strict=True)])
    assert outputs[0][1, 2] == 0  # masked
    assert outputs[1][1, 0] < 1  # the equal word is masked, so the equal one does not count
    assert not outputs[0][2:].any()  # opposite no real word, and of no real word
    assert not outputs[1][2:].any()
    everything = to_numpy(WordRelatedness(concatenate=False)(inputs))
    np.testing.assert_allclose(everything[0][1, 2], 1, rtol=1e-6)
    assert everything[0][0, 1] == 0  # the cosine of a zero vector with whatever word


def test_words_stay_as_they_are_before_the_channel():
    inputs, masks = [QUESTIONS, ANSWERS], [QUESTION_MASK, ANSWER_MASK]
    outputs = to_numpy(WordRelatedness()(inputs, mask=masks))
    alone = to_numpy(WordRelatedness(concatenate=False)(inputs, mask=masks))
    for output, text, mask, last in zip(outputs, inputs, masks, alone, strict=True):
        np.testing.assert_array_equal(output[mask][:, :-1], text[mask])
        assert not output[~mask].any()
        np.testing.assert_array_equal(output[..., -1:], last)


def test_an_unknown_word_is_a_real_word_with_cosine_zero():
    question, away = np.array([[[1.0, 0.0]]]), np.array([[[-1.0, 0.1], [0.0, 0.0]]])
    layer = WordRelatedness(concatenate=False)
    assert to_numpy(layer([question, away])[0]).item() == 0
    mask = np.array([[True, False]])
    assert to_numpy(layer([question, away], mask=[None, mask])[0]).item() == pytest.approx(-0.995, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("concatenate", [False, True])
def test_one_question_stands_against_many_candidates(concatenate):
    layer = WordRelatedness(concatenate=concatenate)
    question, mask = QUESTIONS[:2], QUESTION_MASK[:2]
    together = to_numpy(layer([question, CANDIDATES], mask=[mask, CANDIDATE_MASK]))
    with_axis = to_numpy(layer([question[:, None], CANDIDATES], mask=[mask[:, None], CANDIDATE_MASK]))
    for i in range(3):
        alone = to_numpy(layer([question, CANDIDATES[:, i]], mask=[mask, CANDIDATE_MASK[:, i]]))
        for output, same, side in zip(together, with_axis, alone, strict=True):
            np.testing.assert_allclose(output[:, i], side, rtol=1e-6, atol=1e-6)
            np.testing.assert_array_equal(output, same)


def test_padding_changes_nothing():
    fills = (0.0, 1e30, float("inf"), float("nan"))
    inputs, masks = [QUESTIONS, ANSWERS], [QUESTION_MASK, ANSWER_MASK]
    check_padding(WordRelatedness(), inputs, masks, fills=fills)
    check_padding(WordRelatedness(concatenate=False, stop_gradient=False), inputs, masks, fills=fills)


@pytest.mark.parametrize("scale", [1e-35, 1e-20, 1e20, 1e35])
def test_cosines_do_not_depend_on_the_words_lengths(scale):
    layer = WordRelatedness(concatenate=False)
    expected = to_numpy(layer([QUESTIONS, ANSWERS]))
    scaled = to_numpy(layer([np.float32(scale) * QUESTIONS, ANSWERS]))
    assert_close(scaled, expected, rtol=1e-4, atol=1e-5)


def test_gradients_stop_unless_they_are_wanted():
    layer = WordRelatedness()
    # The words themselves are not held up, and nothing comes through the channel.
    for gradient in gradients(lambda *x: layer(list(x)), (QUESTIONS, ANSWERS)):
        np.testing.assert_array_equal(gradient, np.ones_like(gradient))


def test_gradients_equal_central_differences():
    # Without the zero vectors, at which the cosine jumps.
    texts = np.float32(RNG.normal(size=(2, 3, 5))), np.float32(RNG.normal(size=(2, 4, 5)))
    weights = [np.float32(RNG.normal(size=(2, length, 1))) for length in (3, 4)]
    layer = WordRelatedness(concatenate=False, stop_gradient=False)

    def weighted(*x):
        return [keras.ops.multiply(*pair) for pair in zip(weights, layer(list(x)), strict=True)]

    def numpy_weighted(questions, answers):
        units = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (questions, answers)]
        r = units[0] @ units[1].swapaxes(1, 2)
        return [weights[0] * r.max(2)[..., None], weights[1] * r.max(1)[..., None]]

    assert_close(gradients(weighted, texts), central_differences(numpy_weighted, texts), rtol=1e-3, atol=1e-5)


def test_gradients_are_finite_at_zero_vectors():
    layer = WordRelatedness(concatenate=False, stop_gradient=False)
    found = gradients(lambda *x: compiled(lambda *y: layer(list(y)))(*x), (QUESTIONS, ANSWERS))
    assert all(np.isfinite(gradient).all() for gradient in found)
    assert not found[0][0, 1].any()
    assert not found[1][0, 2].any()


def test_cosines_are_computed_in_float32_under_mixed_precision():
    layer = WordRelatedness(concatenate=False, dtype="mixed_float16")
    # A float16 sum of squares would overflow.
    outputs = layer([np.full((1, 1, 300), 500.0), np.full((1, 1, 300), 400.0)])
    assert all(dtype_of(output) == "float16" for output in outputs)
    assert [to_numpy(output).item() for output in outputs] == [1, 1]


@pytest.mark.parametrize(
    ("question", "answer"),
    [((4, 3, 5), (4, 3, 6)), ((4, 3, 5), (3, 3, 5)), ((3, 5), (3, 5)), ((2, 3, 4, 5), (2, 4, 5))],
)
def test_wrong_shapes_are_refused(question, answer):
    with pytest.raises(ValueError, match="Received: input_shape="):
        WordRelatedness()([np.zeros(question), np.zeros(answer)])
    with pytest.raises(ValueError, match="Received: input_shape="):
        WordRelatedness().compute_output_shape([(4, 3, 5)])
