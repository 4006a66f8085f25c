"""Texts that a spreadsheet would take for formulas, in the CSV files that the program writes."""

import re
from numbers import Number
from typing import Any

# Where East Asian letters are written, spreadsheets take the wide signs for the narrow ones.
_FORMULA = re.compile("'*[=+@\t\r\n\uff1d\uff0b\uff20\uff0d-]")


def with_formula_mark(value: Any) -> Any:
    """Put an apostrophe before a text that would be a formula, or that could be mistaken for a marked one.

    A number, of whatever kind, stays one.

    Example:
        >>> [with_formula_mark(each) for each in ("=1+1", "'=1", "1+1", -1)]
        ["'=1+1", "''=1", '1+1', -1]
    """
    return f"'{value}" if not isinstance(value, Number) and _FORMULA.match(str(value)) else value


def has_formula_marks(text: str, separator: str) -> bool:
    """Say whether there may be marked texts in a file; most files have none."""
    return "'" in text and any(f"{before}'" in text for before in (separator, '"', "\n", "\r"))


def without_formula_mark(text: str) -> str:
    """Take the apostrophe away that `with_formula_mark` put there.

    Example:
        >>> without_formula_mark("'=1+1"), without_formula_mark("'tis")
        ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
