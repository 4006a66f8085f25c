"""Questions that wait are searched together."""

import threading
import time

import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.ranking import AnswerIndex
from answer_ranking.ranking.service.batches import Batches

QUESTION = "Who discovered radium?"


def test_questions_that_wait_are_searched_together_and_fail_alone(folder):
    index, sizes, go = AnswerIndex.open(folder), [], threading.Event()

    def search(questions, k):
        sizes.append(len(questions))
        assert go.wait(60)
        table = index.search(questions, k)
        return [table[table["question"] == each]["candidate"].tolist() for each in questions]

    batches = Batches(search)
    questions = [QUESTION, "Where does the train go?", "What glows?", " "]
    first = batches("", questions[0], 2)
    while not sizes:
        time.sleep(0.01)
    batches._at_once = 8
    others = [batches("", each, 2) for each in questions[1:]]
    given_up = batches("", "Who gave up?", 2)
    assert given_up.cancel()
    go.set()
    found = [each.result(60) for each in (first, *others[:2])]
    with pytest.raises(UserError, match="is empty"):
        others[2].result(60)
    assert sizes[:2] == [1, 3]
    assert found == [index.search(each, 2)["candidate"].tolist() for each in questions[:3]]


def test_questions_whose_filters_are_equal_but_of_other_types_are_not_searched_together():
    asked, go = [], threading.Event()

    def search(questions, where):
        asked.append((questions, repr(where)))
        assert go.wait(60)
        return [repr(where)] * len(questions)

    batches = Batches(search)
    first = batches("", "first", {})
    while not asked:
        time.sleep(0.01)
    batches._at_once = 8
    others = [batches("", "Who?", {"code": value}) for value in (1, True, 1.0, "1", 1)]
    go.set()
    found = [each.result(60) for each in (first, *others)]
    assert found == ["{}", "{'code': 1}", "{'code': True}", "{'code': 1.0}", "{'code': '1'}", "{'code': 1}"]


def test_clients_take_turns_whatever_number_of_questions_they_ask():
    batches_seen, go = [], threading.Event()

    def search(questions):
        batches_seen.append(questions)
        assert go.wait(60)
        return questions

    batches = Batches(search)
    many = [batches("a", "first")]
    while not batches_seen:
        time.sleep(0.01)
    batches._at_once = 2  # and one more after a quick search
    many += [batches("a", f"a{number}") for number in range(5)]
    late = batches("b", "late")
    go.set()
    assert late.result(60) == "late"
    assert [each.result(60) for each in many] == ["first", "a0", "a1", "a2", "a3", "a4"]
    assert batches_seen[1][:2] == ["a0", "late"]
