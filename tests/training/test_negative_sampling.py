from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.data_prep import EncodedSplit, EncodedTexts, UserError
from answer_ranking.data_prep.encoded_split import SharedTexts
from answer_ranking.models import hyperqa
from answer_ranking.training import PairwiseOptions, PairwiseTogether, PairwiseTogetherOptions, score
from answer_ranking.training.pairwise import NegativeSampler, Pairwise


def test_hardest_answers_are_those_of_the_ranker_that_is_trained(make_split, make_vectors):
    """Also where another one was trained by the same method before."""
    split = make_split(12, seed=1)
    sampler = NegativeSampler(split, PairwiseOptions(own_negatives=1, own_negatives_by="max"), 0)
    for seed in (1, 2):
        ranker = hyperqa(make_vectors(seed=seed), 4, max_norm=0.9, seed=seed)
        trainer = Pairwise(split, PairwiseOptions()).trainer(ranker)
        np.testing.assert_array_equal(sampler.hardest.scores(trainer), score(ranker, split))


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


def sampler_of(split, seed=0, **options):
    return NegativeSampler(split, PairwiseOptions(**{"foreign_negatives": 0} | options), seed)


@settings(max_examples=150)
@given(
    splits(),
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(0, 3),
    st.integers(0, 99),
)
def test_every_draw_holds_what_it_should(split, own, foreign, seed):
    options = {"own_negatives": own, "foreign_negatives": foreign}
    expected = usable(split, foreign)
    if not expected:
        with pytest.raises(UserError, match="no training question"):
            sampler_of(split, seed, **options)
        return
    sampler = sampler_of(split, seed, **options)
    entries = sampler.draw(3)
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


def test_the_draw_is_a_function_of_seed_and_epoch(make_split):
    split = make_split(20)

    def draw(seed, epoch):
        entries = sampler_of(split, seed, own_negatives=2, foreign_negatives=1).draw(epoch)
        return np.concatenate([entries.questions, entries.rows])

    assert (draw(1, 5) == draw(1, 5)).all()
    assert (draw(1, 5) != draw(1, 6)).any()
    assert (draw(1, 5) != draw(2, 5)).any()


def test_random_draws_are_uniform(make_split):
    split = make_split(1)
    wrong = np.flatnonzero(split.labels == 0)
    sampler = sampler_of(split, own_negatives=1)
    drawn = [sampler.draw(epoch).rows[-1] for epoch in range(1500)]
    shares = np.bincount(drawn, minlength=split.n_rows)[wrong] / 1500
    # Five standard errors.
    assert np.abs(shares - 1 / len(wrong)).max() < 5 * (0.25 / 1500) ** 0.5


@pytest.mark.parametrize(("by", "n_hardest"), [("max", 4), ("mix", 2)])
def test_the_hardest_wrong_answers_are_drawn_first(make_split, by, n_hardest):
    split = make_split(8)
    sampler = sampler_of(split, own_negatives=4, own_negatives_by=by)
    scores = np.random.default_rng(3).normal(size=split.n_rows)
    drawn = [sampler.draw(epoch, scores) for epoch in range(30)]
    for question in sampler.questions:
        rows = np.arange(*split.candidate_offsets[question : question + 2])
        wrong = rows[split.labels[rows] == 0]
        hardest = sorted(wrong, key=lambda row: -scores[row])[:n_hardest]
        taken = []
        for entries in drawn:
            (place,) = np.flatnonzero(entries.questions == question)
            answers = entries.rows[entries.offsets[place] : entries.offsets[place + 1]]
            taken.append(set(answers[entries.n_correct[place] :]))
            assert set(hardest) <= taken[-1] <= set(wrong)
            assert len(taken[-1]) == min(4, len(wrong))
        # What is not drawn as the hardest is random: over 30 epochs every other one comes.
        assert set.union(*taken) == (set(hardest) if by == "max" else set(wrong))


@pytest.mark.parametrize("method", ["apart", "together"])
def test_a_text_that_is_correct_elsewhere_takes_no_place_among_the_hardest(make_split, method):
    split = make_split(6)
    first, last = split.candidate_offsets[:2]
    split.labels[first:last] = 0
    split.labels[first] = 1
    index = split.candidates.index.copy()
    index[first + 1] = index[first]
    split = replace(split, candidates=SharedTexts(split.candidates.texts, index))
    scores = np.zeros(split.n_rows)
    scores[first + 1 : first + 3] = 9, 8
    if method == "apart":
        sampler = sampler_of(split, own_negatives=2, own_negatives_by="max")
        drawn = sampler.draw(0, scores)
        (place,) = np.flatnonzero(drawn.questions == 0)
        wrong = drawn.rows[drawn.offsets[place] + 1 : drawn.offsets[place + 1]]
    else:
        way = PairwiseTogether(split, PairwiseTogetherOptions(negatives=2, negatives_by="max"))
        wrong = way.draw(np.random.default_rng(0), scores)[0]
    assert len(wrong) == min(2, last - first - 2)
    assert first + 2 in wrong and first + 1 not in wrong


def test_hard_ones_of_all_are_refused(make_split):
    with pytest.raises(UserError, match="many by own_negatives"):
        sampler_of(make_split(3), own_negatives_by="mix")


def test_the_hardest_are_those_of_the_ranker_at_the_start_of_the_epoch(make_split, make_vectors):
    split = make_split(8)
    options = PairwiseOptions(own_negatives=1, own_negatives_by="max", foreign_negatives=0, batch_size=100)
    method, ranker = Pairwise(split, options), hyperqa(make_vectors(), 4)
    trainer = method.trainer(ranker)
    for weights in (ranker.get_weights(), [-each for each in ranker.get_weights()]):
        ranker.set_weights(weights)
        expected = method.sampler.draw(2, score(ranker, split))
        (batch,) = method.batches(trainer, 2)
        texts = trainer.encoding.pack(
            split.questions.take(expected.questions),
            split.candidates.take(expected.rows),
            rng=np.random.default_rng([0, 2, 0, 0]),
        )
        for name, array in texts.items():
            np.testing.assert_array_equal(batch[name], array)


@pytest.mark.parametrize("foreign", [0, 50])
def test_a_text_that_is_correct_in_one_row_is_wrong_in_none(foreign):
    words = EncodedTexts(np.arange(2, 8, dtype=np.int32), np.arange(7))
    questions = EncodedTexts(np.array([2, 3], np.int32), np.arange(3))
    labels, names = np.array([1, 0, 0, 1, 0, 0], np.int8), list("abcdef")
    split = EncodedSplit(questions, words, np.array([0, 3, 6]), labels, names[:2], names)
    # The first question's correct text is wrong there, too, and stands among the second's wrong answers.
    split.candidates.index[[0, 1, 4]] = 0
    entries = sampler_of(split, foreign_negatives=foreign).draw(0)
    for i, question in enumerate(entries.questions):
        rows = entries.rows[entries.offsets[i] : entries.offsets[i + 1]]
        texts = split.candidates.index[rows[entries.n_correct[i] :]]
        assert (0 in texts) == (question == 1) and len(texts) > 0
