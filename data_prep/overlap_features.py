"""The four word-overlap features of a question and a candidate."""

import math
import string

import numpy as np

from answer_ranking.data_prep.encoded_split import EncodedSplit, EncodedTexts
from answer_ranking.data_prep.vocabulary import Vocabulary

FEATURES = ("overlap", "idf overlap", "overlap without stop words", "idf overlap without stop words")
"""What the four columns are."""


def stop_words() -> frozenset[str]:
    """Give the words that the last two features leave out: spaCy's English stop words, punctuation marks."""
    from spacy.lang.en.stop_words import STOP_WORDS

    # As tokenised text writes them, too.
    return frozenset({*STOP_WORDS, *string.punctuation, "``", "''", "--", "...", "-lrb-", "-rrb-"})


def inverse_document_frequencies(train: EncodedSplit, n_words: int) -> np.ndarray:
    """Measure how rare words are in a training split (and in no other), float64 (n_words,).

    The weight of a word is ln((N + 1) / (n_w + 1)) if n_w of the N texts have it; the texts are the questions
    and the candidates. A word that training does not have gets the largest weight, ln(N + 1).
    """
    rows_of_text = np.bincount(train.candidates.index, minlength=len(train.candidates.texts))
    frequency = np.zeros(n_words)
    for texts, times in (
        (train.questions, np.ones(len(train.questions))),
        (train.candidates.texts, rows_of_text),
    ):
        for words, n in zip(_distinct_words(texts), times, strict=True):
            frequency[list(words)] += n
    n_texts = len(train.questions) + len(train.candidates)
    return np.log((n_texts + 1) / (frequency + 1))


def overlap_features(split: EncodedSplit, vocabulary: Vocabulary, idf: np.ndarray) -> np.ndarray:
    """Compute the features that CTRN appends to its text vectors on TrecQA.

    They go back to Yu et al. (2014) and Severyn and Moschitti (2015). With Q and A the sets of the distinct
    words of question and candidate, the columns are

        |Q and A|   and   the sum of idf(w) over w in Q and A,

    first with all words, then without stop words. Severyn and Moschitti's released code divides both by
    |Q| + |A|; without the division each feature alone ranks better on the dev questions of TrecQA (TRAIN,
    MAP 0.751, 0.820, 0.746, 0.775 against 0.691, 0.764, 0.679, 0.711), so there is none here. That code
    differs in three more things, which are corrected here: it weighs a word by n_w / ln(N / n_w), which grows
    with frequency; it counts frequencies on dev and test, too; and its list of stop words is switched off.

    Unknown words (number 1) are no overlap. Returns float32 (n_rows, 4), the columns of `FEATURES`.
    """
    if len(idf) != len(vocabulary):
        raise ValueError(
            f"`idf` must have one weight per word. Received: {len(idf)} weights, {len(vocabulary)} words"
        )
    stops = stop_words()
    # Only real words can be shared: not padding, and not two different words that are both unknown.
    stop_numbers = {i for i, word in enumerate(vocabulary.words) if i > 1 and word.lower() in stops}

    questions = _distinct_words(split.questions)
    candidates = _distinct_words(split.candidates.texts)
    features = np.zeros((split.n_rows, len(FEATURES)))
    for row, (question, text) in enumerate(zip(split.question_of_row, split.candidates.index, strict=True)):
        for column, without in ((0, frozenset()), (2, stop_numbers)):
            q, a = questions[question] - without, candidates[text] - without
            shared = (q & a) - {0, 1}
            features[row, column] = len(shared)
            # fsum is exact, and so blind to the order of the set.
            features[row, column + 1] = math.fsum(idf[w] for w in shared)
    return features.astype(np.float32)


def _distinct_words(texts: EncodedTexts) -> list[set[int]]:
    return [set(texts.words[a:b].tolist()) for a, b in zip(texts.offsets, texts.offsets[1:], strict=False)]
