import base64
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.evaluation.figures import wins_and_losses
from answer_ranking.evaluation.html_page import HtmlPage


class Reader(HTMLParser):
    """Collects the cells and the names of the elements of a page."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.tags, self.sources, self._open = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        self._open = tag
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open == "td":
            self.cells[-1] += data


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=30), min_size=1))
def test_every_text_is_shown_as_it_is(texts):
    page = HtmlPage(texts[0])
    page.table(["a"] * len(texts), [texts])
    page.paragraph(texts[0])
    page.heading(texts[0])
    page.code(texts[0])
    read = Reader(page.render())
    assert read.cells == texts
    plain = HtmlPage("x")
    plain.table(["a"] * len(texts), [["x"] * len(texts)])
    plain.paragraph("x")
    plain.heading("x")
    plain.code("x")
    # No text has become an element.
    assert read.tags == Reader(plain.render()).tags


def test_markup_in_a_text_does_nothing():
    page = HtmlPage("<script>alert(1)</script>")
    page.table(["<b>"], [["<img src=x onerror=alert(1)>"], ["\u0645\u0646\u061f"]])
    page.figure(wins_and_losses({"WO": [0.5]}, model="CTRN"), 'a "caption" <i>')
    text = page.render()
    assert not re.search(r"<(script|b|i)>|<img src=x", text)
    assert '<td dir="auto">\u0645\u0646\u061f</td>' in text
    (source,) = Reader(text).sources
    kind, _, data = source.partition(",")
    # Nothing is asked of another file or address.
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")
    assert 'alt="a &quot;caption&quot; &lt;i&gt;"' in text
