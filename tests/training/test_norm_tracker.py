import itertools

import numpy as np
import pytest

from answer_ranking.data_prep import encode_dataset, load_dataset
from answer_ranking.models import hyperqa
from answer_ranking.training import NormTracker, Pairwise, PairwiseOptions, fit

QUANTILES = NormTracker.QUANTILES
MAX_NORM = 0.7


def test_norms_are_those_of_the_sums_of_projected_words():
    data = encode_dataset(load_dataset("sample"))
    # So short that some texts lie within the ball and some on its edge.
    vectors = np.random.default_rng(0).normal(size=(len(data.vocabulary), 5)).astype("float32") * 0.05
    vectors[0] = 0
    model = hyperqa(vectors, 8, max_norm=MAX_NORM, seed=3)
    kernel, bias = (np.asarray(w, np.float64) for w in model.get_layer("encoder").trainable_variables)
    projected = np.maximum(vectors.astype(np.float64) @ kernel + bias, 0)

    def norms(texts):
        pairs = itertools.pairwise(texts.offsets)
        return np.array([np.linalg.norm(projected[texts.words[a:b]].sum(axis=0)) for a, b in pairs])

    tracker = NormTracker(data.dev, MAX_NORM)
    way = Pairwise(data.train, PairwiseOptions(epochs=2))
    result = fit(model, way, dev=data.dev, callbacks=[tracker], verbose=False)
    assert len(tracker.rows) == 3
    first = tracker.rows[0]
    expected = {
        "questions": norms(data.dev.questions),
        "answers": norms(data.dev.candidates.texts)[data.dev.candidates.index],
    }
    for side, before in expected.items():
        assert first[side]["before"] == pytest.approx(np.quantile(before, QUANTILES), rel=1e-5)
        after = np.minimum(before, MAX_NORM)
        assert first[side]["after"] == pytest.approx(np.quantile(after, QUANTILES), rel=1e-5)
        assert first[side]["on_edge"] == pytest.approx((before >= MAX_NORM).mean())
    assert 0 < first["answers"]["on_edge"] < 1
    assert tracker.rows[1] != first
    assert all(0 < epoch["edge_share"] < 1 for epoch in result.history)
