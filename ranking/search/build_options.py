"""What a new index is to have."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from answer_ranking.ranking.search.answers import Layout
from answer_ranking.ranking.search.confidence import Confidence
from answer_ranking.ranking.search.first_stages.word_options import WordOptions


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The options of `AnswerIndex.build`.

    Example:
        >>> BuildOptions(question_column="asked").layout.question
        'asked'
    """

    search: Sequence[str] | None = None
    """The columns in which words and letters are looked for. None: the question, where the table has one,
    and the answer. The model's points are always those of the answers."""
    first_stages: Sequence[str] | None = None
    """The names of those to have (`search.first_stages`). None: all that go without a model or with this one;
    those that take much space, only up to some number of answers."""
    question_column: str = "question"
    """How the table calls its column of questions."""
    candidate_column: str | None = None
    """How it calls its column of answers; None: candidate, or else answer, answers or text."""
    sheet: str | None = None
    """The sheet of an Excel file; None: the first that is not hidden."""
    drop_bad_rows: bool = False
    """Leave out the rows that are wrong, and print how many."""
    stemmer: str | None = None
    """The language in which BM25 stems words, such as "english"."""
    stop_words: str | None = None
    """The language of the words that BM25 leaves out."""
    passage_length: int = 0
    """Split answers into passages of at most so many characters, between sentences where it can. A search
    finds passages, of each answer the best. 0: whole answers."""
    default_stage: str = ""
    """The first stage of a search that names none; "": see `AnswerIndex.search`."""
    confidence: Confidence | None = None
    """What `AnswerIndex.calibrate` learnt in an index of the same texts."""
    chunk_rows: int = 50_000
    """So many rows are finished and kept at a time."""

    @property
    def layout(self) -> Layout:
        """Where the texts stand in the table."""
        search = tuple(self.search or ())
        return Layout(self.question_column, self.candidate_column, self.sheet, self.drop_bad_rows, search)

    @cached_property
    def words(self) -> WordOptions:
        """How BM25 makes words of a text; a UserError names the languages that there are."""
        return WordOptions.of_languages(self.stemmer, self.stop_words)
