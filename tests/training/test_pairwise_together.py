"""Draws, batches and loss of pairwise training for rankers of pairs."""

import numpy as np
import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.models.networks.arc import arc_i
from answer_ranking.training import PairwiseTogether, PairwiseTogetherOptions, fit, score


def way_of(split, seed=0, **options):
    return PairwiseTogether(split, PairwiseTogetherOptions(**options), seed)


def test_each_correct_answer_meets_wrong_ones_of_its_own_question(make_split):
    split = make_split(12, n_features=1)
    split.features[:, 0] = np.arange(split.n_rows)
    way = way_of(split, negatives=2, batch_size=4)
    met = []
    for batch in way.batches(None, 3):
        rows = batch["features"][:, 0].astype(int)
        n_correct = len(rows) - len(batch["correct"])
        for place, row in zip(batch["correct"], rows[n_correct:], strict=True):
            met.append((rows[place], row))
        assert batch["weight"].sum() == pytest.approx(1)
    assert len(set(met)) == len(met)
    correct, wrong = np.transpose(met)
    assert set(correct) == set(np.flatnonzero(split.labels == 1))
    assert not split.labels[wrong].any()
    owner = split.question_of_row
    np.testing.assert_array_equal(owner[correct], owner[wrong])
    n_wrong = np.diff(split.candidate_offsets) - split.n_correct
    np.testing.assert_array_equal(
        np.bincount(owner[correct]), split.n_correct * np.minimum(n_wrong, 2), strict=False
    )


@pytest.mark.parametrize(("by", "n_hardest"), [("max", 4), ("mix", 2)])
def test_the_hardest_wrong_answers_score_highest(make_split, by, n_hardest):
    split = make_split(8)
    way = way_of(split, negatives=4, negatives_by=by)
    scores = np.random.default_rng(3).normal(size=split.n_rows)
    for row, drawn in zip(way.correct, way.draw(np.random.default_rng(0), scores), strict=True):
        question = split.question_of_row[row]
        rows = np.arange(*split.candidate_offsets[question : question + 2])
        wrong = rows[split.labels[rows] == 0]
        hardest = sorted(wrong, key=lambda each: -scores[each])[:n_hardest]
        assert set(hardest) <= set(drawn) <= set(wrong)
        assert len(drawn) == len(set(drawn)) == min(4, len(wrong))


def test_the_loss_is_the_mean_of_the_hinges_and_falls(make_split, make_vectors):
    split = make_split(10)
    ranker = arc_i(make_vectors(), 4, hidden=(4,), dropout=0.0)
    way = way_of(split, epochs=8, negatives_by="mix", batch_size=100, learning_rate=0.02, margin=0.5)
    before = score(ranker, split)
    rng = np.random.default_rng([0, 0])
    drawn = way.draw(rng, before)
    pairs = [(row, wrong) for row, rows in zip(way.correct, drawn, strict=True) for wrong in rows]
    correct, wrong = np.transpose(pairs)
    expected = np.maximum(0, 0.5 - before[correct] + before[wrong]).mean()
    history = fit(ranker, way, dev=split, verbose=False).history
    assert history[0]["loss"] == pytest.approx(expected, rel=1e-4)
    assert history[-1]["loss"] < history[0]["loss"]


def test_nothing_to_train_on_is_said(make_split):
    split = make_split(4)
    split.labels[:] = 1
    with pytest.raises(UserError, match="nothing to train on"):
        way_of(split)
