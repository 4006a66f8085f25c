"""HD-LSTM, NTN-LSTM and CNTN against their equations in float64 NumPy."""

import numpy as np
from field_numpy import FEATURES, TEXTS, VECTORS, assert_score, convolve, lstm_states, mlp, weights_of

from answer_ranking.models.networks.dual_lstm import cntn, hd_lstm, ntn_lstm


def last_states(weights):
    question, answer = TEXTS
    last = lstm_states(question, weights, "question_lstm")[-1]
    return last, lstm_states(answer, weights, "answer_lstm")[-1]


def tensor(pair, weights, slices):
    m = len(pair[0])
    forms = weights["tensor/tensor"].reshape(m, slices, -1)
    bilinear = np.einsum("i,irj,j->r", pair[0], forms, pair[1])
    return np.tanh(bilinear + np.concatenate(pair) @ weights["tensor/linear"] + weights["tensor/bias"])


def test_hd_lstm_follows_the_equations():
    model = hd_lstm(VECTORS, 5, hidden=(3,), n_features=2, seed=2)
    weights = weights_of(model)
    q, a = last_states(weights)
    correlation = [q @ np.roll(a, -k) for k in range(5)]
    similarity = q @ weights["similarity/kernel"].T @ a
    x = np.array([*correlation, similarity, *FEATURES[0]])
    assert_score(model, mlp(x, weights, activation=np.tanh))


def test_ntn_lstm_follows_the_equations():
    model = ntn_lstm(VECTORS, 5, slices=3, hidden=(3,), n_features=2, seed=2)
    weights = weights_of(model)
    x = np.array([*tensor(last_states(weights), weights, 3), *FEATURES[0]])
    assert_score(model, mlp(x, weights, activation=np.tanh))


def test_cntn_follows_the_equations():
    model = cntn(VECTORS, 3, largest=6, slices=2, n_features=2, seed=2)
    weights = weights_of(model)
    pair = []
    for text in TEXTS:
        x = np.tanh(convolve(text, weights["convolution/kernel"], weights["convolution/bias"]))
        # Of each feature the largest values, in their order, and zeros where there are fewer words.
        kept = np.zeros((x.shape[1], 6))
        for place, feature in enumerate(x.T):
            in_order = feature[np.sort(np.argsort(-feature)[:6])]
            kept[place, : len(in_order)] = in_order
        pair.append(kept.ravel())
    x = np.array([*tensor(pair, weights, 2), *FEATURES[0]])
    assert_score(model, mlp(x, weights, layers=("logits",)))
