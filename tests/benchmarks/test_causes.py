"""Why rows of the table of goals are missed, as the benchmarks measure it."""

import time
from collections import Counter

import causes
import service
import table


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


def test_the_wait_of_clients_follows_from_the_searches_of_a_second():
    cause = service.cause_of(clients=16, wall=10, n=1_000, served=12, asked=5)
    assert "12.0 ms" in cause and "160 ms" in cause
    of_service = {row.name for row in table.ROWS if row.record == "service.json"}
    assert of_service == {service.ROW, f"{service.ROW}, p99"}
