"""Masked pooling against NumPy loops over the real steps."""

import keras
import numpy as np
import pytest
from gradients import gradients
from layer_checks import check_padding, dtype_of, run_layer_test, to_numpy

from answer_ranking.layers import MaskedMax, MaskedMean, MaskedSum

RNG = np.random.default_rng(2)
POOLINGS = {MaskedSum: np.sum, MaskedMean: np.mean, MaskedMax: np.max}
TEXTS = np.float32(RNG.normal(size=(4, 6, 3)) - 1)
MASK = np.array([[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6, [0, 1, 0, 1, 1, 0]], dtype=bool)

both = pytest.mark.parametrize("pooling", POOLINGS, ids=lambda pooling: pooling.__name__)


def expected(pooling, texts=TEXTS, mask=MASK):
    return [
        POOLINGS[pooling](np.float64(text[real]), axis=0) if real.any() else np.zeros(text.shape[-1])
        for text, real in zip(texts, mask, strict=True)
    ]


@both
def test_pooling_layer(pooling, tmp_path):
    run_layer_test(pooling, {}, TEXTS, tmp_path, masks=MASK, output_shape=(4, 3))


@both
def test_pooling_equals_numpy(pooling):
    np.testing.assert_allclose(to_numpy(pooling()(TEXTS, mask=MASK)), expected(pooling), rtol=1e-5, atol=1e-6)
    everything = np.ones_like(MASK)
    np.testing.assert_allclose(to_numpy(pooling()(TEXTS)), expected(pooling, mask=everything), rtol=1e-5)
    nested = pooling()(TEXTS.reshape(2, 2, 6, 3), mask=MASK.reshape(2, 2, 6))
    np.testing.assert_allclose(to_numpy(nested), to_numpy(pooling()(TEXTS, mask=MASK)).reshape(2, 2, 3))


@pytest.mark.parametrize("pooling", [MaskedSum, MaskedMean, MaskedMax])
@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3)], ids=["no texts", "no steps"])
def test_nothing_is_pooled_to_zeros(pooling, shape):
    pooled = to_numpy(pooling()(np.zeros(shape, "float32"), mask=np.ones(shape[:2], dtype=bool)))
    np.testing.assert_array_equal(pooled, np.zeros((shape[0], 3)))


@both
def test_padding_changes_nothing(pooling):
    check_padding(pooling(), TEXTS, MASK, fills=(0.0, 1e30, float("inf"), float("nan")))


@both
def test_gradients_equal_those_of_the_formula(pooling):
    weights = np.float32(RNG.normal(size=(4, 3)))
    (actual,) = gradients(lambda x: keras.ops.multiply(weights, pooling()(x, mask=MASK)), (TEXTS,))
    share = np.zeros_like(TEXTS, dtype="float64")
    for i, real in enumerate(MASK):
        steps = np.flatnonzero(real)
        if pooling is MaskedMax and len(steps):
            share[i, steps[TEXTS[i, steps].argmax(axis=0)], np.arange(3)] = 1
        elif len(steps):
            share[i, steps] = 1 if pooling is MaskedSum else 1 / len(steps)
    np.testing.assert_allclose(actual, weights[:, None] * share, rtol=1e-6)


@pytest.mark.parametrize("pooling", [MaskedSum, MaskedMean])
def test_long_texts_are_accumulated_in_float32(pooling):
    texts = np.full((1, 5000, 1), 0.01)
    layer = pooling(dtype="mixed_bfloat16")
    output = layer(texts)
    assert dtype_of(output) == "bfloat16"
    np.testing.assert_allclose(to_numpy(output), POOLINGS[pooling](texts, axis=1), rtol=5e-3)


def test_float_masks_count_as_booleans():
    np.testing.assert_array_equal(
        to_numpy(MaskedMean()(TEXTS, mask=np.float32(MASK))), to_numpy(MaskedMean()(TEXTS, mask=MASK))
    )


@both
def test_wrong_shapes_are_refused(pooling):
    with pytest.raises(ValueError, match="Received: input_shape="):
        pooling()(TEXTS[0, 0])
