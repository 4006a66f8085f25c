"""MV-LSTM, QA-LSTM/CNN, AI-CNN and BLSTM against their equations in float64 NumPy."""

import numpy as np
import pytest
from field_numpy import convolve, lstm_states, mlp, relu, weights_of, words_of

from answer_ranking.models.networks.ai_cnn import ai_cnn
from answer_ranking.models.networks.blstm import blstm
from answer_ranking.models.networks.mv_lstm import mv_lstm
from answer_ranking.models.networks.qa_lstm_cnn import qa_lstm_cnn

VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
QUESTION = np.array([[3, 4, 9, 12, 8, 0]], "int32")
ANSWER = np.array([[7, 8, 2, 11, 5, 6, 13, 0]], "int32")
TEXTS = [words_of(VECTORS, text[0]) for text in (QUESTION, ANSWER)]


def both_directions(x, weights, name="bilstm"):
    forward, backward = f"{name}/forward_lstm", f"{name}/backward_lstm"
    return np.hstack([lstm_states(x, weights, forward), lstm_states(x[::-1], weights, backward)[::-1]])


def test_mv_lstm_follows_the_equations():
    d, c, k, h = 2, 3, 4, 5
    model = mv_lstm(VECTORS, d, slices=c, largest=k, hidden=(h,), seed=2)
    weights = weights_of(model)
    p, q = (both_directions(x, weights) for x in TEXTS)
    forms = weights["tensor/kernel"].reshape(2 * d, c, 2 * d)
    bilinear = np.einsum("id,dce,je->cij", p, forms, q)
    of_question = p @ weights["question_linear/kernel"] + weights["question_linear/bias"]
    of_answer = q @ weights["answer_linear/kernel"]
    matches = relu(bilinear + of_question.T[:, :, None] + of_answer.T[:, None])
    kept = [np.sort(each.ravel())[::-1][:k] for each in matches]
    expected = mlp(np.concatenate(kept), weights)
    assert float(model([QUESTION, ANSWER])[0]) == pytest.approx(expected, rel=1e-4)
    parameters = 2 * (4 * d * (6 + d) + 4 * d) + c * (4 * d * d + 4 * d + 1) + c * k * h + h + h + 1
    assert model.count_params() - VECTORS.size == parameters


def test_qa_lstm_cnn_follows_the_equations():
    d, c = 2, 3
    model = qa_lstm_cnn(VECTORS, c, units=d, seed=2)
    weights = weights_of(model)
    kernel, bias = weights["convolution/kernel"], weights["convolution/bias"]
    vectors = [np.tanh(convolve(both_directions(x, weights), kernel, bias)).max(axis=0) for x in TEXTS]
    expected = vectors[0] @ vectors[1] / np.prod(np.linalg.norm(vectors, axis=1))
    assert float(model([QUESTION, ANSWER])[0]) == pytest.approx(expected, rel=1e-4)
    parameters = 2 * (4 * d * (6 + d) + 4 * d) + 2 * 2 * d * c + c
    assert model.count_params() - VECTORS.size == parameters


def test_ai_cnn_follows_the_equations():
    f, h = 3, 4
    model = ai_cnn(VECTORS, f, hidden=(h,), seed=2)
    weights = weights_of(model)
    kernel, bias = weights["convolution/kernel"], weights["convolution/bias"]
    question, answer = (np.tanh(convolve(x, kernel, bias)) for x in TEXTS)
    of_question = question @ weights["question_interaction/kernel"] + weights["question_interaction/bias"]
    of_answer = answer @ weights["answer_interaction/kernel"]
    interactions = np.tanh(of_question[:, None] + of_answer[None])
    pair = []
    for steps in (interactions.max(axis=1), interactions.max(axis=0)):
        energies = np.tanh(steps @ weights["attention/kernel"]) @ weights["importance/kernel"][:, 0]
        attention = np.exp(energies) / np.exp(energies).sum()
        pair.append(attention @ steps)
    expected = mlp(np.concatenate(pair), weights)
    assert float(model([QUESTION, ANSWER])[0]) == pytest.approx(expected, rel=1e-4)
    parameters = 3 * 6 * f + f + 3 * f * f + f + f + 2 * f * h + h + 2 * h + 2
    assert model.count_params() - VECTORS.size == parameters


def test_blstm_reads_both_texts_as_one():
    d, h = 2, 4
    model = blstm(VECTORS, d, layers=2, hidden=(h,), n_features=3, seed=2)
    weights = weights_of(model)
    x = np.concatenate([TEXTS[0], np.zeros((1, 6)), TEXTS[1]])
    for layer in (1, 2):
        x = both_directions(x, weights, f"bilstm_{layer}")
    features = np.array([[0.5, -1.0, 2.0]], "float32")
    expected = mlp(np.concatenate([x.mean(axis=0), features[0]]), weights)
    assert float(model([QUESTION, ANSWER, features])[0]) == pytest.approx(expected, rel=1e-4)
    lstms = 2 * (4 * d * (6 + d) + 4 * d) + 2 * (4 * d * 3 * d + 4 * d)
    assert model.count_params() - VECTORS.size == lstms + (2 * d + 3) * h + h + 2 * h + 2
    with pytest.raises(ValueError, match="layers"):
        blstm(VECTORS, d, layers=0)
