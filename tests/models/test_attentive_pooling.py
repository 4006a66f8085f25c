import keras
import numpy as np
import pytest

from answer_ranking.models.networks.attentive_pooling import (
    ap_bilstm,
    ap_cnn,
    attention_weights,
    qa_bilstm,
    qa_cnn,
)

RANKERS = {"QA-CNN": qa_cnn, "AP-CNN": ap_cnn, "QA-BiLSTM": qa_bilstm, "AP-BiLSTM": ap_bilstm}
SMALL = {
    "QA-CNN": {"filters": 5, "window": 2},
    "AP-CNN": {"filters": 5, "window": 4},
    "QA-BiLSTM": {"units": 3},
    "AP-BiLSTM": {"units": 3},
}
QUESTION, ANSWER = [4, 9, 4], [7, 21, 3, 8, 2]

each = pytest.mark.parametrize("name", RANKERS)


def vectors(n, words=30):
    made = np.random.default_rng(0).normal(size=(words, n)).astype("float32")
    made[0] = 0
    return made


def small(name, n=6, **options):
    model = RANKERS[name](vectors(n), **SMALL[name], **options)
    # Biases of zero would hide a forgotten one.
    rng = np.random.default_rng(1)
    for variable in model.trainable_variables:
        if variable.name == "bias":
            variable.assign(rng.normal(size=variable.shape))
    return model


def weights_of(model, name):
    return [w.astype("float64") for w in model.get_layer("encoder").get_layer(name).get_weights()]


def convolve(z, W, b):
    """Eq. 1: a window of k words around each step; where k is even it reaches one further to the right."""
    k = len(W)
    left = (k - 1) // 2
    padded = np.concatenate([np.zeros((left, z.shape[1])), z, np.zeros((k - 1 - left, z.shape[1]))])
    return np.array([np.einsum("kn,knc->c", padded[t : t + k], W) + b for t in range(len(z))])


def lstm(z, W, U, b):
    """Eq. 3 to 8, with the gates side by side as Keras has them: input, forget, cell, output."""
    h, c = np.zeros(U.shape[0]), np.zeros(U.shape[0])
    states = []
    for x in z:
        i, f, g, o = np.split(x @ W + h @ U + b, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        states.append(h)
    return np.array(states)


def score_by_hand(model, name, question, answer):
    """The whole network in float64, from the paper's equations."""
    z = vectors(6).astype("float64")

    def states(words):
        if name.endswith("CNN"):
            return convolve(z[words], *weights_of(model, "convolution"))
        weights = weights_of(model, "bilstm")
        there, back = lstm(z[words], *weights[:3]), lstm(z[words][::-1], *weights[3:])[::-1]
        return np.concatenate([there, back], axis=1)

    Q, A = states(question).T, states(answer).T
    if name.startswith("QA"):
        q, a = np.tanh(Q.max(axis=1)), np.tanh(A.max(axis=1))
    else:
        U = model.get_layer("matcher").get_layer("attentive_pooling").get_weights()[0].astype("float64")
        G = np.tanh(Q.T @ U @ A)
        g_q, g_a = np.exp(G.max(axis=1)), np.exp(G.max(axis=0))
        q, a = Q @ (g_q / g_q.sum()), A @ (g_a / g_a.sum())
    return q @ a / np.linalg.norm(q) / np.linalg.norm(a)


def batch(*texts, length=None):
    length = length or max(map(len, texts))
    return np.array([[*text, *[0] * (length - len(text))] for text in texts], "int32")


@each
def test_scores_follow_the_equations_in_float64(name):
    model = small(name, seed=5)
    questions, answers = [QUESTION, [11], ANSWER], [ANSWER, QUESTION, [5]]
    expected = [score_by_hand(model, name, *pair) for pair in zip(questions, answers, strict=True)]
    # Padding changes nothing, however long on either side.
    for question_length, answer_length in ((5, 5), (9, 7)):
        x = [batch(*questions, length=question_length), batch(*answers, length=answer_length)]
        np.testing.assert_allclose(model(x), expected, rtol=1e-4, atol=1e-6)
    alone = [model([batch(q), batch(a)]) for q, a in zip(questions, answers, strict=True)]
    np.testing.assert_allclose(np.concatenate(alone), expected, rtol=1e-4, atol=1e-6)


@each
def test_texts_are_encoded_once_for_many_pairs(name):
    model = small(name)
    encoder, matcher = model.get_layer("encoder"), model.get_layer("matcher")
    questions, answers = batch(QUESTION, [11]), batch(ANSWER, [5, 6], [9])
    owner = np.array([0, 1, 1, 0]), np.array([2, 0, 1, 1])
    encoded = [[np.asarray(t) for t in keras.tree.flatten(encoder(side))] for side in (questions, answers)]
    pairs = [tensor[rows] for side, rows in zip(encoded, owner, strict=True) for tensor in side]
    expected = model([questions[owner[0]], answers[owner[1]]])
    assert expected.shape == (4,)
    np.testing.assert_allclose(np.asarray(matcher(pairs)), expected, rtol=1e-5)
    assert len(encoded[0]) == (1 if name.startswith("QA") else 2)


@each
def test_texts_without_words_score_0_and_leave_the_gradients_finite(name):
    model = small(name, train_word_vectors=True)
    model.compile(keras.optimizers.SGD(0.1), loss="mse", run_eagerly=True)
    x = [batch([], QUESTION, []), batch(ANSWER, [], [], length=6)]
    np.testing.assert_array_equal(model(x), np.zeros(3))
    model.train_on_batch(
        [np.concatenate([side, batch(QUESTION, length=side.shape[1])]) for side in x], np.ones(4)
    )
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
    padding = model.get_layer("encoder").get_layer("word_vectors").get_weights()[0][0]
    assert not padding.any()


@pytest.mark.parametrize("name", ["AP-CNN", "AP-BiLSTM"])
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision(name, policy, set_policy):
    expected = small(name)([batch(QUESTION), batch(ANSWER)])
    set_policy(policy)
    model = small(name)
    scores = model([batch(QUESTION), batch(ANSWER)]).numpy()
    assert model.output.dtype == "float32"
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=0.05)


@pytest.mark.parametrize("name", ["QA-CNN", "AP-CNN"])
def test_models_compile_under_xla(name):
    model = small(name)
    inputs = [batch(QUESTION), batch(ANSWER)]
    expected = model(inputs)
    model.compile(keras.optimizers.SGD(0.1), loss="mse", jit_compile=True)
    np.testing.assert_allclose(model.predict(inputs, verbose=0), expected, rtol=1e-4)
    assert np.isfinite(model.train_on_batch(inputs, np.ones(1)))


@pytest.mark.parametrize("name", ["AP-CNN", "AP-BiLSTM"])
def test_attention_of_a_model(name):
    model = small(name)
    of_question, of_answer, G = attention_weights(model, batch(QUESTION, [5]), batch(ANSWER, [6, 7]))
    assert (of_question.shape, of_answer.shape, G.shape) == ((2, 3), (2, 5), (2, 3, 5))
    np.testing.assert_allclose(of_question.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(of_answer.sum(axis=1), 1, rtol=1e-6)
    assert of_question[1].tolist() == [1, 0, 0]
    assert not of_answer[1, 2:].any() and not G[1, 1:].any()
    # Eq. 14 and 16 from G itself.
    g = np.exp(G[0].astype("float64").max(axis=1))
    np.testing.assert_allclose(of_question[0], g / g.sum(), rtol=1e-5)


def test_rankers_without_attention_say_so():
    with pytest.raises(ValueError, match="Received: ranker=QA-CNN"):
        attention_weights(small("QA-CNN"), batch(QUESTION), batch(ANSWER))


@pytest.mark.parametrize(
    "options",
    [{"word_vectors": np.zeros(3)}, {"filters": 0}, {"window": 0}, {"embedding_dropout": 1.5}],
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=r"[Rr]eceived"):
        ap_cnn(**{"word_vectors": vectors(6), **options})
