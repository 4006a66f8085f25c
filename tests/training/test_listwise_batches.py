"""Batches of whole questions: what is in them, in which order, and how much of it is padding."""

from dataclasses import replace

import numpy as np
import pytest

from answer_ranking.data_prep import EncodedTexts, UserError
from answer_ranking.training import Listwise, ListwiseOptions
from answer_ranking.training.listwise import list_rows, padded_lists


def numbered(make_split, n_questions=40, seed=0):
    """Questions that hold their own number, so that a batch tells which it has; some without an answer."""
    split = make_split(n_questions, seed=seed)
    labels = split.labels.copy()
    labels[split.question_of_row % 5 == 3] = 0
    numbers = EncodedTexts(np.arange(2, 2 + n_questions, dtype=np.int32), np.arange(n_questions + 1))
    return replace(split, questions=numbers, labels=labels)


def way_of(split, batch_size, seed=0, order_seed=None, max_candidates=None):
    options = ListwiseOptions(batch_size=batch_size, max_candidates=max_candidates)
    return Listwise(replace(split, order_seed=order_seed), options, seed)


def contents(batches):
    """What an epoch holds: question number -> (texts, labels) of its real candidates, in the list's order."""
    found = []
    for batch in batches:
        for question, answers, label in zip(batch["question"], batch["answers"], batch["label"], strict=True):
            real = answers.any(axis=-1)
            texts = [tuple(t[t > 0].tolist()) for t in answers[real]]
            assert not label[~real].any()
            found.append((int(question[0]) - 2, texts, label[real].tolist()))
    return found


def texts_and_labels(split, rows):
    texts = [tuple(split.candidates.take([row]).words.tolist()) for row in rows]
    labels = split.labels[rows].astype("float64")
    return texts, labels / labels.sum()


@pytest.mark.parametrize("order_seed", [None, 5])
def test_an_epoch_has_every_answerable_question_once_with_all_candidates_in_their_order(
    make_split, order_seed
):
    split = replace(numbered(make_split), order_seed=order_seed)
    lists = list_rows(split)
    in_file_order = np.concatenate(lists).tolist() == list(range(split.n_rows))
    assert in_file_order == (order_seed is None)
    way = way_of(split, 7, order_seed=order_seed)
    every = list(way.batches(None, 0))
    found = contents(every)
    assert sorted(i for i, _, _ in found) == [i for i in range(40) if i % 5 != 3]
    for i, texts, labels in found:
        expected_texts, expected_labels = texts_and_labels(split, lists[i])
        assert texts == expected_texts
        np.testing.assert_allclose(labels, expected_labels, rtol=1e-6)
    assert len(every) == len(way)
    for batch in every:
        assert batch["weight"].sum() == pytest.approx(1, rel=1e-6)


def test_the_order_is_a_function_of_seed_and_epoch(make_split):
    split = numbered(make_split)

    def order(seed, epoch):
        return [i for i, _, _ in contents(way_of(split, 4, seed).batches(None, epoch))]

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3)
    assert order(1, 2) != order(2, 2)


@pytest.mark.parametrize("order_seed", [None, 5])
def test_a_cut_list_keeps_correct_answers_then_the_first_wrong_ones_in_the_list_s_order(
    make_split, order_seed
):
    split = numbered(make_split)
    whole = {i: (t, y) for i, t, y in contents(way_of(split, 7, order_seed=order_seed).batches(None, 0))}
    cut = way_of(split, 7, order_seed=order_seed, max_candidates=3)
    for i, texts, labels in contents(cut.batches(None, 0)):
        all_texts, all_labels = whole[i]
        correct = [j for j, y in enumerate(all_labels) if y > 0][:3]
        wrong = [j for j, y in enumerate(all_labels) if y == 0][: max(0, 3 - len(correct))]
        kept = sorted(correct + wrong)
        assert texts == [all_texts[j] for j in kept]
        np.testing.assert_allclose(labels, [(j in correct) / len(correct) for j in kept], rtol=1e-6)


@pytest.mark.parametrize(("seed", "order_seed"), [(0, 0), (1, 0), (1, 999)])
def test_shuffled_lists_hold_their_own_rows_and_stay_when_other_questions_go(correct_first, seed, order_seed):
    split = correct_first(30, seed)
    split = replace(split, order_seed=order_seed)
    lists = list_rows(split)
    for i, rows in enumerate(lists):
        assert sorted(rows) == list(range(*split.candidate_offsets[[i, i + 1]]))
    kept = split.keep_questions(np.arange(30) % 3 == 0)
    for own, there in zip(list_rows(kept), lists[::3], strict=True):
        assert [kept.candidate_ids[r] for r in own] == [split.candidate_ids[r] for r in there]


def test_in_file_order_the_place_is_the_label_and_shuffled_it_says_nothing(correct_first):
    split = correct_first(2000, 0, n_correct=2)
    first = [split.labels[rows[0]] for rows in list_rows(split)]
    assert np.mean(first) == 1
    shuffled = list_rows(replace(split, order_seed=1))
    share = np.mean([split.labels[rows].mean() for rows in shuffled])
    for place in (0, 1, -1):
        labels = [split.labels[rows[place]] for rows in shuffled]
        # Four standard errors.
        assert abs(np.mean(labels) - share) < 4 * np.std(labels) / np.sqrt(len(labels))


def test_a_text_without_words_is_one_unknown_word(make_split):
    split = make_split(3)
    words = np.array([4, 5], np.int32)
    offsets = np.concatenate([[0, 1, 1], np.full(split.n_rows - 2, 2)])
    block = padded_lists(replace(split, candidates=EncodedTexts(words, offsets)), [np.array([0, 1, 2])])
    assert block.tolist() == [[[4], [1], [5]]]


def test_nothing_to_tell_apart_is_refused(make_split):
    split = make_split()
    for labels in (np.zeros_like(split.labels), np.ones_like(split.labels)):
        with pytest.raises(UserError, match="nothing to train"):
            way_of(replace(split, labels=labels), 4)
