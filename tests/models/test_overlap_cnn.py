"""The CNNs with counts of common words against their equations in float64 NumPy."""

import numpy as np
from field_numpy import FEATURES, TEXTS, VECTORS, assert_score, convolve, mlp, relu, weights_of

from answer_ranking.models.networks.overlap_cnn import cnn, cnn_cnt, severyn_moschitti


def test_severyn_and_moschitti_follows_the_equations():
    model = severyn_moschitti(VECTORS, 4, hidden=(3,), n_features=2, seed=2)
    weights = weights_of(model)
    pooled = []
    for side, text in zip(("question", "answer"), TEXTS, strict=True):
        kernel, bias = (weights[f"{side}_convolution/{name}"] for name in ("kernel", "bias"))
        pooled.append(relu(convolve(text, kernel, bias)).max(axis=0))
    similarity = pooled[0] @ weights["similarity/kernel"].T @ pooled[1]
    assert_score(model, mlp(np.concatenate([pooled[0], [similarity], pooled[1], FEATURES[0]]), weights))


def test_the_plain_cnn_follows_the_equations():
    model = cnn(VECTORS, 4, hidden=(3,), n_features=2, seed=2)
    weights = weights_of(model)
    kernel, bias = weights["convolution/kernel"], weights["convolution/bias"]
    pooled = [relu(convolve(text, kernel, bias)).max(axis=0) for text in TEXTS]
    assert_score(model, mlp(np.concatenate([*pooled, FEATURES[0]]), weights))


def test_cnn_cnt_follows_the_equations():
    model = cnn_cnt(VECTORS, 4, n_features=2, seed=2)
    weights = weights_of(model)
    means = []
    for x in TEXTS:
        left, right = weights["bigrams/kernel"]
        means.append(np.tanh(x[:-1] @ left + x[1:] @ right + weights["bigrams/bias"]).mean(axis=0))
    similarity = means[0] @ weights["similarity/kernel"].T @ means[1]
    assert_score(model, mlp(np.array([similarity, *FEATURES[0]]), weights, layers=("logits",)))
