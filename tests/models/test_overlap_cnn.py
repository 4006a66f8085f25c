"""The CNNs with counts of common words against their equations in float64 NumPy."""

import numpy as np
import pytest
from field_numpy import convolve, mlp, relu, weights_of, words_of

from answer_ranking.models.networks.overlap_cnn import cnn_cnt, severyn_moschitti

VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
QUESTION = np.array([[3, 4, 9, 12, 8, 0]], "int32")
ANSWER = np.array([[7, 8, 2, 11, 5, 6, 13, 0]], "int32")
FEATURES = np.array([[2.0, 0.5]], "float32")
INPUTS = [QUESTION, ANSWER, FEATURES]


def test_severyn_and_moschitti_follows_the_equations():
    model = severyn_moschitti(VECTORS, 4, hidden=(3,), n_features=2, seed=2)
    weights = weights_of(model)
    pooled = []
    for side, text in (("question", QUESTION[0]), ("answer", ANSWER[0])):
        kernel, bias = (weights[f"{side}_convolution/{name}"] for name in ("kernel", "bias"))
        pooled.append(relu(convolve(words_of(VECTORS, text), kernel, bias)).max(axis=0))
    similarity = pooled[0] @ weights["similarity/kernel"].T @ pooled[1]
    expected = mlp(np.concatenate([pooled[0], [similarity], pooled[1], FEATURES[0]]), weights)
    assert float(model(INPUTS)[0]) == pytest.approx(expected, rel=1e-4)


def test_cnn_cnt_follows_the_equations():
    model = cnn_cnt(VECTORS, 4, n_features=2, seed=2)
    weights = weights_of(model)
    means = []
    for text in (QUESTION[0], ANSWER[0]):
        x = words_of(VECTORS, text)
        left, right = weights["bigrams/kernel"]
        means.append(np.tanh(x[:-1] @ left + x[1:] @ right + weights["bigrams/bias"]).mean(axis=0))
    similarity = means[0] @ weights["similarity/kernel"].T @ means[1]
    expected = mlp(np.array([similarity, *FEATURES[0]]), weights, layers=("logits",))
    assert float(model(INPUTS)[0]) == pytest.approx(expected, rel=1e-4)


def test_parameters_are_those_of_the_docstrings():
    n, f, h, features = 6, 4, 3, 2
    first = severyn_moschitti(VECTORS, f, hidden=(h,), n_features=features).count_params() - VECTORS.size
    joint = 2 * f + 1 + features
    assert first == 2 * (5 * n * f + f) + f * f + joint * h + h + 2 * h + 2
    second = cnn_cnt(VECTORS, f, n_features=features).count_params() - VECTORS.size
    assert second == 2 * n * f + f + f * f + 1 + features + 1
