import numpy as np
import pytest
import tensorflow as tf

from models.hyperqa import hyperqa
from training.packed_bag_of_words import PackedBagOfWords
from training.padded_texts import PaddedTexts


def tensors(packed):
    return {name: tf.constant(value) for name, value in packed.items()}


@pytest.fixture
def encoder(make_vectors):
    return hyperqa(make_vectors(), 5, max_norm=0.8, seed=2).get_layer("encoder")


def test_points_and_gradients_equal_those_of_padded_texts(make_split, encoder):
    split = make_split()
    weights = [v.value for v in encoder.trainable_variables]
    results = []
    for encoding in (PackedBagOfWords(encoder), PaddedTexts(encoder)):
        with tf.GradientTape() as tape:
            points = encoding(tensors(encoding.pack(split.questions, split.candidates)))
            loss = tf.reduce_sum(tf.sin(3 * points))
        results.append([points, *tape.gradient(loss, weights)])
    for packed, padded in zip(*results, strict=True):
        np.testing.assert_allclose(packed, padded, rtol=2e-5, atol=2e-6)


def test_gradient_under_dropout_is_that_of_the_plain_formula_with_the_same_mask(make_split, make_vectors):
    model = hyperqa(make_vectors(), 5, embedding_dropout=0.4, seed=2)
    encoding = PackedBagOfWords(model.get_layer("encoder"), seed=9)
    split, step = make_split(), tf.constant(3, tf.int64)
    packed = tensors(encoding.pack(split.questions))
    kernel, bias = encoding.projection.kernel.value, encoding.projection.bias.value
    vectors = tf.gather(encoding.word_vectors.value, packed["words"])
    kept, scale = encoding._kept(tf.shape(vectors), 0.4, step, salt=1)
    counts = np.zeros((len(split.questions), len(packed["words"])), "float32")
    np.add.at(counts, (packed["text_of_token"].numpy(), packed["word_of_token"].numpy()), 1)
    with tf.GradientTape(persistent=True) as tape:
        sums = encoding.sums(packed, step)
        dropped = vectors * tf.cast(kept, tf.float32) * scale
        plain = counts @ tf.nn.relu(dropped @ kernel + bias)
        losses = [tf.reduce_sum(tf.sin(x)) for x in (sums, plain)]
    np.testing.assert_allclose(sums, plain, rtol=1e-5, atol=1e-6)
    for ours, automatic in zip(*(tape.gradient(x, [kernel, bias]) for x in losses), strict=True):
        np.testing.assert_allclose(ours, automatic, rtol=1e-4, atol=1e-5)


def test_gradient_under_dropout_of_texts_is_that_of_the_plain_formula(make_split, make_vectors):
    model = hyperqa(make_vectors(), 5, max_norm=0.8, dropout=0.3, seed=2)
    encoding = PackedBagOfWords(model.get_layer("encoder"), seed=9)
    split, step = make_split(), tf.constant(3, tf.int64)
    packed = tensors(encoding.pack(split.questions))
    kernel, bias = encoding.projection.kernel.value, encoding.projection.bias.value
    words = split.questions.padded()
    with tf.GradientTape(persistent=True) as tape:
        points = encoding(packed, step)
        projected = tf.nn.relu(tf.gather(encoding.word_vectors.value, words) @ kernel + bias)
        sums = tf.reduce_sum(projected * (words > 0)[..., None].astype("float32"), axis=1)
        kept, scale = encoding._kept(tf.shape(sums), 0.3, step, salt=2)
        dropped = sums * tf.cast(kept, tf.float32) * scale
        norms = tf.norm(dropped, axis=-1, keepdims=True)
        plain = dropped * tf.minimum(1.0, 0.8 / norms)
        losses = [tf.reduce_sum(tf.sin(x)) for x in (points, plain)]
    assert not np.array_equal(points, encoding(packed))
    np.testing.assert_allclose(points, plain, rtol=1e-5, atol=1e-6)
    for ours, automatic in zip(*(tape.gradient(x, [kernel, bias]) for x in losses), strict=True):
        np.testing.assert_allclose(ours, automatic, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rate", [0.001, 0.5, 0.9999])
def test_dropout_of_any_rate_leaves_finite_sums(make_split, make_vectors, rate):
    encoder = hyperqa(make_vectors(), 5, embedding_dropout=rate, dropout=rate).get_layer("encoder")
    encoding = PackedBagOfWords(encoder)
    packed = tensors(encoding.pack(make_split().questions))
    assert np.isfinite(encoding(packed, tf.constant(0, tf.int64))).all()


def test_dropout_keeps_the_stated_share_and_the_expectation(encoder):
    encoding = PackedBagOfWords(encoder, seed=1)
    kept, scale = encoding._kept(tf.constant([500, 333]), 0.3, tf.constant(5, tf.int64), salt=1)
    share = float(tf.reduce_mean(tf.cast(kept, tf.float32)))
    # The rate is a multiple of 1/256; five standard errors of 166,500 draws.
    assert abs(share - (1 - 77 / 256)) < 5 * (0.21 / 166_500) ** 0.5
    assert share * scale == pytest.approx(1, abs=0.01)
    again, _ = encoding._kept(tf.constant([500, 333]), 0.3, tf.constant(5, tf.int64), salt=1)
    other, _ = encoding._kept(tf.constant([500, 333]), 0.3, tf.constant(6, tf.int64), salt=1)
    assert np.array_equal(kept, again)
    assert not np.array_equal(kept, other)


def test_padding_for_replicas_changes_nothing(make_split, encoder):
    split = make_split()
    encoding = PackedBagOfWords(encoder)
    parts = [encoding.pack(split.questions), encoding.pack(split.candidates)]
    stacked = encoding.stack(parts)
    for i, part in enumerate(parts):
        padded = encoding(tensors({name: value[i] for name, value in stacked.items()}))
        np.testing.assert_allclose(padded[: part["n_texts"]], encoding(tensors(part)), rtol=1e-6)
