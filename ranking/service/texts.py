"""How long the texts of a request may be; a UserError says what is too long."""

import re
from collections.abc import Callable, Sequence

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep.words import plain_text, with_blanks
from answer_ranking.ranking.ranker import Ranker
from answer_ranking.ranking.service.options import ServiceOptions

# The pair is scored once without each word, and others wait for the model meanwhile.
_MOST_EXPLAINED = 400
# A mark of punctuation counts, since the tokenizer makes a token of it.
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_MOST_OF_CHARACTER = 18  # characters that Unicode's NFKC makes of one


def count_words(text: str) -> int:
    """Count words without a ranker, quickly; a script without blanks has one in each character.

    Example:
        >>> count_words("Who is it?"), count_words("怎么用")
        (4, 3)
    """
    return sum(1 for _ in _WORD.finditer(with_blanks(plain_text(text))))


def tokens_of(ranker: Ranker) -> Callable[[str], int]:
    """Give the function that counts words as a ranker reads them: one long word may be many."""
    return lambda text: len(ranker.open_vocabulary.tokens([text])[0])


def may_be_long(limits: ServiceOptions, text: str) -> bool:
    """Say, without counting, whether a text may have more words than are allowed."""
    return len(text) * (1 if text.isascii() else _MOST_OF_CHARACTER) > limits.most_words


def check_texts(
    limits: ServiceOptions,
    texts: Sequence[str],
    answers: int = 0,
    count: Callable[[str], int] = count_words,
) -> None:
    """Check the number of the answers, and the words of each text."""
    if answers > limits.most_candidates:
        raise UserError(f"At most {limits.most_candidates} answers are allowed.")
    for text in texts:
        if may_be_long(limits, text) and count(text) > limits.most_words:
            raise UserError(f"At most {limits.most_words} words of a text are allowed.")


def check_explained(
    limits: ServiceOptions, question: str, answer: str, count: Callable[[str], int] = count_words
) -> None:
    """Check a pair that is to be explained."""
    check_texts(limits, [question, answer], count=count)
    if count(question) + count(answer) > _MOST_EXPLAINED:
        raise UserError(f"At most {_MOST_EXPLAINED} words can be explained.")
