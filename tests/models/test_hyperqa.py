import numpy as np
import pytest

from answer_ranking.models.networks.hyperqa import hyperqa


def vectors(n, words=30):
    made = np.random.default_rng(0).normal(size=(words, n)).astype("float32") * 0.2
    made[0] = 0
    return made


def test_raw_embeddings_add_a_weight_for_each_of_their_entries():
    model = hyperqa(vectors(300), 150, raw_embeddings=True)
    assert sum(np.prod(v.shape) for v in model.trainable_variables) == 45_152 + 2 * 150
    # They start as if they were not there.
    inputs = [np.array([[3, 4]], "int32"), np.array([[5, 6]], "int32")]
    plain = np.asarray(hyperqa(vectors(300), 150)(inputs))
    np.testing.assert_array_equal(np.asarray(model(inputs)), plain)


def test_without_a_projection_the_score_is_the_cosine_of_the_mean_vectors():
    z = vectors(6)
    model = hyperqa(z, None, similarity="cosine")
    q, a = z[[4, 9, 4]].mean(0), z[[7, 21]].mean(0)
    score = np.asarray(model([np.array([[4, 9, 4]]), np.array([[7, 21, 0]])])).item()
    assert score == pytest.approx(q @ a / np.linalg.norm(q) / np.linalg.norm(a), rel=1e-5)
    assert [v.shape for v in model.trainable_variables] == [(1, 1), (1,)]


@pytest.mark.parametrize("dimension", [12, 7])
def test_a_mirrored_start_keeps_the_whole_vector(dimension):
    z = vectors(6)
    model = hyperqa(z, dimension, start="mirrored", seed=3)
    kernel = model.get_layer("encoder").get_layer("projection").get_weights()[0]
    half = (dimension + 1) // 2
    projected = np.maximum(z @ kernel, 0)
    if dimension == 12:  # Two halves of all six: their difference is the vector, turned.
        whole = projected[:, :half] - projected[:, half:]
        np.testing.assert_allclose(whole @ whole.T, z @ z.T, atol=1e-5)
    np.testing.assert_allclose(kernel[:, :half].T @ kernel[:, :half], np.eye(half), atol=1e-5)


@pytest.mark.parametrize("pooling", ["sum", "mean"])
@pytest.mark.parametrize("raw_embeddings", [False, True])
@pytest.mark.parametrize("similarity", ["hyperbolic", "cosine"])
def test_scores_follow_the_equations_in_float64(similarity, raw_embeddings, pooling):
    z = vectors(6)
    options = {"similarity": similarity, "raw_embeddings": raw_embeddings, "pooling": pooling}
    model = hyperqa(z, 4, max_norm=0.9, seed=5, **options)
    of_texts = np.zeros(8)
    if raw_embeddings:
        of_texts = np.random.default_rng(2).normal(size=8)
        model.get_layer("matcher").get_layer("score_of_texts").set_weights([of_texts[:, None]])
    question, answer = [4, 9, 4], [7, 21]
    projection = model.get_layer("encoder").get_layer("projection")
    W, b = (w.astype("float64") for w in projection.get_weights())

    def point(words):
        text = getattr(np.maximum(z[words].astype("float64") @ W + b, 0), pooling)(axis=0)
        return text * min(1, 0.9 / np.linalg.norm(text))

    q, a = point(question), point(answer)
    if similarity == "hyperbolic":
        expected = -np.arccosh(1 + 2 * (q - a) @ (q - a) / ((1 - q @ q) * (1 - a @ a)))
    else:
        expected = q @ a / np.linalg.norm(q) / np.linalg.norm(a)
    expected += of_texts @ np.concatenate([q, a])
    # Padding changes nothing.
    for padding in (0, 3):
        inputs = [np.array([words + [0] * padding], "int32") for words in (question, answer)]
        assert np.asarray(model(inputs)).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("similarity", "raw_embeddings"), [("hyperbolic", True), ("cosine", False)])
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_close_candidates_keep_their_order_under_mixed_precision(
    set_policy, policy, similarity, raw_embeddings
):
    """Near the edge of the ball, where half precision holds but a few different distances."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(201, 8)) + 9 * np.eye(8)[0]
    points = np.float32((1 - 1e-5) * points / np.linalg.norm(points, axis=1, keepdims=True))
    pairs = [np.repeat(points[:1], 200, axis=0), points[1:]]
    set_policy(policy)
    model = hyperqa(vectors(6), 8, similarity=similarity, raw_embeddings=raw_embeddings)
    scores = model.get_layer("matcher")(pairs).numpy()
    q, a = (x.astype("float64") for x in pairs)
    if similarity == "cosine":
        expected = np.sum(q * a, 1) / np.linalg.norm(q, axis=1) / np.linalg.norm(a, axis=1)
    else:
        squares = [1 - np.sum(x * x, 1) for x in (q, a)]
        expected = -np.arccosh(1 + 2 * np.sum((q - a) ** 2, 1) / (squares[0] * squares[1]))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-3)
    assert len(np.unique(scores)) > 190


def test_sums_beyond_float16_are_ranked_under_mixed_precision(set_policy):
    z = np.full((3, 6), 90.0, "float32")
    z[0] = 0
    set_policy("mixed_float16")
    model = hyperqa(z, 4, max_norm=0.9)
    # A word counts 60,000 in every entry of a text's sum, of which float16 holds one, but not two.
    model.get_layer("encoder").get_layer("projection").set_weights([np.full((6, 4), 111.0), np.zeros(4)])
    scores = np.asarray(model([np.array([[1, 2]]), np.array([[2, 1]])]))
    # Both lie on the edge in the same direction.
    np.testing.assert_allclose(scores, [0.0], atol=1e-3)
