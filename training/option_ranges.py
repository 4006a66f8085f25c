"""Ranges of numeric options."""

import math

from data_prep.errors import UserError


def check_range(
    options: object,
    name: str,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> None:
    """Refuse an option that lies outside its range; None passes.

    Args:
        options: an object that has the option as an attribute.
        name: the attribute.
        at_least: the least value.
        above: what every value exceeds.
        at_most: the greatest value.
        below: what no value reaches.

    Raises:
        UserError: the option is not a finite number in the range.

    Example:
        >>> from types import SimpleNamespace
        >>> check_range(SimpleNamespace(margin=0.5), "margin", above=0)
    """
    value = getattr(options, name)
    if value is None or (at_least <= value <= at_most and above < value < below):
        return
    words = {"at least": at_least, "above": above, "at most": at_most, "below": below}
    limits = " and ".join(f"{word} {limit}" for word, limit in words.items() if math.isfinite(limit))
    raise UserError(f"{name} must be {limits}. Received: {value}")
