"""Pieces of the systems' equations in float64 NumPy."""

import numpy as np


def weights_of(model):
    """Give the weights by their paths, float64."""
    return {variable.path: np.float64(variable.numpy()) for variable in model.trainable_variables}


def words_of(vectors, text):
    """Look up a text's words, without the padding."""
    return np.float64(vectors)[text[text > 0]]


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


def lstm_states(x, weights, layer):
    """Read words by an LSTM: input, forget, candidate and output gates side by side; give all states."""
    names = ("kernel", "recurrent_kernel", "bias")
    kernel, recurrent, bias = (weights[f"{layer}/lstm_cell/{name}"] for name in names)
    h = c = np.zeros(len(recurrent))
    states = []
    for word in x:
        i, f, candidate, o = np.split(word @ kernel + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(candidate)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)
