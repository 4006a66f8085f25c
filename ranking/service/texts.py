"""How long the texts of a request may be; a UserError says what is too long."""

import re
from collections.abc import Sequence

from answer_ranking.base.errors import UserError
from answer_ranking.ranking.service.options import ServiceOptions

# The pair is scored once without each word, and others wait for the model meanwhile.
_MOST_EXPLAINED = 400
# A drawing of a grid has a cell for each pair of words; so many take a second or two.
_MOST_CELLS = 4_000
_MOST_ON_DISK = 50  # answers
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


def check_drawn(limits: ServiceOptions, question: str, answers: Sequence[str], method: str) -> None:
    """Check what is to be drawn: answers on the disk, or one pair."""
    if method == "disk":
        check_texts(limits, [question, *answers], len(answers))
        if len(answers) > _MOST_ON_DISK:
            raise UserError(f"At most {_MOST_ON_DISK} answers can be drawn.")
        return
    check_explained(limits, question, answers[0])
    if not fits_a_drawing(question, answers[0]):
        product = "The question's words times the answer's"
        raise UserError(f"{product} are more than {_MOST_CELLS:,}: too many to draw.")


def fits_a_drawing(question: str, answer: str) -> bool:
    """Say whether a pair has few enough words to be drawn."""
    return _words(question) * _words(answer) <= _MOST_CELLS


def _words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))
