"""HD-LSTM, NTN-LSTM and CNTN against their equations in float64 NumPy."""

import numpy as np
import pytest
from field_numpy import convolve, lstm_states, mlp, weights_of, words_of

from answer_ranking.models.networks.dual_lstm import cntn, hd_lstm, ntn_lstm

VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
QUESTION = np.array([[3, 4, 9, 12, 8, 0]], "int32")
ANSWER = np.array([[7, 8, 2, 11, 5, 6, 13, 0]], "int32")
FEATURES = np.array([[2.0, 0.5]], "float32")


def last_states(weights):
    texts = (("question", QUESTION[0]), ("answer", ANSWER[0]))
    return [lstm_states(words_of(VECTORS, text), weights, f"{side}_lstm")[-1] for side, text in texts]


def tensor(pair, weights, slices):
    m = len(pair[0])
    forms = weights["tensor/tensor"].reshape(m, slices, -1)
    bilinear = np.einsum("i,irj,j->r", pair[0], forms, pair[1])
    return np.tanh(bilinear + np.concatenate(pair) @ weights["tensor/linear"] + weights["tensor/bias"])


def test_hd_lstm_follows_the_equations():
    model = hd_lstm(VECTORS, 5, hidden=(3,), n_features=2, seed=2)
    weights = weights_of(model)
    q, a = last_states(weights)
    correlation = [sum(q[i] * a[(k + i) % 5] for i in range(5)) for k in range(5)]
    similarity = q @ weights["similarity/kernel"].T @ a
    x = np.array([*correlation, similarity, *FEATURES[0]])
    expected = mlp(x, weights, activation=np.tanh)
    assert float(model([QUESTION, ANSWER, FEATURES])[0]) == pytest.approx(expected, rel=1e-4)


def test_ntn_lstm_follows_the_equations():
    model = ntn_lstm(VECTORS, 5, slices=3, hidden=(3,), n_features=2, seed=2)
    weights = weights_of(model)
    x = np.array([*tensor(last_states(weights), weights, 3), *FEATURES[0]])
    expected = mlp(x, weights, activation=np.tanh)
    assert float(model([QUESTION, ANSWER, FEATURES])[0]) == pytest.approx(expected, rel=1e-4)


def test_cntn_follows_the_equations():
    model = cntn(VECTORS, 3, largest=2, slices=2, n_features=2, seed=2)
    weights = weights_of(model)
    short = np.array([[7, 0, 0]], "int32")  # fewer words than values that are kept
    for answer in (ANSWER, short):
        pair = []
        for text in (QUESTION[0], answer[0]):
            x = np.tanh(
                convolve(words_of(VECTORS, text), weights["convolution/kernel"], weights["convolution/bias"])
            )
            kept = []
            for feature in x.T:
                in_order = feature[np.sort(np.argsort(-feature)[:2])]
                kept += [*in_order, *[0.0] * (2 - len(in_order))]
            pair.append(np.array(kept))
        x = np.array([*tensor(pair, weights, 2), *FEATURES[0]])
        expected = mlp(x, weights, layers=("logits",))
        assert float(model([QUESTION, answer, FEATURES])[0]) == pytest.approx(expected, rel=1e-4)


def test_parameters_are_those_of_the_docstrings():
    n, d, h, r, f, k = 6, 5, 3, 2, 4, 2
    of_lstms = 2 * (4 * d * (n + d) + 4 * d)
    counts = [
        model.count_params() - VECTORS.size
        for model in (
            hd_lstm(VECTORS, d, hidden=(h,), n_features=2),
            ntn_lstm(VECTORS, d, slices=r, hidden=(h,), n_features=2),
            cntn(VECTORS, f, largest=k, slices=r),
        )
    ]
    v = k * f
    assert counts == [
        of_lstms + d * d + (d + 1 + 2) * h + h + 2 * h + 2,
        of_lstms + r * (d * d + 2 * d + 1) + (r + 2) * h + h + 2 * h + 2,
        3 * n * f + f + r * (v * v + 2 * v + 1) + r + 1,
    ]
