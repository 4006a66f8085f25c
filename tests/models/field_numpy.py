"""A pair of texts, and pieces of the systems' equations in float64 NumPy."""

import numpy as np
import pytest

VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
QUESTION = np.array([[3, 4, 9, 12, 8, 0]], "int32")
ANSWER = np.array([[7, 8, 2, 11, 5, 6, 13, 0]], "int32")
FEATURES = np.array([[2.0, 0.5]], "float32")
TEXTS = [np.float64(VECTORS)[text[text > 0]] for text in (QUESTION, ANSWER)]


def assert_score(model, expected, rel=1e-4):
    """Compare the score of the pair, with its features if the model takes any."""
    inputs = [QUESTION, ANSWER, FEATURES][: len(model.inputs)]
    assert float(model(inputs)[0]) == pytest.approx(expected, rel=rel)


def weights_of(model):
    """Give the weights by their paths, float64."""
    return {variable.path: np.float64(variable.numpy()) for variable in model.trainable_variables}


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def windows(x, width):
    """Give the windows around each step side by side, `(steps, width * n)`; beyond the ends stand zeros."""
    before = (width - 1) // 2
    padded = np.pad(x, ((before, width - 1 - before), (0, 0)))
    return np.stack([padded[i : i + width].ravel() for i in range(len(x))])


def convolve(x, kernel, bias=0.0):
    """Convolve `(steps, n)` with `(width, n, filters)`."""
    return windows(x, len(kernel)) @ kernel.reshape(-1, kernel.shape[-1]) + bias


def mlp(x, weights, layers=("hidden_1", "logits"), activation=relu):
    """Bring a vector through an MLP; give the score."""
    for layer in layers:
        x = x @ weights[f"{layer}/kernel"] + weights[f"{layer}/bias"]
        if layer != layers[-1]:
            x = activation(x)
    return x[1] - x[0] if len(x) == 2 else x[0]


def lstm(x, kernel, recurrent, bias):
    """Read words by an LSTM: input, forget, candidate and output gates side by side; give all states."""
    h = c = np.zeros(len(recurrent))
    states = []
    for word in x:
        i, f, candidate, o = np.split(word @ kernel + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(candidate)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def lstm_states(x, weights, layer):
    """Read words by the LSTM of such a name."""
    names = ("kernel", "recurrent_kernel", "bias")
    return lstm(x, *(weights[f"{layer}/lstm_cell/{name}"] for name in names))
