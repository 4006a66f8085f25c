"""ARC-I and ARC-II against the equations of their paper, in float64 NumPy."""

import numpy as np
import pytest
from field_numpy import convolve, mlp, relu, weights_of, words_of

from answer_ranking.models.networks.arc import arc_i, arc_ii

VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
QUESTION = np.array([[3, 4, 9, 12, 8, 0]], "int32")
ANSWER = np.array([[7, 8, 2, 11, 5, 6, 13, 0]], "int32")


def halve(x, axis):
    """Take the larger of every two neighbours; the last one may stand alone."""
    return np.stack([part.max(axis) for part in np.split(x, range(2, x.shape[axis], 2), axis)], axis)


def test_arc_i_follows_the_equations():
    model = arc_i(VECTORS, 4, hidden=(3,), seed=2)
    weights = weights_of(model)
    pair = []
    for text in (QUESTION[0], ANSWER[0]):
        x = words_of(VECTORS, text)
        for number in (1, 2):
            kernel, bias = (weights[f"convolution_{number}/{name}"] for name in ("kernel", "bias"))
            x = relu(convolve(x, kernel, bias))
            x = halve(x, 0) if number == 1 else x.max(axis=0)
        pair.append(x)
    expected = mlp(np.concatenate(pair), weights)
    assert float(model([QUESTION, ANSWER])[0]) == pytest.approx(expected, rel=1e-4)


def test_arc_ii_follows_the_equations():
    model = arc_ii(VECTORS, 4, layers=2, hidden=(3,), seed=2)
    weights = weights_of(model)
    question, answer = words_of(VECTORS, QUESTION[0]), words_of(VECTORS, ANSWER[0])
    of_question = convolve(question, weights["question_convolution/kernel"])
    of_answer = convolve(answer, weights["answer_convolution/kernel"])
    bias = weights["question_convolution/bias"]
    grid = relu(of_question[:, None] + of_answer[None] + bias)
    grid = halve(halve(grid, 0), 1)
    around = np.pad(grid, ((1, 1), (1, 1), (0, 0)))
    kernel, bias = weights["convolution_2/kernel"], weights["convolution_2/bias"]
    second = np.zeros(grid.shape)
    for i, j in np.ndindex(grid.shape[:2]):
        second[i, j] = np.einsum("abn,abnf->f", around[i : i + 3, j : j + 3], kernel) + bias
    expected = mlp(relu(second).max(axis=(0, 1)), weights)
    assert float(model([QUESTION, ANSWER])[0]) == pytest.approx(expected, rel=1e-4)


def test_parameters_are_those_of_the_docstrings():
    n, f, h = 6, 4, 3
    of_mlp = h + h + 1
    first = arc_i(VECTORS, f, hidden=(h,)).count_params() - VECTORS.size
    second = arc_ii(VECTORS, f, layers=3, hidden=(h,)).count_params() - VECTORS.size
    assert first == 3 * n * f + f + 3 * f * f + f + 2 * f * h + of_mlp
    assert second == 6 * n * f + f + 2 * (9 * f * f + f) + f * h + of_mlp
