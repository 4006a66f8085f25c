"""The pages in one design: the service's, the reasons of a score, and the report of a training."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

FOLDER = Path(__file__).parent


def render(name: str, **values: Any) -> str:
    """Fill in a template; texts are shown as they are, markup included."""
    return _templates().get_template(name).render(values)


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    # For pages that are one file; the service's pages load it.
    templates.globals["style"] = (FOLDER / "style.css").read_text(encoding="utf-8")
    return templates
