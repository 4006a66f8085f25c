import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba

from answer_ranking.evaluation import evaluate_ranking
from answer_ranking.evaluation.attention_figures import (
    SIDES,
    accuracy_by_answer_length,
    accuracy_up_to_length,
    attention_heat_map,
    attention_rows,
    correct_answer_lengths,
    words_html,
)

QUESTION, QUESTION_WEIGHTS = ["what", "is", "covered", "?"], [0.1, 0.1, 0.6, 0.2]
ANSWER = [f"word{i}" for i in range(60)]
ANSWER_WEIGHTS = np.linspace(0, 1, 60) / np.linspace(0, 1, 60).sum()


def test_heat_map_shows_every_word_as_strong_as_its_weight():
    figure = attention_heat_map(QUESTION, QUESTION_WEIGHTS, ANSWER, ANSWER_WEIGHTS, title="AP-CNN")
    for axes, words, weights in zip(
        figure.axes, (QUESTION, ANSWER), (QUESTION_WEIGHTS, ANSWER_WEIGHTS), strict=True
    ):
        assert [text.get_text() for text in axes.texts] == words
        strengths = [to_rgba(patch.get_facecolor())[3] for patch in axes.patches]
        full = max(*weights, min(1, 4 / len(words)))
        np.testing.assert_allclose(strengths, np.array(weights) / full, atol=1e-6)


def test_heat_map_takes_any_word(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    words = ["$5", "$x_1^", "\\frac", "é", "<b>", "w" * 2000]
    figure = attention_heat_map(words, np.ones(6), ["yes"], [1.0])
    figure.savefig(tmp_path / "map.png")
    assert [text.get_text() for text in figure.axes[0].texts] == [*words[:-1], "w" * 77 + "…"]
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


class Page(HTMLParser):
    """Collects the spans of a page: text, weight and ground; and every tag and address."""

    def __init__(self, page):
        super().__init__()
        self.spans, self.tags, self.addresses, self._span = [], set(), [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        attrs = dict(attrs)
        self.addresses += [attrs[name] for name in ("src", "href") if name in attrs]
        if tag == "span":
            ground = float(attrs["style"].split("rgba(")[1].split(")")[0].split(",")[3])
            self._span = [float(attrs["title"]), ground]

    def handle_data(self, data):
        if self._span:
            self.spans.append((data, *self._span))
            self._span = None


def test_html_holds_every_word_with_its_weight():
    rows = attention_rows(QUESTION, QUESTION_WEIGHTS, ANSWER, ANSWER_WEIGHTS)
    page = Page(words_html(rows, None, "a summary", colours=SIDES))
    assert [span[0] for span in page.spans] == QUESTION + ANSWER
    weights = [*QUESTION_WEIGHTS, *ANSWER_WEIGHTS]
    np.testing.assert_allclose([span[1] for span in page.spans], weights, atol=5e-5)
    grounds = [*QUESTION_WEIGHTS, *(ANSWER_WEIGHTS / (4 / 60))]
    np.testing.assert_allclose([span[2] for span in page.spans], grounds, atol=5e-4)
    assert page.addresses == []


def test_html_is_escaped():
    words = ['<script>alert("1")</script>', "a&b", '"><img src=x>']
    text = words_html(attention_rows(words, np.ones(3), words, np.ones(3)), None, "</p><script>")
    page = Page(text)
    assert [span[0] for span in page.spans] == words * 2
    assert page.tags == {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "span"}
    assert "<script" not in text


@pytest.mark.parametrize(
    "texts",
    [
        ([], [], ["a"], [1.0]),
        (["a"], [1.0], ["a", "b"], [1.0]),
        (["a"], [np.nan], ["a"], [1.0]),
        (["a"], [1.0], ["a"], [-1.0]),
    ],
)
def test_texts_and_weights_that_do_not_fit_are_refused(texts):
    with pytest.raises(ValueError, match="Received: "):
        attention_heat_map(*texts)


# Four questions: ranked right, wrong, right, and one without a correct answer.
QUESTIONS = ["a", "a", "b", "b", "c", "c", "c", "d"]
LABELS = [1, 0, 1, 0, 1, 1, 0, 0]
SCORES = [2.0, 1.0, 1.0, 2.0, 3.0, 2.0, 1.0, 1.0]
LENGTHS = [10, 99, 20, 1, 20, 40, 3, 8]


def test_accuracy_up_to_a_length():
    lengths = correct_answer_lengths(QUESTIONS, LABELS, LENGTHS)
    assert lengths.to_dict() == {"a": 10.0, "b": 20.0, "c": 30.0}
    table = accuracy_up_to_length(evaluate_ranking(QUESTIONS, LABELS, SCORES), lengths)
    assert table.to_dict("list") == {
        "length": [10.0, 20.0, 30.0],
        "accuracy": [1.0, 0.5, pytest.approx(2 / 3)],
        "questions": [1, 2, 3],
    }


def test_accuracy_by_answer_length_draws_the_mean_over_the_seeds():
    lengths = correct_answer_lengths(QUESTIONS, LABELS, LENGTHS)
    good = evaluate_ranking(QUESTIONS, LABELS, LABELS)
    figure = accuracy_by_answer_length(
        {"AP-CNN": [good], "QA-CNN": [good, evaluate_ranking(QUESTIONS, LABELS, SCORES)]}, lengths, fewest=2
    )
    (axes,) = figure.axes
    first, second = axes.get_lines()
    assert (first.get_label(), second.get_label()) == ("AP-CNN", "QA-CNN (mean of 2 seeds)")
    assert first.get_xydata().tolist() == [[20, 100], [30, 100]]
    np.testing.assert_allclose(second.get_ydata(), [75, 100 * 5 / 6])
    # The last point is the accuracy over all questions that count.
    assert second.get_ydata()[-1] == pytest.approx(100 * (1 + 2 / 3) / 2)


@pytest.mark.parametrize(
    "measure",
    [
        lambda table: accuracy_up_to_length(table, {}),
        lambda table: accuracy_up_to_length(table, {"z": 1.0}),
        lambda table: accuracy_up_to_length(table, {"a": np.nan}),
        lambda table: accuracy_by_answer_length({}, {"a": 1.0}),
        lambda table: accuracy_by_answer_length({"AP-CNN": []}, {"a": 1.0}),
        lambda table: correct_answer_lengths(["a"], [1], [1, 2]),
    ],
)
def test_results_that_do_not_fit_are_refused(measure):
    with pytest.raises(ValueError, match=r"Received: |same length"):
        measure(pd.DataFrame({"p@1": [1.0]}, index=["a"]))
