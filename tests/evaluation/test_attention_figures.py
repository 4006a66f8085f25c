import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from answer_ranking.evaluation import evaluate_ranking
from answer_ranking.evaluation.attention_figures import (
    accuracy_up_to_length,
    attention_heat_map,
    correct_answer_lengths,
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
