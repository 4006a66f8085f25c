"""Questions that wait are searched together."""

import threading
import time

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

    batches, found = Batches(search), {}

    def run(question):
        try:
            found[question] = batches(question, 2)
        except UserError as error:
            found[question] = str(error)

    questions = [QUESTION, "Where does the train go?", "What glows?", " "]
    threads = [threading.Thread(target=run, args=(each,)) for each in questions]
    threads[0].start()
    while not sizes:
        time.sleep(0.01)
    for thread in threads[1:]:
        thread.start()
    while len(batches._waiting[(2,)]) < 3:
        time.sleep(0.01)
    go.set()
    for thread in threads:
        thread.join()
    assert sizes[:2] == [1, 3] and "is empty" in found.pop(" ")
    assert found == {each: index.search(each, 2)["candidate"].tolist() for each in questions[:3]}
