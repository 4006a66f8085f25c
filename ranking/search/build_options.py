"""What a new index is to have."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

from answer_ranking.base.errors import UserError
from answer_ranking.base.ranges import check_range
from answer_ranking.ranking.search.answers import Reading
from answer_ranking.ranking.search.confidence import Confidence
from answer_ranking.ranking.search.first_stages.word_options import WordOptions


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Reading):
    """The options of `AnswerIndex.build`: how tables are read (`Reading`), and what is made of them.

    Example:
        >>> BuildOptions(question_column="asked").names_in_index(["asked", "answer"])
        ['indexed_question', 'candidate']
    """

    first_stages: Sequence[str] | None = None
    """The names of those to have (`search.first_stages`). None: all that go without a model or with this one;
    those that take much space, only up to some number of answers."""
    stemmer: str | None = None
    """The language in which BM25 stems words, such as "english"."""
    stop_words: str | None = None
    """The language of the words that BM25 leaves out."""
    default_stage: str = ""
    """The first stage of a search that names none; "": see `AnswerIndex.search`."""
    confidence: Confidence | None = None
    """What `AnswerIndex.calibrate` learnt in an index of the same texts."""

    def __post_init__(self) -> None:
        for name in ("passage_length", "chunk_rows"):
            if not isinstance(getattr(self, name), Integral):
                raise UserError(f"{name} must be a whole number. Received: {getattr(self, name)!r}")
        check_range(self, "passage_length", at_least=0)
        check_range(self, "chunk_rows", at_least=1)
        for name in ("search", "first_stages"):
            chosen = getattr(self, name)
            if chosen is not None and not len(chosen):
                raise UserError(f"{name} must name one at least. Leave it out for the usual ones.")

    @cached_property
    def words(self) -> WordOptions:
        """How BM25 makes words of a text; a UserError names the languages that there are."""
        return WordOptions.of_languages(self.stemmer, self.stop_words)
