"""aNMM-1 and aNMM-2 against their equations in float64 NumPy."""

import numpy as np
import pytest
from field_numpy import ANSWER, QUESTION, TEXTS, VECTORS, assert_score, sigmoid, weights_of

from answer_ranking.models.networks.anmm import anmm


@pytest.mark.parametrize("units", [0, 3])
def test_the_score_follows_the_equations(units):
    model = anmm(VECTORS, units, bins=6, seed=2)
    weights = weights_of(model)
    question, answer = TEXTS
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
    assert_score(model, energies / energies.sum() @ x[:, 0])
