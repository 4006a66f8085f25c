"""The products that choose the nearest points, beside the distances in float64."""

import numpy as np
import pytest

from answer_ranking.ranking.search.first_stages.geometry import asked, lifted, products


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(300, 20))
    norms = rng.uniform(0.05, 0.999, (300, 1))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True) * norms).astype(np.float32)


def cosh_distance(u, v):
    """Cosh of the Poincare distance, float64 (Nickel and Kiela 2017, Eq. 1)."""
    u, v = u.astype(float), v.astype(float)
    return 1 + 2 * np.square(u - v).sum(-1) / ((1 - np.square(u).sum()) * (1 - np.square(v).sum(-1)))


def test_products_fall_with_the_poincare_distance(points):
    question, answers = points[0], points[1:]
    expected = cosh_distance(question, answers)
    squared = np.square(question.astype(float)).sum()
    found = products(question, answers, "hyperbolic")
    np.testing.assert_allclose(-(2 * found + 1 + squared) / (1 - squared), expected, rtol=1e-4)
    np.testing.assert_array_equal(np.argsort(-found), np.argsort(expected))


@pytest.mark.parametrize("similarity", ["hyperbolic", "cosine"])
def test_products_are_those_of_the_lifted_points(points, similarity):
    question, answers = asked(points[:1], similarity)[0], lifted(points, similarity)
    expected = answers.astype(float) @ question.astype(float)
    found = products(points[0], points, similarity)
    scale = np.linalg.norm(points[0]) if similarity == "cosine" else 1
    np.testing.assert_allclose(found / scale, expected, rtol=1e-3, atol=1e-4)
