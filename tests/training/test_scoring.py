"""Scores of whole splits are those of their pairs and lists alone, whatever the chunks."""

from dataclasses import replace

import keras
import numpy as np
import pytest

from answer_ranking.data_prep import EncodedTexts, SharedTexts, UserError
from answer_ranking.models import cosinet, features_alone, hyperqa
from answer_ranking.models.networks.overlap_cnn import cnn
from answer_ranking.training import Pairwise, PairwiseOptions, fit, make_scorer, score, scoring


def pair_by_pair(ranker, split):
    """Score every row by itself, without padding."""
    scores = []
    for row, question in enumerate(split.question_of_row):
        arrays = {
            "question": split.questions.take([question]).words[None],
            "answer": split.candidates.take([row]).words[None],
            "features": None if split.features is None else split.features[row : row + 1],
        }
        inputs = [arrays[each.name] for each in ranker.inputs]
        scores.append(ranker(inputs, training=False).numpy().item())
    return np.array(scores)


def test_every_row_has_the_score_of_its_pair_alone(make_split, make_vectors, monkeypatch):
    split = make_split(3, n_features=2)
    # Several rows may share a text.
    index = np.arange(split.n_rows, dtype=np.int32) // 2
    split = replace(split, candidates=SharedTexts(split.candidates.texts, index))
    ranker = cnn(make_vectors(scale=2), 4, hidden=(3,), n_features=2, seed=1)
    expected = pair_by_pair(ranker, split)
    assert np.ptp(expected) > 0.1
    for words in (1, 25, 16384):
        monkeypatch.setattr(scoring, "_WORDS_PER_CHUNK", words)
        scores = score(ranker, split)
        assert (scores.dtype, scores.shape) == (np.float32, (split.n_rows,))
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_scores_follow_the_weights_and_know_no_dropout(make_split):
    split = make_split(n_features=3)
    ranker = features_alone(3, hidden=(), dropout=0.5)
    score_split = make_scorer(ranker, split)
    for factor in (1.0, -2.0):
        kernel = np.array([[0, 1], [0, 2], [0, -1]]) * factor
        ranker.set_weights([kernel, np.array([0.5, 0])])
        np.testing.assert_allclose(score_split(), split.features @ kernel[:, 1] - 0.5, rtol=1e-5, atol=1e-5)
    deep = make_scorer(features_alone(3, hidden=(8,), dropout=0.9), split)
    np.testing.assert_array_equal(deep(), deep())


def test_scores_are_the_ranker_s_also_behind_its_matcher(make_split, make_vectors):
    split, inner = make_split(6, seed=5), hyperqa(make_vectors(), 6, max_norm=0.9)
    turned = keras.Model(inner.inputs, -1 * inner.outputs[0])
    np.testing.assert_allclose(score(turned, split), -score(inner, split), rtol=1e-4, atol=1e-5)
    with pytest.raises(UserError, match="reads question and answer together"):
        fit(turned, Pairwise(split, PairwiseOptions(epochs=1)), dev=split)


def test_a_layer_that_changed_is_scored_as_it_is(make_split):
    split, ranker = make_split(n_features=3), features_alone(3, hidden=(8,))
    before = score(ranker, split)
    (hidden,) = (layer for layer in ranker.layers if getattr(layer, "units", 0) == 8)
    hidden.enable_lora(2)
    hidden.lora_kernel_b.assign(np.ones(hidden.lora_kernel_b.shape))
    found = score(ranker, split)
    assert np.abs(found - before).max() > 1e-3
    words = np.zeros((split.n_rows, 1), "int32")
    np.testing.assert_allclose(found, ranker([words, words, split.features]), rtol=1e-5, atol=1e-6)


def test_features_that_the_split_does_not_have_are_asked_for(make_split):
    with pytest.raises(ValueError, match=r"input `features`. Received: a split without features"):
        score(features_alone(3), make_split())


def test_chunks_hold_the_words_of_both_sides(make_split, make_vectors, monkeypatch):
    # The last question has many words, which would fill a chunk of short answers; the others have one each.
    questions = EncodedTexts(np.full(311, 5, np.int32), np.array([*range(12), 311]))
    split = replace(make_split(12, seed=3), questions=questions)
    ranker = cnn(make_vectors(scale=2), 4, hidden=(3,), seed=1)
    monkeypatch.setattr(scoring, "_WORDS_PER_CHUNK", 700)
    scorer = scoring.PairScorer(ranker, split)
    sizes = [(len(q), q.size + a.size) for _, (q, a) in scorer._chunks]
    assert sum(rows for rows, _ in sizes) == split.n_rows
    assert all(words <= 700 or rows == 1 for rows, words in sizes)
    assert max(rows for rows, _ in sizes) > 10
    np.testing.assert_allclose(scorer(), pair_by_pair(ranker, split), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("across", "words_per_chunk"), [("none", 1), ("birnn", 200)])
def test_lists_score_in_row_order(make_split, make_vectors, monkeypatch, across, words_per_chunk):
    monkeypatch.setattr(scoring, "_WORDS_PER_CHUNK", words_per_chunk)
    split = make_split(9, seed=5)
    ranker = cosinet(make_vectors(), objective="listwise", across=across, filters=6, width=3)
    scores = score(ranker, split)
    for i in range(9):
        rows = np.arange(*split.candidate_offsets[[i, i + 1]])
        alone = ranker([split.questions.padded([i]), split.candidates.padded(rows)[None]])
        np.testing.assert_allclose(scores[rows], alone[0], atol=2e-6)


def test_order_matters_to_a_network_across_candidates_and_to_nothing_else(make_split, make_vectors):
    split = make_split(9, seed=5)
    for across, differs in (("none", False), ("birnn", True)):
        ranker = cosinet(make_vectors(), objective="listwise", across=across, filters=6, width=3)
        in_order, shuffled = (score(ranker, each) for each in (split, replace(split, order_seed=1)))
        assert (np.abs(in_order - shuffled).max() > 1e-3) == differs
        if not differs:
            np.testing.assert_allclose(in_order, shuffled, atol=2e-6)


@pytest.mark.parametrize("tokens_per_chunk", [1, 60])
def test_texts_that_are_encoded_once_score_as_pairs(make_split, make_vectors, monkeypatch, tokens_per_chunk):
    monkeypatch.setattr(scoring, "_TOKENS_PER_CHUNK", tokens_per_chunk)
    split, ranker = make_split(9, seed=5), hyperqa(make_vectors(), 6, max_norm=0.9, dropout=0.5)
    packed, packs = [], ranker.encoding.pack
    monkeypatch.setattr(ranker.encoding, "pack", lambda *texts: packed.append(texts) or packs(*texts))
    np.testing.assert_allclose(score(ranker, split), pair_by_pair(ranker, split), rtol=1e-4, atol=1e-5)
    for texts in packed:
        words = sum(int(each.lengths.sum()) for each in texts)
        # The candidates of one question may be many: they are cut as well. Its words come with each part.
        assert words <= tokens_per_chunk + int(texts[0].lengths[0]) or len(texts[1]) == 1
    assert score(ranker, split.keep_questions(np.zeros(9, bool))).shape == (0,)
