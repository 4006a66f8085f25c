"""Cosinet and Compare-Aggregate against the formulas in float64 NumPy and the paper's numbers."""

import itertools

import keras
import numpy as np
import pytest
from field_numpy import convolve, lstm, relu

from answer_ranking.models.networks.compare_aggregate import clipped_compare_aggregate, compare_aggregate
from answer_ranking.models.networks.cosinet import cosinet
from answer_ranking.models.networks.pair_ranking import ACROSS, printed_parameters

BUILDERS = {cosinet: {"filters": 6}, compare_aggregate: {"dimension": 5, "filters": 4, "widths": (2, 3)}}
QUESTIONS = np.array([[4, 9, 4, 0], [3, 1, 8, 2]], "int32")
# Row 1 of the word vectors is zero: a word without a vector. One list is shorter than the other one.
LISTS = np.array(
    [
        [[7, 21, 9, 0, 0, 0], [5, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6]],
        [[8, 8, 2, 1, 0, 0], [11, 12, 13, 14, 0, 0], [0, 0, 0, 0, 0, 0]],
    ],
    "int32",
)

PADDED = np.pad(QUESTIONS, ((0, 0), (0, 3))), np.pad(LISTS, ((0, 0), (0, 2), (0, 5)))

each = pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.__name__)
# What reads across a list is the same layer in both models.
KINDS = [*itertools.product([cosinet], ACROSS), (compare_aggregate, "none"), (compare_aggregate, "bilstm")]
each_kind = pytest.mark.parametrize(("builder", "across"), KINDS)


def vectors(n=7, words=30):
    made = np.random.default_rng(0).normal(size=(words, n)).astype("float32") * 0.5
    made[0] = 3.0  # the model must not look at the row of padding
    made[1] = 0.0
    return made


def small(builder, **options):
    """Makes a small model whose biases are not zero."""
    model = builder(vectors(), **{**BUILDERS[builder], "seed": 5, **options})
    rng = np.random.default_rng(8)
    for variable in model.trainable_variables:
        if "bias" in variable.path:
            variable.assign(rng.normal(size=variable.shape) * 0.3)
    return model


def predict(model, questions=QUESTIONS, texts=LISTS):
    # Called rather than `predict`, which compiles first: that takes longer than the tests themselves.
    return keras.ops.convert_to_numpy(model([questions, texts]))


def weights(model, layer):
    return [np.float64(weight) for weight in model.get_layer(layer).get_weights()]


# The formulas, on lists of word numbers without padding ----------------------------------------------------


def pooled_convolution(words, kernel, bias):
    return relu(convolve(words, kernel, bias)).max(axis=0)


def pair_vector(q, a):
    return np.concatenate([q * a, q - a])


def cosinet_pair(model, question, answer):
    z = np.float64(vectors())
    q, a = z[question], z[answer]
    norms = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(a, axis=1)[None]
    r = np.divide(q @ a.T, norms, out=np.zeros(norms.shape), where=norms > 0)
    q = np.column_stack([q, r.max(axis=1)])
    a = np.column_stack([a, r.max(axis=0)])
    return pair_vector(
        pooled_convolution(q, *weights(model, "question_convolution")),
        pooled_convolution(a, *weights(model, "answer_convolution")),
    )


def attention(energies, threshold=0.0):
    """Each row's weights, those up to the threshold left out."""
    kept = np.exp(energies) / np.exp(energies).sum(axis=1, keepdims=True)
    kept[kept <= threshold] = 0
    total = kept.sum(axis=1, keepdims=True)
    return np.divide(kept, total, where=total > 0, out=kept)


def compared_texts(model, question, answer, threshold=0.0):
    z = np.float64(vectors())
    (W_i, b_i), (W_u, b_u) = weights(model, "gate"), weights(model, "content")
    q, a = (np.tanh(z[x] @ W_u + b_u) / (1 + np.exp(-(z[x] @ W_i + b_i))) for x in (question, answer))
    compared = {
        "question": q * (attention(q @ a.T, threshold) @ a),
        "answer": a * (attention(a @ q.T, threshold) @ q),
    }
    pooled = []
    for name, x in compared.items():
        both = [pooled_convolution(x, *weights(model, f"{name}_convolution_{i}")) for i in (1, 2)]
        pooled.append(np.concatenate(both))
    return pooled


def compare_aggregate_pair(model, question, answer):
    return pair_vector(*compared_texts(model, question, answer))


PAIRS = {cosinet: cosinet_pair, compare_aggregate: compare_aggregate_pair}


def run(inputs, kernel, recurrent, bias):
    """A recurrent network over the rows: an LSTM where there are four gates."""
    if len(bias) > len(recurrent):
        return lstm(inputs, kernel, recurrent, bias)
    states = [np.zeros(len(recurrent))]
    for x in inputs:
        states.append(np.tanh(x @ kernel + states[-1] @ recurrent + bias))
    return np.array(states[1:])


def list_scores(model, builder, across, question, answers):
    x = np.array([PAIRS[builder](model, question, answer) for answer in answers])
    if across != "none":
        w = weights(model, "across")
        forth = run(x, *w[:3])
        x = np.column_stack([forth, run(x[::-1], *w[3:])[::-1]]) if len(w) == 6 else forth
    W, b = weights(model, "score")
    return (x @ W + b)[:, 0]


@each
def test_pointwise_scores_follow_the_formulas_in_float64(builder):
    model = small(builder)
    pairs = [(i, j) for i, j in np.ndindex(2, 3) if LISTS[i, j].any()]
    scores = predict(model, np.stack([QUESTIONS[i] for i, _ in pairs]), np.stack([LISTS[p] for p in pairs]))
    assert scores.shape == (5,)
    assert scores.dtype == np.float32
    for (i, j), score in zip(pairs, scores, strict=True):
        question, answer = QUESTIONS[i][QUESTIONS[i] > 0], LISTS[i, j][LISTS[i, j] > 0]
        (expected,) = list_scores(model, builder, "none", question, [answer])
        assert score == pytest.approx(expected, rel=1e-4, abs=1e-5)


@each_kind
def test_listwise_scores_follow_the_formulas_in_float64_whatever_the_padding(builder, across):
    model = small(builder, objective="listwise", across=across)
    scores = predict(model)
    assert_follows_the_formulas(scores, model, builder, across)
    assert_padding_changes_nothing(scores, model)
    assert_gradients_are_finite_and_blind_to_padding(model)


def assert_follows_the_formulas(scores, model, builder, across):
    assert scores.shape == (2, 3)
    assert scores.dtype == np.float32
    for question, answers, row in zip(QUESTIONS, LISTS, scores, strict=True):
        real = [answer[answer > 0] for answer in answers if answer.any()]
        expected = list_scores(model, builder, across, question[question > 0], real)
        np.testing.assert_allclose(row[: len(real)], expected, rtol=1e-4, atol=1e-5)
        assert not row[len(real) :].any()


def assert_padding_changes_nothing(expected, model):
    padded = predict(model, *PADDED)
    np.testing.assert_allclose(padded[:, :3], expected, rtol=1e-5, atol=1e-6)
    assert not padded[:, 3:].any()
    # A list is scored alike beside a longer one and alone: the way back starts at the last real candidate.
    alone = predict(model, QUESTIONS[1:], LISTS[1:, :2])
    np.testing.assert_allclose(alone, expected[1:, :2], rtol=1e-5, atol=1e-6)
    apart = predict(model, QUESTIONS[1:], LISTS[1:, [0, 2, 1]])
    np.testing.assert_allclose(apart[:, [0, 2]], expected[1:, :2], rtol=1e-5, atol=1e-6)


def assert_gradients_are_finite_and_blind_to_padding(model):
    import tensorflow as tf

    def gradients(questions, texts):
        with tf.GradientTape() as tape:
            loss = keras.ops.sum(keras.ops.square(model([questions, texts])))
        return tape.gradient(loss, model.trainable_variables)

    found = gradients(QUESTIONS, LISTS)
    padded = gradients(*PADDED)
    for variable, gradient, same in zip(model.trainable_variables, found, padded, strict=True):
        assert np.isfinite(gradient).all(), variable.path
        assert np.any(gradient), variable.path
        np.testing.assert_allclose(gradient, same, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("threshold", [0, 0.3])
def test_clipped_attention_follows_the_authors_code_in_float64(threshold):
    options = BUILDERS[compare_aggregate]
    model = clipped_compare_aggregate(vectors(), threshold=threshold, seed=5, **options)
    dense = {
        layer: weights(model, layer) for layer in ("question_vector", "answer_vector", "pair_vector", "score")
    }
    for question, answers, row in zip(QUESTIONS, LISTS, predict(model), strict=True):
        for answer, score in zip(answers, row, strict=True):
            if not answer.any():
                assert score == 0
                continue
            pair = compared_texts(model, question[question > 0], answer[answer > 0], threshold)
            sides = []
            for layer, x in zip(("question_vector", "answer_vector"), pair, strict=True):
                sides.append(np.tanh(x @ dense[layer][0] + dense[layer][1]))
            x = np.tanh(np.concatenate(sides) @ dense["pair_vector"][0] + dense["pair_vector"][1])
            assert score == pytest.approx(
                (x @ dense["score"][0] + dense["score"][1]).item(), rel=1e-4, abs=1e-6
            )


@each
def test_a_question_without_words_or_candidates_is_finite(builder):
    model = small(builder, objective="listwise", across="bilstm")
    assert np.isfinite(predict(model, np.zeros_like(QUESTIONS), LISTS)).all()
    assert not predict(model, QUESTIONS, np.zeros_like(LISTS)).any()


PRINTED = {
    # Table 4 of the paper prints these rounded to 904k, 1.17M, 1.12M, 1.99M, 1.81M and 2.89M, ... 10.81M.
    (cosinet, "none"): (904_201, 0),
    (cosinet, "rnn"): (1_174_501, 300),
    (cosinet, "birnn"): (1_129_501, 300),
    (cosinet, "lstm"): (1_986_301, 1200),
    (cosinet, "bilstm"): (1_806_301, 1200),
    (compare_aggregate, "none"): (2_886_601, 0),
    (compare_aggregate, "rnn"): (5_045_401, 600),
    (compare_aggregate, "birnn"): (4_865_401, 600),
    (compare_aggregate, "lstm"): (11_529_001, 2400),
    (compare_aggregate, "bilstm"): (10_809_001, 2400),
}


@pytest.mark.parametrize(("builder", "across"), PRINTED, ids=lambda value: getattr(value, "__name__", value))
def test_parameters_are_the_paper_s(builder, across):
    printed, second_biases = PRINTED[builder, across]
    for objective in ("pointwise", "listwise") if across == "none" else ("listwise",):
        model = builder(vectors(300), objective=objective, across=across)
        assert printed_parameters(model) == printed
        trainable = sum(np.prod(v.shape) for v in model.trainable_variables)
        assert trainable == printed - second_biases
        assert not any("word_vectors" in v.path for v in model.trainable_variables)


def test_unit_words_are_those_of_vectors_divided_by_their_lengths():
    lengths = np.linalg.norm(np.float64(vectors()), axis=1, keepdims=True)
    divided = np.divide(vectors(), lengths, where=lengths > 0, out=np.zeros_like(vectors()))
    expected = small(cosinet, objective="listwise", across="birnn")
    raw = predict(expected)
    expected.get_layer("word_vectors").embeddings.assign(divided)
    unit = predict(small(cosinet, objective="listwise", across="birnn", unit_words=True))
    np.testing.assert_allclose(unit, predict(expected), atol=1e-6)
    assert np.abs(unit - raw).max() > 1e-3


@each
def test_dropout_is_for_training_alone(builder):
    model = small(builder, dropout=0.5, embedding_dropout=0.5)
    plain = small(builder)
    inputs = [QUESTIONS, LISTS[:, 0]]
    np.testing.assert_array_equal(predict(model, *inputs), predict(plain, *inputs))
    assert (np.array(model(inputs, training=True)) != np.array(model(inputs, training=False))).any()
