"""The page, as a browser gets it."""

import html
import re
from html.parser import HTMLParser

import pandas as pd

from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.service.engine import Engine

QUESTION = "Who discovered radium?"


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def test_the_page_shows_texts_as_texts(client, answers):
    answer = client.get(
        "/", params={"q": 'Is "radium" <b>?', "left": "nearest", "right": "bm25", "why": answers[2]}
    )
    page = Page(answer.text)
    assert all(text in page.text for text in answers)
    assert [each["src"] for each in page.all("script")] == ["page.js"] and not page.all("b")
    assert page.all("input")[0]["value"] == 'Is "radium" <b>?'
    assert len(page.all("ol")) == 2 and page.all("html")[0]["lang"] == "en"
    named = {each["for"] for each in page.all("label")}
    assert {each["id"] for tag in ("input", "select", "textarea") for each in page.all(tag)} <= named
    for image in page.all("img"):
        assert image["alt"]
        drawing = client.get(image["src"])
        assert (
            drawing.status_code == 200 and drawing.text.startswith("<svg") and "<script" not in drawing.text
        )
    for each in (answer, client.get("/style.css"), client.get("/page.js"), client.get("/api/health")):
        policy = each.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "http://" not in each.text and "https://" not in each.text


def test_why_keeps_the_view_and_candidates_of_one_s_own_are_ranked(client, preset, answers):
    asked = {"q": QUESTION, "candidates": "\n".join(answers), "left": "model"}
    page = Page(client.get("/", params=asked).text)
    best = preset.rank(QUESTION, answers)["text"][0]
    (why, *_) = [each for each in page.all("button") if each.get("name") == "why"]
    again = Page(client.get("/", params=asked | {"why": why["value"]}).text)
    assert again.text.count(best) == page.text.count(best) + 1  # as the one that is explained
    assert len(again.all("img")) == 3 and "Why this answer" in again.text
    assert Page(client.get("/", params={"q": QUESTION, "k": 51}).text).all("p")[0]["role"] == "alert"


def test_the_page_says_that_texts_are_too_long_to_be_drawn(client):
    for answer, drawn in (("b " * 50, True), ("b " * 90, False)):
        text = client.get("/", params={"q": "a " * 50, "why": answer}).text
        assert ("too long to be drawn" not in text) == drawn
        assert ("ranker=model" in text) == drawn


def test_a_page_without_a_model_of_points_has_no_dead_links(preset, tmp_path, answers, served):
    words = AnswerIndex.build(None, pd.DataFrame({"answer": answers}), tmp_path / "words").folder
    with served(Engine(words)) as client:
        assert len(Page(client.get("/", params={"q": QUESTION}).text).all("button")) == 1
    with served(Engine(words, second=preset)) as client:
        page = Page(client.get("/", params={"q": QUESTION, "why": answers[0]}).text)
        (image,) = page.all("img")
        assert len(page.all("button")) > 1 and client.get(image["src"]).status_code == 200


def test_a_long_address_is_refused_and_the_page_grows_with_the_candidates_alone(folder, served):
    with served(Engine(folder)) as client:
        sizes = []
        for n in (200, 400):
            asked = {"q": QUESTION, "candidates": "\n".join(f"radium {i} " + "x" * 80 for i in range(n))}
            sizes.append(len(client.get("/", params=asked).text))
        assert sizes[1] < 2.1 * sizes[0]
        assert client.get("/", params={"q": "a" * 65_000}).status_code == 414


def test_the_disk_of_long_answers_has_as_many_as_its_address_can_hold(tmp_path, served):
    answers = [f"radium {number} " + "\u9556" * 700 for number in range(12)]
    AnswerIndex.build("hyperqa_squad", pd.DataFrame({"text": answers}), tmp_path / "index")
    with served(Engine(tmp_path / "index")) as client:
        page = client.get("/", params={"q": "radium", "k": 12, "why": answers[0]}).text
        (drawing,) = [each for each in re.findall(r'src="([^"]+)"', page) if "method=disk" in each]
        assert client.get(f"/{html.unescape(drawing)}").status_code == 200
