"""MP-CNN against Algorithms 1 and 2 of its paper in float64 NumPy."""

import itertools

import numpy as np
import pytest
from field_numpy import TEXTS, VECTORS, assert_score, convolve, mlp, weights_of

from answer_ranking.models.networks.mp_cnn import mp_cnn

POOLINGS = {"max": np.max, "min": np.min, "mean": np.mean}


def cosine_and_distance(x, y):
    return [x @ y / np.linalg.norm(x) / np.linalg.norm(y), np.linalg.norm(x - y)]


def flat(*parts):
    return np.concatenate([np.ravel(part) for part in parts])


def comparisons(pairs, differences):
    """Compare pairs of vectors: first all cosines, then all distances, then all differences."""
    found = np.array([cosine_and_distance(x, y) for x, y in pairs])
    absolute = [np.abs(x - y) for x, y in pairs] if differences else []
    return flat(found[:, 0], found[:, 1], *absolute)


def test_the_score_follows_both_algorithms():
    n, f, g, widths = 6, 4, 2, (1, 2)
    model = mp_cnn(VECTORS, f, dimension_filters=g, widths=widths, hidden=(3,), seed=2)
    weights = weights_of(model)
    holistic, by_dimension = {}, {}
    for width in widths:
        kernel, bias = (weights[f"holistic_{width}/{name}"] for name in ("kernel", "bias"))
        holistic[width] = [np.tanh(convolve(x, kernel, bias)) for x in TEXTS]
        kernel, bias = (weights[f"by_dimension_{width}/{name}"] for name in ("kernel", "bias"))
        steps = []
        for x in TEXTS:
            parts = [convolve(x[:, [i]], kernel[:, [i]].reshape(width, 1, g)) for i in range(n)]
            steps.append(np.tanh(np.stack(parts, axis=1) + bias.reshape(n, g)))
        by_dimension[width] = steps
    found = []
    for pool in POOLINGS.values():
        question, answer = ([pool(holistic[w][side], axis=0) for w in widths] for side in (0, 1))
        over_widths = zip(np.transpose(question), np.transpose(answer), strict=True)
        found.append(comparisons(list(over_widths), differences=False))
        found.append(comparisons(list(itertools.product(question, answer)), differences=True))
    for pool in POOLINGS.values():
        found.append(comparisons([[pool(x, axis=0) for x in TEXTS]], differences=True))
    for width in widths:
        for pool in (np.max, np.min):
            question, answer = (pool(steps, axis=0).T for steps in by_dimension[width])
            found.append(comparisons(list(zip(question, answer, strict=True)), differences=True))
    assert_score(model, mlp(flat(*found), weights, activation=np.tanh), rel=1e-3)


def test_the_papers_sizes_have_as_many_parameters_as_it_says():
    model = mp_cnn(np.zeros((2, 300), "float32"))
    trainable = sum(int(np.prod(weight.shape)) for weight in model.trainable_variables)
    assert trainable == pytest.approx(10e6, rel=0.1)  # 10.0M in HyperQA's tables
