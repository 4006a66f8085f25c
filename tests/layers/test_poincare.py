"""Poincaré geometry against float64 NumPy, Eq. 5 of HyperQA and the properties of a metric."""

from functools import partial

import keras
import numpy as np
import pytest
from gradients import central_differences, compiled, gradients, with_gradients
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.layers import HyperbolicDistance
from answer_ranking.layers.poincare import poincare_distance, project_to_ball

EDGE = 1 - 1e-5
# Made once: JAX compiles anew what is made anew.
distance_with_gradients = with_gradients(poincare_distance)
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_draws_in_any_order():
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


def exact_distance(q, a):
    """HyperQA, Eq. 4, in float64; arcosh(1 + x) = log(1 + x + sqrt(x (x + 2))) keeps small distances."""
    q, a = np.float64(q), np.float64(a)
    alpha, beta = 1 - np.sum(q * q, axis=-1), 1 - np.sum(a * a, axis=-1)
    x = 2 * np.sum((q - a) ** 2, axis=-1) / (alpha * beta)
    return np.log1p(x + np.sqrt(x * (x + 2)))


def exact_gradient(theta, x):
    """HyperQA, Eq. 5, with respect to theta, in extended precision where the machine has it."""
    theta, x = np.longdouble(theta), np.longdouble(x)
    alpha = 1 - np.sum(theta * theta, axis=-1, keepdims=True)
    beta = 1 - np.sum(x * x, axis=-1, keepdims=True)
    gamma = 1 + 2 / (alpha * beta) * np.sum((theta - x) ** 2, axis=-1, keepdims=True)
    bracket = (
        np.sum(x * x, axis=-1, keepdims=True) - 2 * np.sum(theta * x, axis=-1, keepdims=True) + 1
    ) / alpha**2 * theta - x / alpha
    return np.float64(4 / (beta * np.sqrt(gamma**2 - 1)) * bracket)


def moebius_sum(x, y):
    """The translation of y by x in the Poincaré ball, an isometry."""
    xy = np.sum(x * y, axis=-1, keepdims=True)
    xx, yy = np.sum(x * x, axis=-1, keepdims=True), np.sum(y * y, axis=-1, keepdims=True)
    return ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy)


def directions(count, dimensions):
    x = RNG.normal(size=(count, dimensions))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


DISTANCES = {form: compiled(partial(poincare_distance, form=form)) for form in ("asinh", "released")}


def distance(q, a, form="asinh"):
    return keras.ops.convert_to_numpy(DISTANCES[form](np.float32(q), np.float32(a)))


def projected(x, *options):
    project = compiled(lambda x: project_to_ball(x, *options))
    return keras.ops.convert_to_numpy(project(np.float32(x)))


def point_pairs(name, dimensions):
    """Float32 pairs of points: anywhere, near the edge, close to each other, and both."""
    count = 400
    q, a = directions(count, dimensions), directions(count, dimensions)
    radius = {
        "inside": RNG.uniform(0, 0.99, (2, count, 1)),
        "edge": 1 - np.geomspace(1e-5, 1e-1, count)[None, :, None],
        "both at the edge": np.full((2, count, 1), EDGE),
        "one at the edge": np.stack([RNG.uniform(0, 0.9, (count, 1)), np.full((count, 1), EDGE)]),
    }
    if name in radius:
        return np.float32(q * radius[name][0]), np.float32(a * radius[name][-1])
    # Close pairs: a step along an axis on which the question lies at 0, where float32 can express it.
    q[:, 0] = 0
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    norm = {"close": RNG.uniform(0, 0.9, (count, 1)), "close at the edge": np.full((count, 1), EDGE)}[name]
    q = np.float32(q * norm)
    a = q.copy()
    a[:, 0] = np.geomspace(1e-6, 1e-2, count) * (1 - norm[:, 0] ** 2) / 2
    return q, a


PAIRS = ("inside", "edge", "both at the edge", "one at the edge", "close", "close at the edge")


@pytest.mark.parametrize("dimensions", [2, 300])
@pytest.mark.parametrize("name", PAIRS)
def test_distance_is_accurate_and_its_gradient_equation_5(name, dimensions):
    q, a = point_pairs(name, dimensions)
    expected = exact_distance(q, a)
    if name.startswith("close"):
        assert expected.min() < 1.01e-6
    found, slopes = distance_with_gradients(q, a)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(found), expected, rtol=1e-4)
    for actual, exact in zip(slopes, (exact_gradient(q, a), exact_gradient(a, q)), strict=True):
        error = np.linalg.norm(actual - exact, axis=-1) / np.linalg.norm(exact, axis=-1)
        assert error.max() < 1e-3


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Keras computes float64 in float32 on the other backends"
)
def test_float64_stays_float64():
    q, a = np.float64(0.6 * directions(50, 5)), np.float64(0.9999999 * directions(50, 5))
    actual = poincare_distance(*(keras.ops.convert_to_tensor(x, "float64") for x in (q, a)))
    assert keras.backend.standardize_dtype(actual.dtype) == "float64"
    np.testing.assert_allclose(keras.ops.convert_to_numpy(actual), exact_distance(q, a), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_points_get_float32_distances(dtype):
    q, a = (keras.ops.cast(0.9 * directions(20, 8), dtype) for _ in range(2))
    actual = poincare_distance(q, a)
    assert keras.backend.standardize_dtype(actual.dtype) == "float32"
    q, a = (keras.ops.convert_to_numpy(keras.ops.cast(x, "float32")) for x in (q, a))
    np.testing.assert_allclose(keras.ops.convert_to_numpy(actual), exact_distance(q, a), rtol=1e-5)


NORMS = np.array([0.0, 1e-20, 1e-6, 0.5, EDGE, 1.0, 1.5, 1e4, 1e30])[:, None, None]


@pytest.mark.parametrize("form", ["asinh", "released"])
def test_values_and_gradients_are_finite(form):
    q = np.float32(NORMS * directions(6, 7))
    inside = np.broadcast_to(np.float32(0.3 * directions(6, 7)), q.shape)
    a = np.stack([q, -q, np.zeros_like(q), np.nextafter(q, np.float32(0)), inside])
    q = np.broadcast_to(q, a.shape)
    assert np.isfinite(distance(q, a, form=form)).all()
    for gradient in gradients(lambda x, y: poincare_distance(x, y, form=form), (q, a)):
        assert np.isfinite(gradient).all()


def test_equal_points_have_distance_and_gradient_zero():
    q = np.float32(NORMS * directions(6, 7))
    assert not distance(q, q).any()
    assert not any(gradient.any() for gradient in gradients(poincare_distance, (q, q)))


@pytest.mark.parametrize("form", ["asinh", "released"])
def test_a_point_that_is_no_number_has_no_distance(form):
    points = np.float32([[np.nan, 0.1], [0.2, 0.1]])
    distances = keras.ops.convert_to_numpy(poincare_distance(points, points[::-1].copy(), form))
    assert np.isnan(distances).all()


@pytest.mark.parametrize("projection", ["clip", "smooth"])
def test_no_points_are_projected_to_none(projection):
    assert projected(np.zeros((0, 3), "float32"), 0.9, projection).shape == (0, 3)


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="compiling on torch takes minutes")
def test_compiled_distance_is_accurate():
    """XLA must not undo the splitting in `one_minus_squared_norm`."""
    sides = [keras.Input((300,)), keras.Input((300,))]
    model = keras.Model(sides, HyperbolicDistance()(sides))
    model.compile(jit_compile=True)
    for name in PAIRS:
        q, a = point_pairs(name, 300)
        actual = model.predict([q, a], batch_size=len(q), verbose=0)
        np.testing.assert_allclose(actual, exact_distance(q, a), rtol=1e-4)


def test_released_form_is_the_printed_formula():
    q, a = np.float32(0.99 * directions(100, 6)), np.float32(0.5 * directions(100, 6))
    x, y = np.float64(q), np.float64(a)
    z = 1 + 2 * np.sum((x - y) ** 2, axis=-1) / (
        (1 - np.sum(x * x, axis=-1)) * (1 - np.sum(y * y, axis=-1)) + 1e-6
    )
    np.testing.assert_allclose(
        distance(q, a, form="released"), np.log(z + np.sqrt(z**2 - 1 + 1e-6)), rtol=1e-5
    )
    np.testing.assert_allclose(distance(q, q, form="released"), np.log(1 + 1e-3), rtol=1e-3)


def points(count):
    """Points of norm 0 to 0.99 in three dimensions; the shape stays fixed, so that JAX compiles once."""

    def place(numbers):
        numbers = np.array(numbers).reshape(count, 4)
        lengths = np.linalg.norm(numbers[:, 1:], axis=-1, keepdims=True)
        return np.float32(0.99 * np.abs(numbers[:, :1]) * numbers[:, 1:] / np.maximum(lengths, 1e-3))

    number = st.floats(-1, 1, width=32)
    return st.lists(number, min_size=4 * count, max_size=4 * count).map(place)


check = settings(max_examples=60, derandomize=True, database=None)


@check
@given(points(3))
def test_distance_is_a_metric(triple):
    table = distance(triple[:, None], triple[None, :])
    np.testing.assert_array_equal(table, table.T)
    assert not np.diag(table).any()
    assert (table >= 0).all()
    assert (table[np.linalg.norm(triple[:, None] - np.float64(triple), axis=-1) > 2e-15] > 0).all()
    assert table[0, 2] <= (table[0, 1] + table[1, 2]) * (1 + 1e-5)


@check
@given(points(3), st.floats(0, 2 * np.pi), st.permutations(range(3)))
def test_distance_is_invariant_under_isometries(triple, angle, axes):
    q, a, by = np.float64(triple)
    rotation = np.eye(3)
    rotation[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    rotation = rotation[list(axes)]
    before = distance(q, a)
    np.testing.assert_allclose(distance(rotation @ q, rotation @ a), before, rtol=1e-3, atol=2e-5)
    by *= 0.8
    np.testing.assert_allclose(distance(moebius_sum(by, q), moebius_sum(by, a)), before, rtol=5e-3, atol=2e-4)


def exact_projection(x, max_norm, projection):
    x = np.float64(x)
    norm = np.linalg.norm(x, axis=-1, keepdims=True)
    if projection == "clip":
        return x * np.minimum(1, max_norm / norm)
    return max_norm * np.tanh(norm) * x / norm


@pytest.mark.parametrize("projection", ["clip", "smooth"])
@pytest.mark.parametrize("max_norm", [0.5, EDGE])
def test_projection_is_the_formula_at_every_length(projection, max_norm):
    x = np.float32(np.geomspace(1e-12, 1e30, 200)[:, None] * directions(200, 12))
    actual = projected(x, max_norm, projection)
    np.testing.assert_allclose(actual, exact_projection(x, max_norm, projection), rtol=2e-6)
    assert np.linalg.norm(np.float64(actual), axis=-1).max() <= max_norm * (1 + 2e-7)
    (gradient,) = gradients(lambda x: project_to_ball(x, max_norm, projection), (x,))
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("dimensions", [2, 200])
def test_points_on_the_edge_are_ranked_as_by_their_angle(dimensions):
    """There distance and cosine have one order (both factors are equal): rounding alone would change it."""
    question = directions(1, dimensions)
    angles = np.linspace(0.05, 1.5, 400)[:, None]
    across = directions(1, dimensions)
    across -= question * (question * across).sum()
    across /= np.linalg.norm(across)
    answers = np.cos(angles) * question + np.sin(angles) * across
    lengths = RNG.uniform(1, 100, (400, 1))
    q, a = projected(3 * question), projected(lengths * answers)
    rest = 1 - np.square(np.float64(a)).sum(axis=-1)
    np.testing.assert_allclose(rest, 1 - EDGE**2, rtol=4e-3)
    found = distance(q, a)
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(found, exact_distance(EDGE * question, EDGE * answers), rtol=1e-3)


@pytest.mark.parametrize("projection", ["clip", "smooth"])
def test_projection_gradient_equals_central_differences(projection):
    x = np.float32(np.array([1e-3, 0.2, 0.7, 0.95, 3.0, 8.0])[:, None] * directions(6, 4))
    weights = RNG.normal(size=x.shape)
    (actual,) = gradients(
        lambda x: keras.ops.multiply(np.float32(weights), project_to_ball(x, 0.8, projection)), (x,)
    )
    (expected,) = central_differences(lambda x: weights * exact_projection(x, 0.8, projection), (x,))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("projection", "slope"), [("clip", 1.0), ("smooth", 0.9)])
def test_projection_at_the_origin(projection, slope):
    zero = np.zeros((2, 3), "float32")
    assert not projected(zero, 0.9, projection).any()
    (gradient,) = gradients(lambda x: project_to_ball(x, 0.9, projection), (zero,))
    np.testing.assert_allclose(gradient, slope, rtol=1e-6)


def test_unknown_options_are_refused():
    x = np.zeros((1, 2), "float32")
    with pytest.raises(ValueError, match="Received: form='cosh'"):
        poincare_distance(x, x, form="cosh")
    with pytest.raises(ValueError, match="Received: projection='cut'"):
        project_to_ball(x, projection="cut")
    for max_norm in (0.0, 1.01, float("nan")):
        with pytest.raises(ValueError, match=f"Received: max_norm={max_norm}"):
            project_to_ball(x, max_norm=max_norm)
