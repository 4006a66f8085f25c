import keras
import numpy as np
import pytest
from field_numpy import convolve, lstm

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


def test_rankers_without_attention_say_so():
    with pytest.raises(ValueError, match="Received: ranker=QA-CNN"):
        attention_weights(small("QA-CNN"), batch(QUESTION), batch(ANSWER))
