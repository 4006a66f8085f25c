"""Why rows of the table of goals are missed, as the benchmarks measure it."""

import time
from collections import Counter

import causes
import search
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


def test_causes_are_given_to_rows_that_exist_and_tell_what_was_measured():
    parts = {"whole": [0.01], "codes": [0.002], "exact": [0.003], "texts": [0.001], "words": [0.001]}
    index = {
        "parts": {**parts, "point": [0.0005], "rest": [0.0025]},
        "searches": {"nearest": {"median_ms": 10, "p95_ms": 11}},
        "build_seconds": 1.0,
        "build_peak_bytes": 1,
        "long_list": {"seconds": 2.0, "words": 1.5, "scores": 0.4, "seconds_again": 1.0},
        "shell": {
            "seconds": 3.0,
            "peak_bytes": 2_900_000_000,
            "parts": {"imports": 1.0, "opening": 0.5, "search": 0.7, "private_bytes": 400_000_000},
        },
    }
    chosen = {"recall_at_10": 1.0, "speed_against_flat": 9.0, "median_ms": 3.4}
    points = {"chosen": chosen, "stock": {"chosen": {"lists": 256}}, "codes_ms": 1.4}
    rows = search.collected(index, points, points)["table"]
    assert rows.keys() <= {row.name for row in table.ROWS if row.record == "search.json"}
    found = [row["cause"] for row in rows.values()]
    assert "codes alone take 1.4 ms, the exact comparison 2.0; faiss' index looks through 256" in found[0]
    assert found[1].startswith("of 10.0 ms the codes of the points take 2.0, the exact comparison 3.0")
    assert "Python and the command line 0.8; of the peak of 2.9 GB 0.4 are private" in found[-1]


def test_the_wait_of_clients_follows_from_the_searches_of_a_second():
    cause = service.cause_of(clients=16, wall=10, n=1_000, served=12, asked=5)
    assert cause.startswith("a search takes the server 12.0 ms of a processor")
    assert cause.endswith("16 clients, who ask without a pause, wait 160 ms on average")
    of_service = {row.name for row in table.ROWS if row.record == "service.json"}
    assert of_service == {service.ROW, f"{service.ROW}, p99"}
