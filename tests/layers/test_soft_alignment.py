"""Dot-product attention both ways against NumPy loops over the real words."""

import numpy as np
import pytest
from gradients import central_differences, compiled, gradients
from layer_checks import assert_close, check_padding, dtype_of, run_layer_test, to_numpy

from answer_ranking.layers import SoftAlignment

RNG = np.random.default_rng(11)
QUESTIONS = np.float32(RNG.normal(size=(4, 3, 5)))
ANSWERS = np.float32(RNG.normal(size=(4, 6, 5)))
QUESTION_MASK = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=bool)
ANSWER_MASK = np.array([[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6, [1, 1, 1, 0, 0, 0]], dtype=bool)
CANDIDATES = np.float32(RNG.normal(size=(2, 3, 6, 5)))
CANDIDATE_MASK = np.array([[[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6]] * 2, dtype=bool)


def aligned(text, mask, other, other_mask, threshold=0.0):
    result = np.zeros(text.shape)
    partners = np.float64(other[other_mask])
    for i in np.flatnonzero(mask) if len(partners) else ():
        weights = np.exp(partners @ np.float64(text[i]))
        weights /= weights.sum()
        kept = weights > threshold
        if kept.any():
            result[i] = weights[kept] / weights[kept].sum() @ partners[kept]
    return result


def both(question, question_mask, answer, answer_mask, threshold=0.0):
    return (
        aligned(question, question_mask, answer, answer_mask, threshold),
        aligned(answer, answer_mask, question, question_mask, threshold),
    )


def test_soft_alignment_layer(tmp_path):
    run_layer_test(
        SoftAlignment,
        {"threshold": 0.2},
        [QUESTIONS[:2], CANDIDATES],
        tmp_path,
        masks=[QUESTION_MASK[:2], CANDIDATE_MASK],
        output_shape=[(2, 3, 3, 5), (2, 3, 6, 5)],
    )


@pytest.mark.parametrize("threshold", [0, 0.2, 0.9])
def test_alignment_equals_numpy(threshold):
    layer = SoftAlignment(threshold)
    align = compiled(lambda *texts: layer(list(texts), mask=[QUESTION_MASK, ANSWER_MASK]))
    outputs = to_numpy(align(QUESTIONS, ANSWERS))
    rows = zip(QUESTIONS, QUESTION_MASK, ANSWERS, ANSWER_MASK, strict=True)
    expected = [both(*row, threshold) for row in rows]
    assert_close(outputs, [np.stack(side) for side in zip(*expected, strict=True)])


@pytest.mark.parametrize("threshold", [0, 0.2])
def test_what_is_no_number_stays_so(threshold):
    answers = ANSWERS.copy()
    answers[0, 2, 1] = np.nan
    for output in to_numpy(SoftAlignment(threshold)([QUESTIONS, answers])):
        assert np.isnan(output[0]).any() and not np.isnan(output[1:]).any()


@pytest.mark.parametrize("threshold", [-0.1, 1, float("nan")])
def test_a_threshold_out_of_range_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold="):
        SoftAlignment(threshold)


@pytest.mark.slow
def test_one_question_stands_against_many_candidates():
    outputs = to_numpy(SoftAlignment()([QUESTIONS[:2], CANDIDATES], mask=[QUESTION_MASK[:2], CANDIDATE_MASK]))
    for i in range(2):
        for j in range(3):
            expected = both(QUESTIONS[i], QUESTION_MASK[i], CANDIDATES[i, j], CANDIDATE_MASK[i, j])
            for output, side in zip(outputs, expected, strict=True):
                np.testing.assert_allclose(output[i, j], side, rtol=1e-5, atol=1e-6)


def test_padding_changes_nothing():
    fills = (0.0, 1e30, float("inf"), float("nan"))
    check_padding(SoftAlignment(), [QUESTIONS, ANSWERS], [QUESTION_MASK, ANSWER_MASK], fills=fills)


def test_gradients_equal_central_differences():
    def numpy_alignment(questions, answers):
        energies = questions @ answers.swapaxes(1, 2)
        weights = np.exp(energies)
        return [
            weights / weights.sum(2, keepdims=True) @ answers,
            (weights / weights.sum(1, keepdims=True)).swapaxes(1, 2) @ questions,
        ]

    texts = QUESTIONS[:2], ANSWERS[:2]
    expected = central_differences(numpy_alignment, texts)
    assert_close(gradients(lambda *x: SoftAlignment()(list(x)), texts), expected, rtol=1e-3, atol=1e-4)


def test_large_energies_stay_finite():
    outputs = to_numpy(SoftAlignment()([100 * QUESTIONS, 100 * ANSWERS]))
    assert all(np.isfinite(output).all() for output in outputs)


def test_attention_is_computed_in_float32_under_mixed_precision():
    question, answer = np.full((1, 1, 300), 20.0), np.full((1, 2, 300), 20.0)
    align = compiled(lambda *texts: SoftAlignment(dtype="mixed_float16")(list(texts)))
    outputs = align(question, answer)  # energies of 120,000
    assert all(dtype_of(output) == "float16" for output in outputs)
    for output in to_numpy(outputs):
        np.testing.assert_array_equal(output, np.full_like(output, 20))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3)], ids=["no texts", "no steps"])
def test_opposite_a_text_of_nothing_stands_zero(shape):
    pair = [np.zeros(shape, "float32"), np.ones((shape[0], 5, 3), "float32")]
    for texts in (pair, pair[::-1]):
        for text, found in zip(texts, SoftAlignment()(texts), strict=True):
            np.testing.assert_array_equal(to_numpy(found), np.zeros(text.shape))


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="Received: input_shape="):
        SoftAlignment()([QUESTIONS, ANSWERS[..., :4]])
