"""ARC-I and ARC-II against the equations of their paper, in float64 NumPy."""

import numpy as np
from field_numpy import TEXTS, VECTORS, assert_score, convolve, mlp, relu, weights_of

from answer_ranking.models.networks.arc import arc_i, arc_ii


def halve(x, axis):
    """Take the larger of every two neighbours; the last one may stand alone."""
    return np.stack([part.max(axis) for part in np.split(x, range(2, x.shape[axis], 2), axis)], axis)


def test_arc_i_follows_the_equations():
    model = arc_i(VECTORS, 4, hidden=(3,), seed=2)
    weights = weights_of(model)
    pair = []
    for x in TEXTS:
        for number in (1, 2):
            kernel, bias = (weights[f"convolution_{number}/{name}"] for name in ("kernel", "bias"))
            x = relu(convolve(x, kernel, bias))
            x = halve(x, 0) if number == 1 else x.max(axis=0)
        pair.append(x)
    assert_score(model, mlp(np.concatenate(pair), weights))


def test_arc_ii_follows_the_equations():
    model = arc_ii(VECTORS, 4, layers=2, hidden=(3,), seed=2)
    weights = weights_of(model)
    question, answer = TEXTS
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
    assert_score(model, mlp(relu(second).max(axis=(0, 1)), weights))
