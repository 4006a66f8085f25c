"""Whether texts are English, of which the word vectors that come with the project know the words."""

from collections.abc import Iterable
from itertools import islice

from answer_ranking.data_prep.word_vectors.encoder_folder import PUBLISHED
from answer_ranking.data_prep.word_vectors.files import SOURCES
from answer_ranking.data_prep.word_vectors.load import SHORT_NAMES
from answer_ranking.data_prep.words import words_of

_FREQUENT = set(
    words_of(
        "the of and to a in is are was that for it on with as this be by at from or not you your we our i my "
        "he they have has do does did can will who what when where which how why if there"
    )
)
_LEAST_SHARE, _FEWEST_WORDS, _MOST_TEXTS = 0.2, 40, 1_000
_MOST_WORDS = 100
"""Of one text: a long one would outweigh the others."""
_KNOW_ENGLISH = {*SOURCES, *SHORT_NAMES, *PUBLISHED}
NOT_ENGLISH = (
    "The texts do not look English, the language that these word vectors know. Compare letters instead "
    "(answer-ranking search --first-stage ngrams), which needs no vectors, or train vectors on the table "
    "with --embeddings task-skipgram-100d."
)


def looks_english(*columns: Iterable[str]) -> bool:
    """Say whether the frequent words of English make up their part of columns of texts; of few words, always.

    Example:
        >>> looks_english(["Wie kann ich die Ware an den Händler zurück geben?"] * 9)
        False
    """
    words = []
    for texts in columns:
        for text in islice(texts, _MOST_TEXTS):
            words += words_of(text)[:_MOST_WORDS]
    frequent = sum(word in _FREQUENT for word in words)
    return len(words) < _FEWEST_WORDS or frequent >= _LEAST_SHARE * len(words)


def know_english_alone(vectors: Iterable[str]) -> bool:
    """Say whether word vectors of these names know no other language; of own files nobody can tell."""
    names = set(map(str, vectors))
    return bool(names) and names <= _KNOW_ENGLISH
