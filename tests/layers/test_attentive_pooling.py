"""AttentivePooling and CosineSimilarity against float64 NumPy loops written from Eq. 11 and 13 to 18."""

import keras
import numpy as np
import pytest
from gradients import central_differences, gradients
from layer_checks import assert_close, check_configuration, check_padding, dtype_of, run_layer_test, to_numpy

from answer_ranking.layers import AttentivePooling, CosineSimilarity

RNG = np.random.default_rng(4)
QUESTION, ANSWER = np.float32(RNG.normal(size=(5, 4, 3))), np.float32(RNG.normal(size=(5, 6, 3)))
# All steps; one word against many; many against one; a question, and an answer, of padding alone.
QUESTION_MASK = np.array([[1] * 4, [1, 0, 0, 0], [1, 1, 1, 0], [0] * 4, [0, 1, 0, 1]], dtype=bool)
ANSWER_MASK = np.array([[1] * 6, [1] * 4 + [0] * 2, [1] + [0] * 5, [1, 1] + [0] * 4, [0] * 6], dtype=bool)
MASKS = [QUESTION_MASK, ANSWER_MASK]


def layer_with(kernel, **arguments):
    layer = AttentivePooling(**arguments)
    layer.build([(None, None, kernel.shape[0]), (None, None, kernel.shape[1])])
    layer.set_weights([kernel])
    return layer


def softmax(x):
    return np.exp(x) / np.exp(x).sum() if len(x) else x


def pool_by_loop(question, answer, kernel, question_mask=None, answer_mask=None):
    """Eq. 13 to 18 pair by pair over the real steps alone, columns being steps as in the paper."""
    question_mask = np.ones(question.shape[:-1], bool) if question_mask is None else question_mask
    answer_mask = np.ones(answer.shape[:-1], bool) if answer_mask is None else answer_mask
    pooled = [np.zeros((len(question), text.shape[-1])) for text in (question, answer)]
    attention = [np.zeros(question.shape[:-1]), np.zeros(answer.shape[:-1])]
    for i, (real_q, real_a) in enumerate(zip(question_mask, answer_mask, strict=True)):
        Q, A = np.float64(question[i][real_q]).T, np.float64(answer[i][real_a]).T
        G = np.tanh(Q.T @ np.float64(kernel) @ A)
        # Opposite a text without words every word matters alike.
        g_q = [max(row) for row in G] if real_a.any() else [0.0] * Q.shape[1]
        g_a = [max(column) for column in G.T] if real_q.any() else [0.0] * A.shape[1]
        attention[0][i, real_q], attention[1][i, real_a] = softmax(np.array(g_q)), softmax(np.array(g_a))
        pooled[0][i], pooled[1][i] = Q @ attention[0][i, real_q], A @ attention[1][i, real_a]
    return [*pooled, *attention]


def test_attentive_pooling_layer(tmp_path):
    check_configuration(AttentivePooling, {"kernel_initializer": "orthogonal", "kernel_regularizer": "l2"})
    run_layer_test(
        AttentivePooling,
        {"return_attention": True},
        [QUESTION, ANSWER],
        tmp_path,
        masks=MASKS,
        output_shape=[(5, 3), (5, 3), (5, 4), (5, 6), (5, 4, 6)],
        n_weights=1,
        half_precision_tolerance=0.05,
    )


@pytest.mark.parametrize("masks", [None, MASKS], ids=["plain", "masked"])
def test_pooling_equals_the_loop(masks):
    kernel = np.float32(RNG.normal(size=(3, 3)))
    layer = layer_with(kernel, return_attention=True)
    *actual, alignment = (to_numpy(x) for x in layer([QUESTION, ANSWER], mask=masks))
    assert_close(actual, pool_by_loop(QUESTION, ANSWER, kernel, *(masks or (None, None))), rtol=1e-4)
    expected = np.tanh(np.einsum("bqd,de,bae->bqa", *map(np.float64, (QUESTION, kernel, ANSWER))))
    if masks:
        expected *= QUESTION_MASK[:, :, None] & ANSWER_MASK[:, None, :]
    np.testing.assert_allclose(alignment, expected, rtol=1e-4, atol=1e-6)


def test_padding_changes_nothing():
    layer = layer_with(np.float32(RNG.normal(size=(3, 3))))
    # Negative importance everywhere, where zeros of the padding would win.
    texts = [np.abs(QUESTION), -np.abs(ANSWER)]
    layer.set_weights([np.ones((3, 3), "float32")])
    fills = (0.0, 1e30, float("inf"), float("nan"))
    check_padding(layer, texts, MASKS, fills=fills)
    check_padding(layer, [QUESTION, ANSWER], MASKS, fills=fills)


@pytest.mark.parametrize("masks", [None, MASKS], ids=["plain", "masked"])
def test_gradients_equal_differences_of_the_loop(masks):
    kernel = np.float32(RNG.normal(size=(3, 3)))
    weights = [np.float32(RNG.normal(size=(5, 3))) for _ in range(2)]
    layer = layer_with(kernel)

    def function(question, answer, kernel):
        pooled, _ = layer.stateless_call([kernel], [], [question, answer], mask=masks)
        return [keras.ops.multiply(w, x) for w, x in zip(weights, pooled, strict=True)]

    def by_loop(question, answer, kernel):
        pooled = pool_by_loop(question, answer, kernel, *(masks or (None, None)))[:2]
        return [w * x for w, x in zip(weights, pooled, strict=True)]

    arrays = [QUESTION, ANSWER, kernel]
    expected = central_differences(by_loop, arrays)
    for actual, gradient in zip(gradients(function, arrays), expected, strict=True):
        assert np.isfinite(actual).all()
        np.testing.assert_allclose(actual, gradient, rtol=2e-3, atol=1e-4)


def test_a_question_may_be_projected_beforehand():
    layer = layer_with(np.float32(RNG.normal(size=(3, 3))), return_attention=True)
    question = np.where(QUESTION_MASK[..., None], QUESTION, np.float32("nan"))
    projected = layer.project(question)
    expected = layer([QUESTION, ANSWER], mask=MASKS)
    assert_close(
        layer([question, ANSWER], mask=MASKS, projected_question=projected), expected, rtol=1e-6, atol=1e-7
    )
    # It is what the layer goes by.
    other = layer([QUESTION, ANSWER], mask=MASKS, projected_question=-projected)
    assert np.abs(to_numpy(other[4]) + to_numpy(expected[4])).max() < 1e-6


@pytest.mark.slow
def test_one_question_meets_many_answers():
    layer = layer_with(np.float32(RNG.normal(size=(3, 3))), return_attention=True)
    answers = np.float32(RNG.normal(size=(5, 7, 6, 3)))
    answers_mask = RNG.random((5, 7, 6)) < 0.6
    together = layer([QUESTION[:, None], answers], mask=[QUESTION_MASK[:, None], answers_mask])
    shapes = [(5, 1, 4, 3), (5, 7, 6, 3)]
    assert [tuple(x.shape) for x in together] == layer.compute_output_shape(shapes)
    for candidate in range(7):
        alone = layer([QUESTION, answers[:, candidate]], mask=[QUESTION_MASK, answers_mask[:, candidate]])
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_allclose(to_numpy(one)[:, candidate], to_numpy(other), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3)], ids=["no texts", "no steps"])
def test_a_question_of_nothing_is_zero_and_attends_to_all_alike(shape):
    pair = [np.zeros(shape, "float32"), np.ones((shape[0], 5, 3), "float32")]
    question, answer = (to_numpy(side) for side in AttentivePooling()(pair))
    np.testing.assert_array_equal(question, np.zeros((shape[0], 3)))
    np.testing.assert_allclose(answer, np.ones((shape[0], 3)), rtol=1e-6)


def test_no_pairs_have_no_cosines():
    assert to_numpy(CosineSimilarity()([np.zeros((0, 3), "float32")] * 2)).shape == (0,)


def test_wrong_shapes_are_refused():
    layer = AttentivePooling()
    for shapes in ((QUESTION,), (QUESTION[0, 0], ANSWER[0, 0]), (QUESTION[:2], ANSWER[:3])):
        with pytest.raises(ValueError, match="Received: "):
            layer.compute_output_shape([x.shape for x in shapes])
    # Otherwise the batch of questions would be broadcast over the candidates.
    with pytest.raises(ValueError, match=r"axis of size 1, question\[:, None\]"):
        layer([QUESTION, np.stack([ANSWER] * 5, axis=1)])
    with pytest.raises(ValueError, match="features must be known"):
        AttentivePooling().build([(None, None, None), (None, None, 3)])


def test_cosine_similarity_layer(tmp_path):
    run_layer_test(
        CosineSimilarity,
        {},
        [QUESTION[:, :1], ANSWER],
        tmp_path,
        output_shape=(5, 6),
        half_precision_output="float32",
        half_precision_tolerance=1e-6,
    )


def test_cosine_equals_the_formula_at_every_scale():
    q, a = np.float64(QUESTION[:, :1]), np.float64(ANSWER)
    expected = (q * a).sum(-1) / np.linalg.norm(q, axis=-1) / np.linalg.norm(a, axis=-1)
    for scale in (1e-30, 1.0, 1e30):
        actual = to_numpy(CosineSimilarity()([QUESTION[:, :1], np.float32(scale) * ANSWER]))
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_gradients_of_the_cosine():
    def cosine(q, a):
        norms = np.linalg.norm(q, axis=-1) * np.linalg.norm(a, axis=-1)
        return (q * a).sum(-1) / np.where(norms, norms, np.inf)

    q, a = QUESTION[:, 0], ANSWER[:, 0]
    expected = central_differences(cosine, [q, a])
    assert_close(gradients(lambda *x: CosineSimilarity()(x), [q, a]), expected, rtol=1e-3, atol=1e-5)
    zeros = np.zeros_like(q)
    for pair in ([zeros, a], [q, zeros], [zeros, zeros]):
        assert not to_numpy(CosineSimilarity()(pair)).any()
        found = gradients(lambda *x: CosineSimilarity()(x), pair)
        for vector, gradient in zip(pair, found, strict=True):
            assert np.isfinite(gradient).all()
            assert vector.any() or not gradient.any()


def test_what_is_nan_stays_nan():
    pair = np.float32([[np.nan, 0.1], [0.2, 0.1], [0.0, np.nan]]), np.float32([[0.2, 0.1]] * 3)
    for one, other in (pair, pair[::-1]):
        np.testing.assert_array_equal(
            np.isnan(to_numpy(CosineSimilarity()([one, other]))), [True, False, True]
        )
    question = np.where(np.arange(5)[:, None, None] == 2, np.float32(np.nan), QUESTION)
    mask = np.ones_like(QUESTION_MASK)
    mask[2, 0] = False
    layer = layer_with(np.ones((3, 3), "float32"), return_attention=True)
    found = [to_numpy(each) for each in layer([question, ANSWER], mask=[mask, ANSWER_MASK])[:4]]
    for pooled in found[:2]:
        assert np.isnan(pooled).all(axis=-1).tolist() == [False, False, True, False, False]
    for attention in found[2:]:
        # No weight is above 1 beside another that is not a number.
        assert np.isnan(attention[2]).all()
        assert np.isfinite(np.delete(attention, 2, axis=0)).all()


def test_cosine_refuses_wrong_shapes():
    for pair in ([(2, 3)], [(2, 3), (2, 4)], [(2, 3), (4, 3)], [(), ()]):
        with pytest.raises(ValueError, match="Received: "):
            CosineSimilarity().compute_output_shape(pair)
    with pytest.raises(ValueError, match=r"axis of size 1, question\[:, None\]"):
        CosineSimilarity()([QUESTION[:, 0], np.stack([QUESTION[:, 0]] * 5, axis=1)])
    assert dtype_of(CosineSimilarity(dtype="mixed_float16")([QUESTION, QUESTION])) == "float32"
