"""The table of speed, assembled from records."""

import json

import pytest
import table

EPOCH, CTRN, SERVICE, RATE = (table.ROWS[place] for place in (0, 1, -1, -2))


@pytest.fixture
def write(tmp_path):
    """Write a row's figures as a benchmark does, and assemble the row."""

    def written(row, **figures):
        record = {"table": {row.name: figures}, "measured": {"processor": "one", "commit": "abc"}}
        (tmp_path / row.record).write_text(json.dumps(record))
        return table.assembled(row, tmp_path)

    return written


def test_a_row_has_medians_ranges_and_ratios_of_rounds(write):
    made = write(EPOCH, ours=[0.2, 0.1, 0.4], plain=[4.0, 3.0, 16.0], best_plain=[3.0, 1.0, 4.0])
    assert (made["ours"], made["plain"], made["best_plain"]) == (0.2, 4.0, 3.0)
    # 20, 30 and 40; 15, 10 and 10.
    assert made["ratio"] == pytest.approx(30) and made["ratio_best"] == pytest.approx(10)
    assert made["ranges"]["plain"] == [3.0, 16.0]
    assert (made["processor"], made["commit"], made["unit"]) == ("one", "abc", "s")


@pytest.mark.parametrize(("best_plain", "reached", "cause"), [([5.1], True, ""), ([4.9], False, "why")])
def test_only_what_misses_its_goal_has_a_cause(write, best_plain, reached, cause):
    made = write(CTRN, ours=[1.0], plain=[9.0], best_plain=best_plain, cause="why")
    assert (made["reached"], made["cause"]) == (reached, cause)


def test_what_is_not_measured_is_said(write, tmp_path):
    made = table.assembled(EPOCH, tmp_path)
    assert made["reached"] is None and made["ratio"] is None
    assert made["cause"] == f"not measured: {EPOCH.record} is missing"
    assert write(CTRN, plain=[1.0])["cause"] == f"not measured: {CTRN.record} lacks it"


def test_of_rates_the_higher_one_is_better(write):
    made = write(RATE, ours=[600.0], plain=[200.0])
    assert made["reached"] and made["ratio"] == pytest.approx(3)
    assert write(SERVICE, ours=[99.0])["reached"]
    assert not write(SERVICE, ours=[101.0])["reached"]


def test_figures_stand_where_a_record_without_a_table_has_them(tmp_path):
    (tmp_path / RATE.record).write_text(json.dumps({"searches_per_second": 150.0}))
    made = table.assembled(RATE, tmp_path)
    assert (made["ours"], made["reached"], made["cause"]) == (150.0, False, "")
    assert made["processor"] is None


def test_every_row_finds_its_figures_in_the_records():
    missing = [row.name for row in table.ROWS if table.assembled(row, table.RESULTS)["ours"] is None]
    assert missing == []


@pytest.mark.parametrize(("recall", "reached"), [(0.998, True), (0.99, False)])
def test_a_goal_that_names_recall_is_not_reached_by_speed_alone(tmp_path, recall, reached):
    first = {"median_ms": 2.0, "recall_at_10": recall}
    figures = {"of_points": {"norms of the ranker": {"first": first}}}
    (tmp_path / "search.json").write_text(json.dumps(figures))
    row = next(row for row in table.ROWS if row.name == "search of 200,000")
    assert table.assembled(row, tmp_path)["reached"] is reached
