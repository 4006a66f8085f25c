"""The exception for errors that the user can fix, and what is said beside them."""

import re
import sys

# What may command a terminal, or turn the direction of a text; line ends stay.
_COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    r"""Write the control characters of a text, which a file may hold to command the terminal, as escapes.

    Example:
        >>> print(escaped("a\x1b[31m"))
        a\x1b[31m
    """
    return _COMMANDS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def say(text: str) -> None:
    """Print a note to standard error."""
    print(escaped(text), file=sys.stderr)


class UserError(Exception):
    """Something the user can fix: a missing file, a malformed row, an unknown option.

    The message names the file and the row where there is one, and says what to do. Control characters in it
    are shown as escapes. Command lines print it as `error: ...` and exit with code 2, without a traceback.
    """

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message))


class TrainingDivergedError(UserError):
    """Something stopped being finite; the message says what, and where it is known at which step."""


class DamagedFileError(UserError):
    """A file of an index that cannot be read."""


def damaged(place: object, what: str, files: str = "the file") -> UserError:
    """Make the error for a fetched file that is not what it should be; `place` names it, and the line."""
    return UserError(f"{place}: {what}. Fetch {files} again.")
