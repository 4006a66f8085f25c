import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_prep import EncodedSplit, EncodedTexts, UserError
from training.negative_sampling import NegativeSampler


@st.composite
def splits(draw):
    """Splits of any shape, with questions that have no correct or no wrong answer among them."""
    labels = draw(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=7), min_size=2, max_size=9))
    offsets = np.cumsum([0, *map(len, labels)]).astype(np.int64)
    one_word_each = EncodedTexts(np.full(offsets[-1], 2, np.int32), np.arange(offsets[-1] + 1))
    questions = EncodedTexts(np.full(len(labels), 2, np.int32), np.arange(len(labels) + 1))
    flat = np.concatenate(labels).astype(np.int8)
    names = [str(i) for i in range(len(flat))]
    return EncodedSplit(questions, one_word_each, offsets, flat, names[: len(labels)], names)


def usable(split, foreign):
    lists = np.split(split.labels, split.candidate_offsets[1:-1])
    return {i for i, each in enumerate(lists) if each.any() and (foreign > 0 or not each.all())}


@settings(deadline=None, max_examples=150)
@given(
    splits(),
    st.sampled_from(["random", "hard", "mix"]),
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(0, 3),
    st.integers(0, 99),
)
def test_every_draw_holds_what_it_should(split, sampling, own, foreign, seed):
    expected = usable(split, foreign)
    if not expected:
        with pytest.raises(UserError, match="no training question"):
            NegativeSampler(split, sampling=sampling, own_negatives=own, foreign_negatives=foreign, seed=seed)
        return
    sampler = NegativeSampler(
        split, sampling=sampling, own_negatives=own, foreign_negatives=foreign, seed=seed
    )
    scores = np.random.default_rng(seed).normal(size=split.n_rows)
    entries = sampler.draw(3, scores)
    assert sorted(entries.questions) == sorted(expected)
    for i, question in enumerate(entries.questions):
        rows = entries.rows[entries.offsets[i] : entries.offsets[i + 1]]
        first, last = split.candidate_offsets[question], split.candidate_offsets[question + 1]
        mine = np.arange(first, last)
        correct, wrong = mine[split.labels[first:last] == 1], mine[split.labels[first:last] == 0]
        n = entries.n_correct[i]
        assert sorted(rows[:n]) == sorted(correct)
        own_drawn = [r for r in rows[n:] if first <= r < last]
        others = [r for r in rows[n:] if not first <= r < last]
        assert len(others) == foreign
        assert set(own_drawn) <= set(wrong)
        size = len(wrong) if own is None else min(own, len(wrong))
        assert len(own_drawn) == len(set(own_drawn)) == size
        hardest_first = wrong[np.argsort(-scores[wrong])]
        if own is not None and sampling == "hard":
            assert set(own_drawn) == set(hardest_first[:size])
        if own is not None and sampling == "mix":
            assert set(hardest_first[: min(-(-own // 2), size)]) <= set(own_drawn)


def test_the_draw_is_a_function_of_seed_and_epoch(make_split):
    split = make_split(20)

    def draw(seed, epoch):
        entries = NegativeSampler(split, own_negatives=2, foreign_negatives=1, seed=seed).draw(epoch)
        return np.concatenate([entries.questions, entries.rows])

    assert (draw(1, 5) == draw(1, 5)).all()
    assert (draw(1, 5) != draw(1, 6)).any()
    assert (draw(1, 5) != draw(2, 5)).any()


def test_random_draws_are_uniform(make_split):
    split = make_split(1)
    wrong = np.flatnonzero(split.labels == 0)
    sampler = NegativeSampler(split, own_negatives=1)
    drawn = [sampler.draw(epoch).rows[-1] for epoch in range(1500)]
    shares = np.bincount(drawn, minlength=split.n_rows)[wrong] / 1500
    # Five standard errors.
    assert np.abs(shares - 1 / len(wrong)).max() < 5 * (0.25 / 1500) ** 0.5


@pytest.mark.parametrize("option", [{"sampling": "best"}, {"own_negatives": -1}, {"foreign_negatives": -1}])
def test_bad_options_are_refused(make_split, option):
    with pytest.raises(ValueError, match="Received"):
        NegativeSampler(make_split(), **option)


def test_hard_sampling_without_scores_is_refused(make_split):
    with pytest.raises(ValueError, match="scores"):
        NegativeSampler(make_split(), sampling="hard", own_negatives=2).draw(0)
