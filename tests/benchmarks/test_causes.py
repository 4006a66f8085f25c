"""Why rows of the table of goals are missed, as the benchmarks measure it."""

import time
from collections import Counter

import causes


class Work:
    def sleep(self, seconds):
        time.sleep(seconds)
        return seconds

    def twice(self, seconds):
        return [self.sleep(seconds), self.sleep(seconds)]


def test_the_seconds_of_methods_are_added_up_until_the_end():
    work, spent = Work(), Counter()
    with causes.watched(spent, ("inner", work, "sleep"), ("outer", work, "twice")):
        assert work.twice(0.02) == [0.02, 0.02]
    assert 0.04 <= spent["inner"] <= spent["outer"]
    before = dict(spent)
    work.twice(0.01)
    assert spent == before and not vars(work)
