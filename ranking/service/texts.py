"""How long the texts of a request may be; a UserError says what is too long."""

import re
from collections.abc import Sequence

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.service.options import ServiceOptions

# The pair is scored once without each word, and others wait for the model meanwhile.
_MOST_EXPLAINED = 400
# A mark of punctuation counts, since the tokenizer makes a token of it.
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")


def check_texts(limits: ServiceOptions, texts: Sequence[str], answers: int = 0) -> None:
    """Check the number of the answers and the words of each text."""
    if answers > limits.most_candidates:
        raise UserError(f"At most {limits.most_candidates} answers are allowed.")
    for text in texts:
        # Without counting: a text has no more words than characters.
        if len(text) > limits.most_words and _words(text) > limits.most_words:
            raise UserError(f"At most {limits.most_words} words of a text are allowed.")


def check_explained(limits: ServiceOptions, question: str, answer: str) -> None:
    """Check a pair that is to be explained."""
    check_texts(limits, [question, answer])
    if _words(question) + _words(answer) > _MOST_EXPLAINED:
        raise UserError(f"At most {_MOST_EXPLAINED} words can be explained.")


def _words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))
