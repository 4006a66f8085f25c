"""Pages as Jinja templates: `render` fills one that stands beside the module that computes its values."""

from functools import cache
from textwrap import fill
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from answer_ranking.evaluation.tables import format_measured, short_vectors

_COLUMNS = 120


def render(template: str, **values: Any) -> str:
    """Fill a template below `reports/`; a name that it uses and `values` lacks is an error.

    Example:
        >>> render("studies/eq9_grid.md.j2", studies=[])
        'The grid has not been run yet.'
    """
    return _environment().get_template(template).render(values).strip()


@cache
def _environment() -> Environment:
    pages = Environment(
        loader=PackageLoader("answer_ranking.reports", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # The pages are Markdown, not HTML.
        autoescape=False,
    )
    pages.filters["cell"] = _cell
    pages.filters["item"] = _item
    pages.filters["measured"] = format_measured
    pages.filters["number"] = format
    pages.filters["paragraph"] = _paragraph
    pages.filters["table"] = markdown_table
    pages.filters["vectors"] = short_vectors
    return pages


def markdown_table(frame: pd.DataFrame) -> str:
    r"""Set a frame of texts as a Markdown table, the first column to the left and the others to the right.

    Example:
        >>> print(markdown_table(pd.DataFrame({"model": ["A|B"], "MAP": ["0.7"]})))
        | model | MAP |
        | :--- | ---: |
        | A\|B | 0.7 |
    """
    alignment = [":---", *["---:"] * (len(frame.columns) - 1)]
    rows = [frame.columns, alignment, *frame.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _paragraph(text: str) -> str:
    """Fill lines of at most 120 characters, however the template breaks them."""
    return _wrapped(text) + "\n"


def _item(text: str) -> str:
    """Fill the lines of an item of a list."""
    return _wrapped(f"- {text}", "  ") + "\n"


def _wrapped(text: str, indent: str = "") -> str:
    words = " ".join(text.split())
    return fill(words, _COLUMNS, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
