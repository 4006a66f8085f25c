"""Training against the hardest of sampled negatives: draws, one whole step, and what must not matter."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_ranking.data_prep import EncodedSplit, EncodedTexts, SharedTexts, UserError
from answer_ranking.models import ap_bilstm, ap_cnn, qa_bilstm, qa_cnn
from answer_ranking.models.encodings import ContextualWords, PaddedTexts
from answer_ranking.training import HardestNegative, HardestNegativeOptions, hardest_negative, score
from answer_ranking.training import shared_texts as scoring
from answer_ranking.training.batch_stream import BatchStream
from answer_ranking.training.hardest_negative import AnswerSampler
from answer_ranking.training.scoring import TextScorer
from answer_ranking.training.shared_texts import SharedTextScorer

RANKERS = {"QA-CNN": qa_cnn, "AP-CNN": ap_cnn, "QA-BiLSTM": qa_bilstm, "AP-BiLSTM": ap_bilstm}
SIZES = {"QA-CNN": 7, "AP-CNN": 5, "QA-BiLSTM": 3, "AP-BiLSTM": 3}


def pooled_split(seed=0, n_questions=9, n_texts=25, pool=6, words=40, longest=8):
    """Questions whose pools share one table of texts, in which two texts are the same, and one is empty."""
    rng = np.random.default_rng(seed)

    def texts(n, first=1):
        lengths = rng.integers(first, longest, n)
        lengths[0] = first
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return EncodedTexts(rng.integers(2, words, offsets[-1]).astype(np.int32), offsets)

    index = np.concatenate([rng.choice(n_texts, pool, replace=False) for _ in range(n_questions)])
    labels = (rng.random(len(index)) < 0.3).astype(np.int8)
    labels[::pool], labels[1::pool] = 1, 0
    return EncodedSplit(
        questions=texts(n_questions),
        candidates=SharedTexts(texts(n_texts, first=0), index.astype(np.int32)),
        candidate_offsets=np.arange(n_questions + 1) * pool,
        labels=labels,
        question_ids=[f"q{i}" for i in range(n_questions)],
        candidate_ids=[f"c{i}" for i in index],
    )


def correct_texts(split, question):
    rows = slice(*split.candidate_offsets[question : question + 2])
    return set(split.candidates.index[rows][split.labels[rows] == 1].tolist())


def own_texts(split, question):
    return set(split.candidates.index[slice(*split.candidate_offsets[question : question + 2])].tolist())


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 30),
    kind=st.sampled_from([("answers", False), ("answers", True), ("own", False)]),
)
def test_drawn_answers_are_distinct_wrong_and_as_many_as_there_are(seed, count, kind):
    split = pooled_split(seed)
    source, share = kind
    sampler = AnswerSampler(split, count, source, share)
    pairs = set(zip(sampler.question_of_pair.tolist(), sampler.text_of_pair.tolist(), strict=True))
    empty = set(np.flatnonzero(split.candidates.texts.lengths == 0).tolist())
    everything = set(split.candidates.index.tolist()) - empty
    assert {text for _, text in pairs} <= everything
    numbers = np.arange(len(sampler))
    drawn = sampler.draw(numbers, np.random.default_rng(seed))
    assert drawn.shape == (len(sampler), count)
    for question, row in zip(sampler.question_of_pair, drawn, strict=True):
        found = row[row >= 0].tolist()
        wrong = everything - correct_texts(split, question)
        if source == "own":
            wrong &= own_texts(split, question)
        assert set(found) <= wrong
        assert len(set(found)) == len(found)
        if share:
            # The batch's draw but for the question's own correct answers.
            assert len(found) >= min(count, len(everything)) - len(correct_texts(split, question))
        else:
            assert len(found) == min(count, len(wrong))
    # A correct answer without another to set against it is the only one left out.
    for question in range(split.n_questions):
        for text in correct_texts(split, question) - empty:
            wrong = everything - correct_texts(split, question)
            if source == "own":
                wrong &= own_texts(split, question)
            assert ((question, text) in pairs) == bool(wrong)


@pytest.mark.parametrize("share", [False, True])
def test_every_wrong_answer_is_drawn_equally_often(share):
    split = pooled_split(3)
    sampler = AnswerSampler(split, 4, share=share)
    rng, counts = np.random.default_rng(0), np.zeros(len(split.candidates.texts))
    repeats = 4000
    for _ in range(repeats):
        drawn = sampler.draw(np.array([0]), rng)
        counts[drawn[drawn >= 0]] += 1
    wrong = set(split.candidates.index.tolist()) - correct_texts(split, sampler.question_of_pair[0])
    wrong = sorted(wrong - set(np.flatnonzero(split.candidates.texts.lengths == 0).tolist()))
    assert counts.sum() == counts[wrong].sum()
    every = np.unique(split.candidates.index)
    n_answers = np.count_nonzero(split.candidates.texts.lengths[every])
    expected = repeats * 4 / (n_answers if share else len(wrong))
    # Five standard deviations of a binomial.
    assert np.abs(counts[wrong] - expected).max() < 5 * np.sqrt(expected)


def test_an_answer_that_is_correct_in_one_row_is_wrong_in_none():
    split = pooled_split(1, n_questions=2)
    # The same text twice in a pool, correct and wrong.
    split.candidates.index[:2] = 5
    sampler = AnswerSampler(split, 6, source="own")
    drawn = sampler.draw(np.flatnonzero(sampler.question_of_pair == 0), np.random.default_rng(0))
    assert 5 not in drawn


def test_each_batch_has_a_draw_of_its_own_and_the_mean_over_its_pairs():
    split = pooled_split(4, n_questions=14, n_texts=60)
    batches = list(way_of(split, batch_size=5, sampled_negatives=6, share_negatives=True).batches(None, 0))
    sizes = [len(batch["weight"]) for batch in batches]
    assert len(set(sizes)) == 2, "the last batch is to be smaller"
    drawn = set()
    for batch, size in zip(batches, sizes, strict=True):
        np.testing.assert_allclose(batch["weight"], 1 / size, rtol=1e-6)
        drawn.add(tuple(sorted(tuple(real(words)) for words in batch["sampled"])))
    assert len(drawn) == len(batches)


def test_a_split_without_wrong_answers_is_refused():
    split = pooled_split(0)
    split.labels[:] = 1
    AnswerSampler(split)
    with pytest.raises(UserError, match="nothing to train on"):
        AnswerSampler(split, source="own")
    split.labels[:] = 0
    with pytest.raises(UserError, match="nothing to train on"):
        AnswerSampler(split)


def way_of(split, seed=2, **options):
    return HardestNegative(split, HardestNegativeOptions(**{"batch_size": 5} | options), seed)


def batch_of(way):
    return next(way.batches(None, 0))


def ranker_of(name, vectors, **options):
    return RANKERS[name](vectors, SIZES[name], seed=3, **options)


def real(words):
    return np.asarray(words)[np.asarray(words) > 0]


@pytest.mark.parametrize(
    ("name", "kind", "words_per_chunk"),
    [
        ("QA-CNN", ("answers", True), 1),
        ("QA-BiLSTM", ("answers", True), 10**6),
        ("AP-BiLSTM", ("answers", True), 40),
        ("AP-CNN", ("answers", False), 25),
        ("AP-CNN", ("own", False), 10**6),
    ],
)
def test_the_hardest_answer_has_the_highest_score(make_vectors, monkeypatch, name, kind, words_per_chunk):
    monkeypatch.setattr(hardest_negative, "_WORDS_PER_CHUNK", words_per_chunk)
    split, ranker = pooled_split(4), ranker_of(name, make_vectors())
    way = way_of(split, sampled_negatives=7, negatives_from=kind[0], share_negatives=kind[1])
    sampler, batch = way.sampler, batch_of(way)
    hardest = way.trainer(ranker).hardest(batch).numpy()
    pairs = np.random.default_rng([2, 0]).permutation(len(sampler))[:5]
    drawn = sampler.draw(pairs, np.random.default_rng([2, 0, 0]))
    for i, pair in enumerate(pairs):
        question, correct = sampler.question_of_pair[pair], sampler.text_of_pair[pair]
        words = split.questions.padded([question])
        assert real(batch["question"][i]).tolist() == words[0].tolist()
        assert real(batch["correct"][i]).tolist() == sampler.texts.padded([correct])[0].tolist()
        texts = drawn[i][drawn[i] >= 0]
        scores = ranker([np.repeat(words, len(texts), 0), sampler.texts.padded(texts)]).numpy()
        best = sampler.texts.padded([texts[int(np.argmax(scores))]])[0]
        assert sorted(scores)[-1] - sorted(scores)[-2] > 1e-5
        assert real(batch["sampled"][hardest[i]]).tolist() == best.tolist()


def qa_cnn_step(vectors, weights, batch, hardest, margin, rate, l2):
    """Loss and SGD update of one step of QA-CNN with window 2 in float64, differentiated by hand."""
    kernel, bias = (np.asarray(w, np.float64) for w in weights)
    vectors = vectors.astype(np.float64)
    d_kernel, d_bias = 2 * l2 * kernel, np.zeros_like(bias)

    def encode(words):
        z = np.concatenate([vectors[real(words)], np.zeros((1, vectors.shape[1]))])
        states = z[:-1] @ kernel[0] + z[1:] @ kernel[1] + bias
        return np.tanh(states.max(0)), (z, states.argmax(0))

    def back(at_vector, vector, kept):
        z, best = kept
        at_state = at_vector * (1 - vector**2)
        for offset in (0, 1):
            d_kernel[offset] += z[best + offset].T * at_state
        d_bias[:] += at_state

    def cosine(u, v):
        lengths = np.linalg.norm(u), np.linalg.norm(v)
        s = u @ v / (lengths[0] * lengths[1])
        return s, v / (lengths[0] * lengths[1]) - s * u / lengths[0] ** 2

    losses = []
    for i in range(len(batch["question"])):
        (q, q_kept), (right, right_kept), (wrong, wrong_kept) = (
            encode(words)
            for words in (batch["question"][i], batch["correct"][i], batch["sampled"][hardest[i]])
        )
        losses.append(max(0.0, margin - cosine(q, right)[0] + cosine(q, wrong)[0]))
        if losses[-1] > 0:
            w = batch["weight"][i]
            back(w * (cosine(q, wrong)[1] - cosine(q, right)[1]), q, q_kept)
            back(-w * cosine(right, q)[1], right, right_kept)
            back(w * cosine(wrong, q)[1], wrong, wrong_kept)
    return np.mean(losses), [kernel - rate * d_kernel, bias - rate * d_bias]


@pytest.mark.parametrize(("margin", "reduction"), [(0.5, "mean"), (0.05, "sum")])
def test_one_step_equals_float64_numpy(make_vectors, margin, reduction):
    split, vectors, rate, l2 = pooled_split(5), make_vectors(), 0.7, 0.01
    ranker = ranker_of("QA-CNN", vectors)
    n_pairs = len(AnswerSampler(split, 6))
    way = way_of(split, 0, batch_size=n_pairs, sampled_negatives=6, reduction=reduction, margin=margin, l2=l2)
    trainer, batch = way.trainer(ranker), batch_of(way)
    weight = 1 / n_pairs if reduction == "mean" else 1
    np.testing.assert_allclose(batch["weight"], weight, rtol=1e-6)
    before = [v.numpy() for v in ranker.trainable_variables]
    hardest = trainer.hardest(batch).numpy()
    loss, after = qa_cnn_step(vectors, before, batch, hardest, margin, rate, l2)
    trainer.compile(optimizer=keras.optimizers.SGD(rate), jit_compile=False)
    history = trainer.fit(BatchStream(way, trainer).dataset(), shuffle=False, verbose=0).history
    assert history["loss"][0] == pytest.approx(loss, rel=1e-5)
    if margin < 0.1:
        # The case has pairs within the margin and pairs beyond it.
        assert 0 < history["active_share"][0] < 1
    for ours, theirs, old in zip(ranker.trainable_variables, after, before, strict=True):
        assert np.abs(theirs - old).max() > 1e-3
        np.testing.assert_allclose(ours.numpy(), theirs, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "train_word_vectors"),
    [("QA-CNN", False), ("AP-CNN", True), ("QA-BiLSTM", True), ("AP-BiLSTM", False)],
)
def test_a_step_is_that_of_the_plain_ranker(make_vectors, name, train_word_vectors):
    split = pooled_split(6)
    ranker = ranker_of(name, make_vectors(), train_word_vectors=train_word_vectors)
    way = way_of(split, sampled_negatives=6, margin=0.4)
    trainer, batch = way.trainer(ranker), batch_of(way)
    wrong = batch["sampled"][trainer.hardest(batch).numpy()]
    with tf.GradientTape() as tape:
        right, other = (ranker([batch["question"], x], training=True) for x in (batch["correct"], wrong))
        loss = keras.ops.mean(keras.ops.relu(0.4 - right + other))
    gradients = tape.gradient(loss, [v.value for v in ranker.trainable_variables])
    expected = [
        v.numpy() - 0.3 * tf.convert_to_tensor(g).numpy()
        for v, g in zip(ranker.trainable_variables, gradients, strict=True)
    ]
    trainer.compile(optimizer=keras.optimizers.SGD(0.3), jit_compile=False)
    trainer.train_step(batch)
    for ours, theirs in zip(ranker.trainable_variables, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-6)


class Tokens:
    """A table of the vectors of tokens."""

    def __init__(self, vectors):
        self.shape, self.vectors = vectors.shape, np.float16(vectors)

    def take(self, numbers):
        return self.vectors[numbers]


def contextual(vectors):
    """Give a layer of the vectors of tokens."""
    layer = ContextualWords(vectors.shape[1])
    layer.table = Tokens(vectors)
    return layer


@pytest.mark.parametrize(("name", "kind"), [("AP-CNN", np.asarray), ("QA-BiLSTM", contextual)])
def test_dropout_falls_on_what_is_trained_on_and_not_on_the_search(make_vectors, name, kind):
    way, updates, found = way_of(pooled_split(6), sampled_negatives=6, margin=0.4), [], []
    batch = batch_of(way)
    for rate in (0.0, 0.5):
        ranker = ranker_of(name, kind(make_vectors()), embedding_dropout=rate)
        trainer = way.trainer(ranker)
        trainer.compile(optimizer=keras.optimizers.SGD(0.3), jit_compile=False)
        found.append([trainer.hardest(batch).numpy().tolist() for _ in range(2)])
        trainer.train_step(batch)
        updates.append(ranker.trainable_variables[0].numpy())
    assert found[0] == found[1]
    assert found[0][0] == found[0][1]
    assert np.abs(updates[0] - updates[1]).max() > 1e-3


def test_a_pair_whose_draw_holds_only_correct_answers_counts_nothing(make_vectors):
    split = pooled_split(0, n_questions=3, n_texts=7)
    # All texts but one are correct for question 0: most shared draws of one leave it without a wrong answer.
    split.labels[:5] = 1
    ranker = ranker_of("AP-CNN", make_vectors())
    way = way_of(split, 0, sampled_negatives=1, share_negatives=True, batch_size=1, margin=3.0)
    batches = []
    for epoch in range(5):
        batches += way.batches(None, epoch)
    assert {0.0, 1.0} == {float(batch["weight"][0]) for batch in batches}
    trainer = way.trainer(ranker)
    trainer.compile(optimizer=keras.optimizers.SGD(0.1), jit_compile=False)
    for batch in batches[-len(way) :]:
        before = [v.numpy() for v in ranker.trainable_variables]
        trainer.train_step(batch)
        moved = [np.abs(v.numpy() - b).max() for v, b in zip(ranker.trainable_variables, before, strict=True)]
        assert np.isfinite(moved).all()
        assert (max(moved) > 0) == (batch["weight"][0] > 0)


def test_the_learning_rate_can_stay():
    """tests/training/test_fit.py has the rates of a training in which it falls."""
    assert way_of(pooled_split(7)).callbacks
    assert not way_of(pooled_split(7), learning_rate_decay=False).callbacks


@pytest.mark.parametrize(
    ("name", "words_per_chunk"),
    [("QA-CNN", 1), ("QA-BiLSTM", 90), ("AP-CNN", 40), ("AP-BiLSTM", 90)],
)
def test_a_split_s_scores_are_those_of_its_pairs(make_vectors, monkeypatch, name, words_per_chunk):
    monkeypatch.setattr(scoring, "_WORDS_PER_CHUNK", words_per_chunk)
    # A text stands in three pools, most of them of questions of one length.
    split, ranker = pooled_split(9, n_questions=6, n_texts=12), ranker_of(name, make_vectors())
    scores = score(ranker, split)
    pairs = [split.questions.padded(split.question_of_row), split.candidates.padded(np.arange(split.n_rows))]
    np.testing.assert_allclose(scores, ranker(pairs), atol=1e-6)
    if name == "QA-CNN":  # Of the others, tests/models/ checks that padding changes nothing.
        for row, question in enumerate(split.question_of_row):
            pair = [split.questions.padded([question]), split.candidates.padded([row])]
            assert float(ranker(pair)[0]) == pytest.approx(scores[row], abs=1e-6)
    padded = PaddedTexts(ranker.get_layer("encoder"))
    np.testing.assert_allclose(scores, TextScorer(ranker, split, padded)(), atol=1e-6)


@pytest.mark.parametrize("limit", [25, 40, 200])
def test_what_is_scored_together_is_bounded(make_vectors, monkeypatch, limit):
    split, ranker = pooled_split(9, n_questions=40), ranker_of("AP-CNN", make_vectors())
    monkeypatch.setattr(scoring, "_WORDS_PER_CHUNK", limit)
    scorer = SharedTextScorer(ranker, split, ranker.encoding)
    grid_scores, words, columns = scorer._score, [], []

    def spy(questions, answers, of_question, of_answer, steps):
        words.append(of_question.shape[0] * (of_question.shape[1] * int(steps) + answers[0].shape[1]))
        columns.append(of_question.shape[1])
        return grid_scores(questions, answers, of_question, of_answer, steps)

    monkeypatch.setattr(scorer, "_score", spy)
    scorer()
    longest = split.questions.lengths.max() + split.candidates.texts.lengths.max()
    assert max(words) <= max(limit, longest)
    # A text meets several questions at once.
    assert max(columns) > (2 if limit > 25 else 0)


@pytest.mark.parametrize("shared", [False, True])
def test_a_matcher_of_one_s_own_is_taken_as_it_is(make_vectors, shared):
    split, ranker = pooled_split(4), ranker_of("QA-CNN", make_vectors())
    sides = [keras.Input((SIZES["QA-CNN"],)) for _ in range(2)]
    far = keras.layers.Rescaling(-3.0)(keras.layers.Reshape((1,))(ranker.get_layer("matcher")(sides)))
    matcher = keras.Model(sides, keras.layers.Reshape(())(far), name="matcher")
    encoder = ranker.get_layer("encoder")
    own = keras.Model(ranker.inputs, matcher([encoder(x) for x in ranker.inputs]))
    np.testing.assert_allclose(score(own, split), -3 * score(ranker, split), atol=1e-6)
    batch = batch_of(way := way_of(split, sampled_negatives=7, share_negatives=shared))
    found = way.trainer(own)._scores(batch)
    plain = way_of(split).trainer(ranker)._scores(batch)
    np.testing.assert_allclose(found, -3 * plain.numpy(), atol=1e-6)
