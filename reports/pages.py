"""Pages as Jinja templates: `render` fills one from `templates/`."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from answer_ranking.evaluation.tables import wrapped


def render(template: str, **values: Any) -> str:
    """Fill a template of `reports/templates`; a name that it uses and `values` lacks is an error.

    Example:
        >>> render("search.md.j2", figures=None)
        'The benchmark has not been run yet.'
    """
    return _environment().get_template(template).render(values).strip()


@cache
def _environment() -> Environment:
    pages = Environment(
        loader=PackageLoader("answer_ranking.reports"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # The pages are Markdown, not HTML.
        autoescape=False,
    )
    pages.filters["number"] = format
    pages.filters["paragraph"] = _paragraph
    return pages


def _paragraph(text: str) -> str:
    """Fill lines of at most 120 characters, however the template breaks them."""
    return wrapped(" ".join(text.split())) + "\n"
