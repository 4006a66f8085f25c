import keras
import numpy as np
import pytest
from field_numpy import mlp, sigmoid, weights_of

from answer_ranking.models.networks.ctrn import ctrn, features_alone, qrnn

RNG = np.random.default_rng(0)


QUESTION = np.array([[3, 4, 9, 0], [5, 0, 0, 0]], "int32")
ANSWER = np.array([[7, 8, 0], [2, 11, 4]], "int32")


def vectors(n, words=30):
    return RNG.normal(size=(words, n)).astype("float32")


@pytest.mark.parametrize(("build", "alignment"), [(ctrn, "index"), (ctrn, "scaled"), (qrnn, None)])
def test_scores_follow_the_equations_in_float64(build, alignment):
    z = vectors(6)
    crossing = {} if alignment is None else {"alignment": alignment}
    model = build(z, 4, projection=5, hidden=(3, 3), n_features=2, seed=4, **crossing)
    weights = weights_of(model)

    def weight(name):
        return next(value for path, value in weights.items() if name in path)

    features = np.float64(RNG.normal(size=2))
    texts = []
    for words in (QUESTION[0], ANSWER[0]):
        x = np.float64(z)[words[words > 0]] @ weight("projection")
        before = np.vstack([np.zeros(5), x[:-1]])
        convolved = [
            before @ weight(f"{name}_kernel")[0] + x @ weight(f"{name}_kernel")[1]
            for name in ("candidate", "forget", "output")
        ]
        texts.append((np.tanh(convolved[0]), sigmoid(convolved[1]), sigmoid(convolved[2])))

    def pool(candidates, forgets, outputs):
        c, hidden = np.zeros(4), []
        n, m = len(candidates), len(forgets)
        # t* counts from 1; with gates of its own text it is t, since ceil(n / n) is 1.
        factor = -(-max(n, m) // min(n, m)) if alignment == "scaled" else 1
        for t, candidate in enumerate(candidates, start=1):
            f, o = (gate[min(t * factor, m) - 1] for gate in (forgets, outputs))
            c = f * c + (1 - f) * candidate
            hidden.append(o * c)
        return np.array(hidden)

    means = []
    for own, partner in (texts, texts[::-1]):
        hidden = pool(*own)
        if build is ctrn:
            hidden = hidden * pool(own[0], *partner[1:])
        means.append(hidden.mean(axis=0))
    expected = mlp(np.concatenate([*means, features]), weights, ("hidden_1", "hidden_2", "logits"))
    inputs = [QUESTION[:1], ANSWER[:1], np.float32(features[None])]
    assert (len(texts[0][0]), len(texts[1][0])) == (3, 2)  # where the two alignments differ
    assert np.asarray(model(inputs)).item() == pytest.approx(expected, rel=1e-4)


def test_binary_cross_entropy_of_the_score_is_the_cross_entropy_of_the_softmax():
    model = ctrn(vectors(6), 4)
    both = keras.Model(model.inputs, [model.output, model.get_layer("logits").output])
    scores, logits = map(np.asarray, both([QUESTION, ANSWER]))
    labels = np.array([0, 1])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)(labels, scores)
    softmax = np.exp(np.float64(logits)) / np.exp(np.float64(logits)).sum(axis=1, keepdims=True)
    assert float(loss) == pytest.approx(-np.log(softmax[np.arange(2), labels]).mean(), rel=1e-5)


def test_features_alone_are_an_mlp_over_the_features_and_nothing_else():
    model = features_alone(4, hidden=(5, 3), seed=2)
    features = RNG.normal(size=(2, 4)).astype("float32")
    expected = [mlp(each, weights_of(model), ("hidden_1", "hidden_2", "logits")) for each in features]
    scores = np.asarray(model([QUESTION, ANSWER, features]))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    # The words are taken, of whatever length, and not looked at.
    np.testing.assert_array_equal(np.asarray(model([ANSWER + 1, QUESTION, features])), scores)
