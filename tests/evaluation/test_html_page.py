import base64
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from answer_ranking.evaluation.figures import wins_and_losses
from answer_ranking.evaluation.html_page import HtmlPage


class Reader(HTMLParser):
    """Collects the names of a page's elements, their addresses, and the texts of cells and spans."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sources, self.shown, self._open = [], [], {"td": [], "span": []}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        self._open = tag
        if tag in self.shown:
            self.shown[tag].append("")

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open in self.shown:
            self.shown[self._open][-1] += data


def page_of(texts):
    page = HtmlPage(texts[0])
    page.table(["a"] * len(texts), [texts])
    page.paragraph(texts[0])
    page.heading(texts[0])
    page.code(texts[0])
    page.words(texts, ["+0.5"] * len(texts), [""] * len(texts))
    return Reader(page.render())


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=30), min_size=1))
def test_every_text_is_shown_as_it_is(texts):
    read = page_of(texts)
    assert read.shown["td"] == read.shown["span"] == texts
    # No text has become an element.
    assert read.tags == page_of(["x"] * len(texts)).tags


def test_markup_in_a_text_does_nothing():
    page = HtmlPage("<script>alert(1)</script>")
    page.table(["<b>"], [["<img src=x onerror=alert(1)>"], ["\u0645\u0646\u061f"]])
    page.words(["<i>"], ["+0.5"], [""])
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
