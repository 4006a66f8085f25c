"""Ranges and choices of options."""

import math
from typing import get_args

from answer_ranking.base.errors import UserError


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
        limits = [f"{word} {limit}" for word, limit in words.items() if math.isfinite(limit)]
        raise UserError(f"{name} must be {' and '.join(limits)}. Received: {value}")


def check_choice(options: object, name: str, choices: object) -> None:
    """Raise a UserError if an attribute of `options` is none of a `Literal`'s values."""
    if (value := getattr(options, name)) not in get_args(choices):
        raise UserError(f"{name} must be one of {get_args(choices)}. Received: {value!r}")
