"""How BM25 makes words of a text: stemmed or not, with or without stop words."""

from dataclasses import dataclass

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.words import words_of

_STOP_WORDS = "STOPWORDS_"
"""What the names of bm25s' lists begin with."""
_SHORT = {"english": "EN"}


@dataclass(frozen=True)
class WordOptions:
    """How BM25 makes words of a text.

    Example:
        >>> WordOptions(stop_words=("the",)).words_of("The rivers")
        ['rivers']
    """

    stemmer: str = ""
    """A language of PyStemmer, such as "english"; empty for words as they are."""
    stop_words: tuple[str, ...] = ()
    """What is no word."""

    def __post_init__(self) -> None:
        if self.stemmer and self.stemmer not in (known := _stemmers().algorithms()):
            raise ValueError(
                f"stemmer (--stemmer) must be one of {', '.join(known)}. Received: {self.stemmer!r:.40}"
            )

    @classmethod
    def of_languages(cls, stemmer: str | None = None, stop_words: str | None = None) -> "WordOptions":
        """Choose by languages, such as "english"; a UserError lists those that there are."""
        try:
            return cls(stemmer or "", () if stop_words is None else _stop_words(stop_words))
        except ValueError as error:
            raise UserError(str(error)) from error

    def words_of(self, text: str) -> list[str]:
        """Split a text."""
        words = words_of(text)
        if self.stop_words:
            words = [word for word in words if word not in self.stop_words]
        # One for each text: a stemmer must not serve two threads.
        return _stemmers().Stemmer(self.stemmer).stemWords(words) if self.stemmer else words


def _stemmers():  # type: ignore[no-untyped-def]
    try:
        import Stemmer
    except ImportError as error:
        raise UserError("stemming needs PyStemmer: pip install 'answer-ranking[stemming]'.") from error
    return Stemmer


def _stop_words(language: str) -> tuple[str, ...]:
    from bm25s import stopwords

    lists = {}
    for name in vars(stopwords):
        if name.startswith(_STOP_WORDS):
            lists[name.removeprefix(_STOP_WORDS)] = getattr(stopwords, name)
    found = lists.get(_SHORT.get(language, language.upper()))
    if found is None:
        known = ", ".join(["english", *sorted(name.lower() for name in lists if not name.startswith("EN"))])
        raise ValueError(f"stop_words (--stop-words) must be one of {known}. Received: {language!r:.40}")
    return tuple(found)
