"""The page, as a browser gets it."""

from html.parser import HTMLParser

import pandas as pd
import pytest

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
    view = {"q": 'Is "radium" <b>?', "left": "nearest", "right": "bm25", "compare": 1, "why": answers[2]}
    answer = client.get("/", params=view)
    page = Page(answer.text)
    assert all(text in page.text for text in answers)
    assert [each["src"] for each in page.all("script")] == ["page.js"] and not page.all("b")
    assert page.all("input")[0]["value"] == 'Is "radium" <b>?'
    assert len(page.all("ol")) == 2 and page.all("html")[0]["lang"] == "en"
    named = {each["for"] for each in page.all("label") if "for" in each} | {"compare"}
    assert {each["id"] for tag in ("input", "select", "textarea") for each in page.all(tag)} <= named
    paths = ("/style.css", "/page.js", "/favicon.svg", "/api/docs")
    for each in (answer, *map(client.get, paths)):
        policy = each.headers["content-security-policy"]
        assert each.status_code == 200 and "default-src 'none'" in policy and "unsafe" not in policy
        assert "http://" not in each.text.replace("http://www.w3.org/", "") and "https://" not in each.text
        assert " style=" not in each.text  # which the policy forbids


def test_why_keeps_the_view_and_candidates_of_one_s_own_are_ranked(client, preset, answers):
    asked = {"q": QUESTION, "candidates": "\n".join(answers), "left": "model"}
    page = Page(client.get("/", params=asked).text)
    assert all(text in page.text for text in answers)
    (why, *_) = [each for each in page.all("button") if each.get("name") == "why"]
    assert why["value"] == preset.rank(QUESTION, answers)["candidate"][0]
    again = Page(client.get("/", params=asked | {"why": why["value"]}).text)
    assert len(again.all("ol")) == 1 and "Why this answer" in again.text and again.all("circle")


def test_an_answer_of_several_lines_is_explained_in_its_place(preset, tmp_path, served):
    """A browser sends the ends of lines as CR LF."""
    faq = pd.DataFrame({"answer": ["Radium glows.\nMarie Curie found it.", "It rained."]})
    with served(Engine(AnswerIndex.build(preset, faq, tmp_path / "faq").folder)) as client:
        shown = {}
        for ends in ("\n", "\r\n"):
            why = faq["answer"][0].replace("\n", ends)
            page = Page(client.get("/", params={"q": QUESTION, "why": why}).text)
            shown[ends] = [each.get("class") for each in page.all("li")]
        assert shown["\n"] == shown["\r\n"] and "chosen" in shown["\n"]


def test_questions_and_links_of_an_faq_are_shown(tmp_path, served):
    faq = {
        "question": ["怎么重置密码？", "How do I pay?"],
        "answer": ["在设置中重置密码。", "By card."],
        "source": ["https://faq.example/1", "javascript:alert(1)"],
    }
    AnswerIndex.build(None, pd.DataFrame(faq), tmp_path / "index")
    with served(Engine(tmp_path / "index")) as client:
        start = Page(client.get("/").text)
        assert [each["href"] for each in start.all("a") if "?q=" in each["href"]]
        assert "How do I pay?" in start.text
        shown = client.get("/", params={"q": "如何重置密码"}).text
        assert 'href="https://faq.example/1"' in shown and "<mark>重</mark><mark>置</mark>" in shown
        assert "javascript:" not in "".join(
            each.get("href", "") for each in Page(client.get("/", params={"q": "card"}).text).all("a")
        )


@pytest.mark.parametrize(
    ("path", "status"), [("/?k=0", 422), ("/nowhere", 404), ("/?q=" + "a" * 65_000, 414), ("/?q=a&k=51", 422)]
)
def test_errors_are_pages_for_a_browser(client, path, status):
    answer = client.get(path, headers={"accept": "text/html"})
    assert answer.status_code == status and answer.headers["content-type"].startswith("text/html")
    page = Page(answer.text)
    assert [each for each in page.all("p") if each.get("role") == "alert"] and page.all("a")
    wants_json = client.get(path, headers={"accept": "application/json"})
    assert wants_json.status_code == status


def test_a_page_without_a_model_of_points_has_no_dead_links(preset, tmp_path, answers, served):
    words = AnswerIndex.build(None, pd.DataFrame({"answer": answers}), tmp_path / "words").folder
    with served(Engine(words)) as client:
        assert len(Page(client.get("/", params={"q": QUESTION}).text).all("button")) == 1
        found = client.post("/api/rank", json={"question": QUESTION, "candidates": answers})
        assert found.status_code == 422 and "letters" in found.text  # and not by BM25 alone
    with served(Engine(words, reranker=preset)) as client:
        page = Page(client.get("/", params={"q": QUESTION, "why": answers[0]}).text)
        assert len(page.all("button")) > 1 and "Why this answer" in page.text and not page.all("svg")


def test_the_page_grows_with_the_candidates_alone(folder, served):
    with served(Engine(folder)) as client:
        sizes = []
        for n in (200, 400):
            asked = {"q": QUESTION, "candidates": "\n".join(f"radium {i} " + "x" * 80 for i in range(n))}
            sizes.append(len(client.get("/", params=asked).text))
        assert sizes[1] < 2.1 * sizes[0]
