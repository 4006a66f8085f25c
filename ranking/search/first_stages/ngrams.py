"""The first stage `ngrams`: texts that share runs of letters with a question, whatever their language."""

from collections.abc import Callable

from answer_ranking.data_prep.words import plain_text
from answer_ranking.ranking.search.first_stages.bm25 import BM25
from answer_ranking.ranking.search.first_stages.word_options import WordOptions

_SHORTEST, _LONGEST = 3, 5


def ngrams_of(text: str) -> list[str]:
    """Give the runs of 3 to 5 characters of each word, with the spaces around it, in lower case.

    These are scikit-learn's `char_wb` n-grams. A misspelled word shares most of them with the right one.

    Example:
        >>> ngrams_of("Oui")
        [' ou', 'oui', 'ui ', ' oui', 'oui ', ' oui ']
    """
    runs = []
    for word in plain_text(text).lower().split():
        padded = f" {word} "
        for length in range(_SHORTEST, min(_LONGEST, len(padded)) + 1):
            for start in range(len(padded) - length + 1):
                runs.append(padded[start : start + length])
    return runs


class NGrams(BM25):
    """BM25 with runs of letters in place of words."""

    name = "ngrams"
    file = "ngrams.npz"

    def terms_of(self, words: WordOptions) -> Callable[[str], list[str]]:
        """Give the function that splits a text, whatever a word is."""
        return ngrams_of
