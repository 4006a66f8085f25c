"""aNMM-1 and aNMM-2 against their equations in float64 NumPy."""

import numpy as np
import pytest
from field_numpy import sigmoid, weights_of, words_of

from answer_ranking.models.networks.anmm import anmm

VECTORS = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
QUESTION = np.array([[3, 4, 9, 12, 8, 0]], "int32")
ANSWER = np.array([[7, 8, 2, 11, 5, 6, 13, 0]], "int32")


@pytest.mark.parametrize("units", [0, 3])
def test_the_score_follows_the_equations(units):
    model = anmm(VECTORS, units, bins=6, seed=2)
    weights = weights_of(model)
    question, answer = words_of(VECTORS, QUESTION[0]), words_of(VECTORS, ANSWER[0])
    norms = np.linalg.norm(question, axis=1)[:, None] * np.linalg.norm(answer, axis=1)
    cosines = question @ answer.T / norms
    nodes = np.zeros((len(question), max(units, 1)))
    for j, i in np.ndindex(cosines.shape):
        # Equal words, such as number 8 here, have a range of their own.
        place = 6 if QUESTION[0, j] == ANSWER[0, i] else int((cosines[j, i] + 1) / 2 * 6)
        nodes[j] += weights["values/kernel"][place] * cosines[j, i]
    x = sigmoid(nodes)
    if units:
        x = sigmoid(x @ weights["nodes/kernel"])
    energies = np.exp(question @ weights["attention/kernel"][:, 0])
    expected = energies / energies.sum() @ x[:, 0]
    assert float(model([QUESTION, ANSWER])[0]) == pytest.approx(expected, rel=1e-4)
    assert model.count_params() - VECTORS.size == max(units, 1) * 7 + units + 6
