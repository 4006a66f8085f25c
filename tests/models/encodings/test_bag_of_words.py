import numpy as np
import pytest
import tensorflow as tf

from answer_ranking.models.encodings import BagOfWords, PaddedTexts
from answer_ranking.models.networks.hyperqa import hyperqa


def tensors(packed):
    return {name: tf.constant(value) for name, value in packed.items()}


@pytest.fixture(params=["sum", "mean"])
def encoder(make_vectors, request):
    return hyperqa(make_vectors(), 5, max_norm=0.8, pooling=request.param, seed=2).get_layer("encoder")


def test_points_and_gradients_equal_those_of_padded_texts(make_texts, encoder):
    questions, candidates = make_texts(12), make_texts(60, seed=1)
    weights = [v.value for v in encoder.trainable_variables]
    results = []
    for encoding in (BagOfWords(encoder), PaddedTexts(encoder)):
        points, pull_back = encoding.with_pull_back(tensors(encoding.pack(questions, candidates)))
        results.append([points, *pull_back(3 * tf.cos(3 * points))])
    with tf.GradientTape() as tape:
        points = encoder(np.concatenate([pad(questions.padded(), 8), pad(candidates.padded(), 8)]))
        loss = tf.reduce_sum(tf.sin(3 * points))
    for packed, padded, automatic in zip(*results, [points, *tape.gradient(loss, weights)], strict=True):
        np.testing.assert_allclose(packed, automatic, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(padded, automatic, rtol=2e-5, atol=2e-6)


def pad(words, length):
    return np.pad(words, ((0, 0), (0, length - words.shape[1])))


def test_gradient_under_dropout_is_that_of_the_plain_formula_with_the_same_masks(make_texts, make_vectors):
    model = hyperqa(make_vectors(), 5, max_norm=0.8, embedding_dropout=0.4, dropout=0.3, seed=2)
    encoding = BagOfWords(model.get_layer("encoder"))
    questions = make_texts(12)
    packed = tensors(encoding.pack(questions, rng=np.random.default_rng(9)))
    kernel, bias = encoding.projection.kernel.value, encoding.projection.bias.value
    vectors = tf.gather(encoding.word_vectors.value, packed["words"])
    counts = np.zeros((len(questions), len(packed["words"])), "float32")
    np.add.at(counts, tuple(packed["word_of_token"].numpy().T), 1)
    # Dropout rounds its rate to a multiple of 1/256: 0.4 to 102 of them, 0.3 to 77.
    with tf.GradientTape() as tape:
        dropped = vectors * tf.cast(packed["kept_of_words"], tf.float32) * (256 / 154)
        sums = counts @ tf.nn.relu(dropped @ kernel + bias)
        sums = sums * tf.cast(packed["kept_of_texts"], tf.float32) * (256 / 179)
        # The sum of a text of which dropout keeps nothing is zero.
        norms = tf.sqrt(tf.maximum(tf.reduce_sum(sums**2, axis=-1, keepdims=True), 1e-30))
        plain = sums * tf.minimum(1.0, 0.8 / norms)
        loss = tf.reduce_sum(tf.sin(plain))
    points, pull_back = encoding.with_pull_back(packed)
    assert not np.allclose(points, encoding(packed), atol=0.01)
    np.testing.assert_allclose(points, plain, rtol=1e-5, atol=1e-6)
    for ours, automatic in zip(pull_back(tf.cos(points)), tape.gradient(loss, [kernel, bias]), strict=True):
        np.testing.assert_allclose(ours, automatic, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rate", [0.001, 0.5, 0.9999])
def test_dropout_of_any_rate_leaves_finite_sums(make_texts, make_vectors, rate):
    encoder = hyperqa(make_vectors(), 5, embedding_dropout=rate, dropout=rate).get_layer("encoder")
    encoding = BagOfWords(encoder)
    points, pull_back = encoding.with_pull_back(
        tensors(encoding.pack(make_texts(12), rng=np.random.default_rng(0)))
    )
    assert all(np.isfinite(x).all() for x in (points, *pull_back(points)))


def test_dropout_keeps_the_stated_share_and_the_seed_decides(make_texts, make_vectors):
    texts = make_texts(1500, words=500)
    model = hyperqa(make_vectors(500, 333), 5, embedding_dropout=0.3)
    encoding = BagOfWords(model.get_layer("encoder"))
    masks = [encoding.pack(texts, rng=np.random.default_rng(seed))["kept_of_words"] for seed in (1, 1, 2)]
    # The rate is a multiple of 1/256; five standard errors of some 166,000 draws.
    assert masks[0].size > 160_000
    assert abs(masks[0].mean() - (1 - 77 / 256)) < 5 * (0.21 / 160_000) ** 0.5
    assert np.array_equal(masks[0], masks[1])
    assert not np.array_equal(masks[0], masks[2])
