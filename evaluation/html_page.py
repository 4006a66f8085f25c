"""A report as one HTML file that needs no other: figures are embedded, texts are escaped."""

import base64
import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .7rem; text-align: left; vertical-align: top }
td { overflow-wrap: anywhere }
figure { margin: 1.5rem 0 }
figcaption { color: #555 }
img { max-width: 100% }
pre { background: #f5f5f5; padding: .7rem; overflow-x: auto }"""


_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
{body}
</body>
</html>
"""


class HtmlPage:
    """Builds a page from top to bottom; whatever is put in is shown as it is, markup included."""

    def __init__(self, title: str):
        self._title = html.escape(title)
        self._parts = [f"<h1>{self._title}</h1>"]

    def heading(self, text: str) -> None:
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def words(
        self,
        words: Sequence[str],
        titles: Sequence[str],
        styles: Sequence[str],
    ) -> None:
        """Add a paragraph of words with a style each; pointing at a word shows its title."""
        spans = []
        for word, title, style in zip(words, titles, styles, strict=True):
            spans.append(f'<span title="{title}" style="{style}">{html.escape(word)}</span>')
        self._parts.append(f"<p>{' '.join(spans)}</p>")

    def code(self, text: str) -> None:
        self._parts.append(f"<pre>{html.escape(text)}</pre>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        lines = [_table_row(header, "th"), *(_table_row(row, "td") for row in rows)]
        self._parts.append("<table>\n" + "\n".join(lines) + "\n</table>")

    def figure(self, figure: "Figure", caption: str) -> None:
        image = io.BytesIO()
        figure.savefig(image, dpi=150, format="png")
        data = base64.b64encode(image.getvalue()).decode()
        text = html.escape(caption)
        self._parts.append(
            f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def render(self) -> str:
        body = "\n".join(self._parts)
        return _PAGE.format(title=self._title, style=_STYLE, body=body)


def _table_row(cells: Sequence[str], tag: str) -> str:
    # Some languages run from right to left, whatever the language of the page.
    direction = "" if all(map(str.isascii, cells)) else ' dir="auto"'
    filled = [f"<{tag}{direction}>{html.escape(cell)}</{tag}>" for cell in cells]
    return f"<tr>{''.join(filled)}</tr>"
