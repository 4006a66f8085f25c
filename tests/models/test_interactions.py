"""MV-LSTM, QA-LSTM/CNN, AI-CNN and BLSTM against their equations in float64 NumPy."""

import numpy as np
import pytest
from field_numpy import FEATURES, TEXTS, VECTORS, assert_score, convolve, lstm_states, mlp, relu, weights_of

from answer_ranking.models.networks.ai_cnn import ai_cnn
from answer_ranking.models.networks.blstm import blstm
from answer_ranking.models.networks.mv_lstm import mv_lstm
from answer_ranking.models.networks.qa_lstm_cnn import qa_lstm_cnn


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
    assert_score(model, mlp(np.concatenate(kept), weights))


def test_qa_lstm_cnn_follows_the_equations():
    d, c = 2, 3
    model = qa_lstm_cnn(VECTORS, c, units=d, seed=2)
    weights = weights_of(model)
    kernel, bias = weights["convolution/kernel"], weights["convolution/bias"]
    vectors = [np.tanh(convolve(both_directions(x, weights), kernel, bias)).max(axis=0) for x in TEXTS]
    assert_score(model, vectors[0] @ vectors[1] / np.prod(np.linalg.norm(vectors, axis=1)))


def test_ai_cnn_follows_the_equations():
    f, h = 3, 4
    model = ai_cnn(VECTORS, f, hidden=(h,), seed=2)
    weights = weights_of(model)
    kernel, bias = weights["convolution/kernel"], weights["convolution/bias"]
    question, answer = (np.tanh(convolve(x, kernel, bias)) for x in TEXTS)
    of_question = question @ weights["question_interaction/kernel"] + weights["question_interaction/bias"]
    of_answer = answer @ weights["answer_interaction/kernel"]
    interactions = np.tanh(of_question[:, None] * of_answer[None])
    pair = []
    for steps in (interactions.max(axis=1), interactions.max(axis=0)):
        energies = np.tanh(steps @ weights["attention/kernel"]) @ weights["importance/kernel"][:, 0]
        attention = np.exp(energies) / np.exp(energies).sum()
        pair.append(attention @ steps)
    assert_score(model, mlp(np.concatenate(pair), weights))
    # Which segment of the answer a segment of the question meets depends on both.
    assert len(set(map(tuple, interactions.argmax(axis=1)))) > 1


def test_blstm_reads_both_texts_as_one():
    d, h = 2, 4
    model = blstm(VECTORS, d, layers=2, hidden=(h,), n_features=2, seed=2)
    weights = weights_of(model)
    x = np.concatenate([TEXTS[0], np.zeros((1, 6)), TEXTS[1]])
    for layer in (1, 2):
        x = both_directions(x, weights, f"bilstm_{layer}")
    assert_score(model, mlp(np.concatenate([x.mean(axis=0), FEATURES[0]]), weights))
    with pytest.raises(ValueError, match="layers"):
        blstm(VECTORS, d, layers=0)
