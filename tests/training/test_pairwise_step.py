"""One training step against HyperQA's formulas, written down in float64 NumPy and differentiated by hand."""

from typing import get_args

import keras
import numpy as np
import pytest

from answer_ranking.models import hyperqa
from answer_ranking.models.encodings import PaddedTexts
from answer_ranking.training import Eq9, Pairwise, PairwiseOptions
from answer_ranking.training.batch_stream import BatchStream

MARGIN, L2, RATE = 0.7, 0.01, 0.05


def eq5(theta, x):
    """The partial derivative of the Poincare distance (Eq. 5)."""
    alpha, beta = 1 - theta @ theta, 1 - x @ x
    gamma = 1 + 2 / (alpha * beta) * (theta - x) @ (theta - x)
    return 4 / (beta * np.sqrt(gamma**2 - 1)) * ((x @ x - 2 * theta @ x + 1) / alpha**2 * theta - x / alpha)


def distance(q, a):
    return np.arccosh(1 + 2 * (q - a) @ (q - a) / ((1 - q @ q) * (1 - a @ a)))


def numpy_step(vectors, weights, split, pairs, max_norm, eq9, clip_norm):
    """Gradient, conversion and SGD update of one step over `pairs` = (question, correct row, wrong row)."""
    kernel, bias, w, b, *of_texts = (np.asarray(v, np.float64) for v in weights)
    w, b = w.item(), b.item()
    size = kernel.shape[1]
    w_q, w_a = np.split(of_texts[0][:, 0], 2) if of_texts else np.zeros((2, size))
    vectors = vectors.astype(np.float64)

    def text(texts, i):
        return vectors[texts.words[texts.offsets[i] : texts.offsets[i + 1]]]

    def encode(z):
        total = np.maximum(z @ kernel + bias, 0).sum(0)
        return total * min(1.0, max_norm / np.linalg.norm(total)), total

    keys = {("q", q) for q, _, _ in pairs} | {("a", r) for _, *rows in pairs for r in rows}
    words = {k: text(split.questions if k[0] == "q" else split.candidates, k[1]) for k in keys}
    point = {k: encode(z)[0] for k, z in words.items()}
    at_point = {k: np.zeros(size) for k in keys}
    loss, dw, db, dw_a = 0.0, 0.0, 0.0, np.zeros(size)
    for q, correct, wrong in pairs:
        q, correct, wrong = ("q", q), ("a", correct), ("a", wrong)
        d_correct, d_wrong = distance(point[q], point[correct]), distance(point[q], point[wrong])
        s_correct = w * d_correct + w_q @ point[q] + w_a @ point[correct] + b
        s_wrong = w * d_wrong + w_q @ point[q] + w_a @ point[wrong] + b
        hinge = MARGIN - s_correct + s_wrong
        if hinge <= 0:
            continue
        loss += hinge
        dw += d_wrong - d_correct
        dw_a += point[wrong] - point[correct]
        for other, sign in ((correct, -1), (wrong, 1)):
            at_point[q] += sign * w * eq5(point[q], point[other])
            at_point[other] += sign * (w * eq5(point[other], point[q]) + w_a)
    d_kernel, d_bias = np.zeros_like(kernel), np.zeros_like(bias)
    for k, z in words.items():
        g = at_point[k]
        if eq9 == "points":
            g = g * (1 - point[k] @ point[k]) ** 2 / 4
        total = encode(z)[1]
        norm = np.linalg.norm(total)
        if norm > max_norm:
            # The derivative of max_norm * total / |total|.
            g = max_norm / norm * (g - total * (total @ g) / norm**2)
        active = (z @ kernel + bias > 0) * g
        d_kernel += z.T @ active
        d_bias += active.sum(0)
    parameters = [kernel, bias, np.array([[w]]), np.array([b])]
    gradients = [d_kernel + 2 * L2 * kernel, d_bias, np.array([[dw + 2 * L2 * w]]), np.array([db])]
    if of_texts:
        # Of one question, the scores of the correct and the wrong answer hold the same w_q . q.
        parameters.append(of_texts[0])
        gradients.append(np.concatenate([np.zeros(size), dw_a])[:, None] + 2 * L2 * of_texts[0])
    if eq9 == "parameters":
        gradients = [g * (1 - (p**2).sum()) ** 2 / 4 for g, p in zip(gradients, parameters, strict=True)]
    if eq9 == "released_code":
        gradients = [g * ((1 - (g**2).sum()) ** 2 + 1e-5) / 4 for g in gradients]
    if eq9 not in ("points", "parameters", "released_code", "none"):
        raise KeyError(f"write the formula of {eq9} down here")
    norm = np.sqrt(sum((g**2).sum() for g in gradients))
    if clip_norm is not None:
        gradients = [g * min(1.0, clip_norm / norm) for g in gradients]
    return loss, [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]


def pairs_of(way):
    """The pairs of the first epoch, as (question, correct row, wrong row)."""
    drawn = way.sampler.draw(0)
    pairs = []
    for i, question in enumerate(drawn.questions):
        rows = drawn.rows[drawn.offsets[i] : drawn.offsets[i + 1]]
        n = drawn.n_correct[i]
        assert way.split.labels[rows[:n]].all()
        pairs += [(question, c, w) for c in rows[:n] for w in rows[n:]]
    return pairs


@pytest.mark.parametrize(
    ("max_norm", "clip_norm", "padded", "raw_embeddings"),
    [(0.5, None, False, False), (0.999, 0.05, True, False), (0.5, 0.05, False, True)],
)
@pytest.mark.parametrize("eq9", get_args(Eq9))
def test_one_step_equals_float64_numpy(
    make_split, make_vectors, eq9, max_norm, clip_norm, padded, raw_embeddings
):
    split, vectors = make_split(), make_vectors(scale=0.1)
    model = hyperqa(vectors, 5, max_norm=max_norm, raw_embeddings=raw_embeddings, seed=3)
    # Away from their first values, so that Eq. 9 at |w_f| = 1 is not a special case.
    model.get_layer("matcher").get_layer("score").set_weights([np.array([[-0.6]]), np.array([0.1])])
    if raw_embeddings:
        of_texts = np.random.default_rng(4).normal(size=(10, 1)) * 0.3
        model.get_layer("matcher").get_layer("score_of_texts").set_weights([of_texts])
    options = {"batch_size": 100, "foreign_negatives": 2, "margin": MARGIN, "l2": L2}
    way = Pairwise(split, PairwiseOptions(eq9=eq9, clip_norm=clip_norm, **options))
    pairs = pairs_of(way)
    before = [v.numpy() for v in model.trainable_variables]
    loss, expected = numpy_step(vectors, before, split, pairs, max_norm, eq9, clip_norm)
    trainer = way.trainer(model)
    if padded:
        trainer.encoding = PaddedTexts(model.get_layer("encoder"))
    trainer.compile(optimizer=keras.optimizers.SGD(RATE), run_eagerly=True)
    history = trainer.fit(BatchStream(way, trainer).dataset(), verbose=0).history
    assert history["loss"][0] == pytest.approx(loss / len(pairs), rel=1e-4)
    for variable, start, value in zip(model.trainable_variables, before, expected, strict=True):
        moved = np.abs(value - start).max()
        np.testing.assert_allclose(variable.numpy(), value, atol=2e-3 * moved + 1e-6, err_msg=variable.path)
