"""The exception for errors that the user can fix, and the check of numeric options."""

import math


class UserError(Exception):
    """Something the user can fix: a missing file, a malformed row, an unknown option.

    The message names the file and the row where there is one, and says what to do. Command lines
    print it as `error: ...` and exit with code 2, without a traceback.
    """


def check_range(
    options: object,
    *names: str,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> None:
    """Raise a UserError if one of these attributes of `options` lies outside the range; None passes."""
    for name in names:
        value = getattr(options, name)
        if value is None or (at_least <= value <= at_most and above < value < below):
            continue
        words = {"at least": at_least, "above": above, "at most": at_most, "below": below}
        limits = " and ".join(f"{word} {limit}" for word, limit in words.items() if math.isfinite(limit))
        raise UserError(f"{name} must be {limits}. Received: {value}")
