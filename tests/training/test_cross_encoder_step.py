"""Steps of a cross-encoder: the gradient against differences of the loss in NumPy and float64."""

import numpy as np
import pytest
import tensorflow as tf
from bert_numpy import reference_score

from answer_ranking.data_prep.word_vectors.bert_states import BertStates
from answer_ranking.models.networks.cross_encoder import cross_encoder
from answer_ranking.training import Listwise, ListwiseOptions, Pointwise, PointwiseOptions


def losses_in_numpy(weights, config, score, batch, pooling):
    """Mean cross entropy of pairs, or the mean divergence of lists from their labels."""
    if "answer" in batch:
        scores = [
            reference_score(weights, config, score, (q[q > 0], a[a > 0]), pooling=pooling)
            for q, a in zip(batch["question"], batch["answer"], strict=True)
        ]
        return np.mean(np.log1p(np.exp(np.where(batch["label"] > 0, -1, 1) * np.array(scores))))
    divergences = []
    for question, answers, label in zip(batch["question"], batch["answers"], batch["label"], strict=True):
        real = answers.any(-1)
        texts = [answer[answer > 0] for answer in answers[real]]
        scores = np.array(
            [
                reference_score(weights, config, score, (question[question > 0], a), pooling=pooling)
                for a in texts
            ]
        )
        log_q, p = scores - np.log(np.exp(scores).sum()), np.float64(label[real])
        divergences.append(np.sum(p[p > 0] * (np.log(p[p > 0]) - log_q[p > 0])))
    return np.mean(divergences)


@pytest.mark.parametrize(("objective", "pooling"), [("pointwise", "cls"), ("listwise", "mean")])
def test_a_step_s_gradient_is_that_of_the_equations(encoder, make_split, objective, pooling):
    listwise = objective == "listwise"
    split = make_split(n_questions=3, words=40, longest=5)
    # Weights of the size of 1 make softmax and GELU bend too much for differences.
    small = {name: values * np.float32(0.4) for name, values in encoder.weights.items()}
    kinds = (Listwise, ListwiseOptions) if listwise else (Pointwise, PointwiseOptions)
    options = {"objective": objective, "most_pieces": 12, "dropout": 0.0, "pooling": pooling}
    model = cross_encoder(encoder, **options)
    model.get_layer("pair_states").start_from(small)
    model.get_layer("score").kernel.assign(model.get_layer("score").kernel * 30)
    method = kinds[0](split, kinds[1](batch_size=100, l2=0.0))
    trainer, (batch,) = method.trainer(model), list(method.batches(None, 0))
    weights = [variable.value for variable in model.trainable_variables]
    tensors = {name: tf.constant(array) for name, array in batch.items()}
    losses, counts, gradients = trainer.losses_and_gradients(tensors, weights)
    score = model.get_layer("score").get_weights()

    def loss(changed):
        return losses_in_numpy(changed, encoder.config, score, batch, pooling)

    assert tf.reduce_sum(losses * counts).numpy() == pytest.approx(loss(small), rel=1e-5)
    joined = dict(zip(encoder.config.joined_shapes(), gradients, strict=False))
    rng, step, compared = np.random.default_rng(0), 1e-5, []
    for name, found in joined.items():
        found = found.numpy()
        # What of the whole gradient is largest, and some other places.
        flat = [int(np.abs(found).argmax()), *rng.integers(found.size, size=2)]
        for place in (np.unravel_index(each, found.shape) for each in flat):
            ends = []
            for sign in (1, -1):
                changed = changed_at(small, encoder.config, name, place, sign * step)
                ends.append(loss(changed))
            compared.append((found[place], (ends[0] - ends[1]) / (2 * step), name))
    largest = max(abs(value) for _, value, _ in compared)
    assert largest > 1e-3
    for found, expected, name in compared:
        assert found == pytest.approx(expected, abs=1e-4 * largest + 1e-7), name


def changed_at(weights, config, name, place, by):
    """Change one number of a weight, in float64; of joined projections that of the query, key or value."""
    weights = {key: values.astype(np.float64) for key, values in weights.items()}
    if ".self.all." in name:
        part, row = divmod(place[0], config.hidden)
        name = name.replace("all", ("query", "key", "value")[part])
        place = (row, *place[1:])
    weights[name][place] += by
    return weights


def test_training_changes_every_weight_and_dropout_draws_anew(encoder, make_split):
    model = cross_encoder(encoder, most_pieces=12, dropout=0.2, seed=1)
    method = Pointwise(make_split(words=40), PointwiseOptions(batch_size=1000, learning_rate=1e-3))
    trainer, (batch,) = method.trainer(model), list(method.batches(None, 0))
    pair = [batch["question"], batch["answer"]]
    drawn = [model(pair, training=True).numpy() for _ in range(2)]
    assert np.abs(drawn[0] - drawn[1]).max() > 1e-3
    np.testing.assert_array_equal(model(pair).numpy(), model(pair).numpy())
    before = [variable.numpy() for variable in model.trainable_variables]
    trainer.compile(optimizer="sgd", jit_compile=False)
    trainer.train_step({name: tf.constant(array) for name, array in batch.items()})
    moved = [(now.numpy() != old).any() for now, old in zip(model.trainable_variables, before, strict=True)]
    assert all(moved) and len(moved) == len(encoder.config.joined_shapes()) + 2
    n = sum(values.size for values in encoder.weights.values())
    assert sum(values.size for values in before) == n + encoder.config.hidden + 1


def test_dropout_has_the_places_of_bert(encoder):
    shapes = []

    def drop(x):
        shapes.append(tuple(x.shape))
        return x

    weights = encoder.config.join_projections(encoder.weights)
    states = BertStates(encoder.config, {name: tf.constant(each) for name, each in weights.items()}, drop)
    states(tf.constant([[2, 9, 12, 10, 3], [2, 9, 3, 0, 0]]), tf.constant([5, 3]))
    # The embeddings; then a layer's shares of attention, and what its two sublayers add.
    texts, heads, longest, hidden = 2, 2, 5, 8
    of_layer = [(texts, heads, longest, longest), *[(texts * longest, hidden)] * 2]
    assert shapes == [(texts * longest, hidden), *of_layer * 2]
