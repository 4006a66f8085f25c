"""Docstrings for the site: examples in Keras' style (`Example:` and `>>>` below it) become code."""

import re

import griffe


class Examples(griffe.Extension):
    """Give every example the form that griffe reads: `Examples:` with an indented body."""

    def on_object(self, *, obj, **kwargs):
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = indented_examples(obj.docstring.value)


def indented_examples(text: str) -> str:
    r"""Rename `Example:` to `Examples:` and indent a body that stands directly below it.

    Examples:
        >>> indented_examples("Sum.\n\nExample:\n>>> 1 + 1\n2\n\nArgs:\n    x: int.")
        'Sum.\n\nExamples:\n    >>> 1 + 1\n    2\n\nArgs:\n    x: int.'
    """
    head, found, rest = _split(text)
    if not found:
        return text
    lines = rest.splitlines()
    end = next((i for i, line in enumerate(lines) if re.match(r"[A-Z]\w+( \w+)?:$", line)), len(lines))
    body, tail = lines[:end], lines[end:]
    if any(line and not line[0].isspace() for line in body):
        body = [f"    {line}" if line else line for line in body]
    return "\n".join([f"{head}Examples:", *body, *([indented_examples("\n".join(tail))] if tail else [])])


def _split(text: str) -> tuple[str, str, str]:
    match = re.search(r"^Examples?:[ ]*\n", text, re.MULTILINE)
    return (text[: match.start()], match.group(), text[match.end() :]) if match else (text, "", "")
