"""Causes of results below the printed values, on made-up records."""

import pytest
from made_records import cells_of, made_record, summary

from answer_ranking.evaluation.papers import read_papers
from answer_ranking.reports.studies.causes import OPEN, RULED_OUT, SUPPORTED, WORSE, causes_block, verdict

PAPERS = read_papers()


def record(mean, **changes):
    options = {"dimension": 400, "lowercase": True, "epochs": 25, "embeddings": ["glove"]}
    changes["configuration"] = options | changes.get("configuration", {})
    return made_record(**{"metrics": {"map": summary(mean, 0.006, 0.02)}} | changes)


@pytest.mark.parametrize(
    ("gain", "noise", "gap", "expected"),
    [
        (0.02, 0.01, 0.05, SUPPORTED),
        (-0.02, 0.01, 0.05, WORSE),
        (0.005, 0.01, 0.05, RULED_OUT),
        (-0.005, 0.01, 0.05, RULED_OUT),
        (0.005, 0.05, 0.05, OPEN),
    ],
)
def test_verdicts(gain, noise, gap, expected):
    assert verdict(gain, noise, gap) == expected


def test_a_table_for_what_is_below_print_only():
    assert causes_block([record(0.71, main=True)], PAPERS) == "No result is below the printed value."
    # Of another paper nothing is known.
    assert causes_block([record(0.5, main=True, paper="mine")], PAPERS).startswith("No result")
    main = record(0.66, main=True)
    others = [
        record(0.69, configuration={"dimension": 100}),
        record(0.64, configuration={"embeddings": ["other"]}, embeddings="other"),
        # An option that the project no longer has, and another name for the same vectors.
        record(0.661, configuration={"lowercase": False, "removed": 1, "embeddings": ["alias"]}),
        # Of several changes at once none can be named.
        record(0.70, configuration={"lowercase": False, "epochs": 3}),
        record(0.70, dataset="trecqa"),
        # One seed has no interval.
        record(
            0.72, configuration={"epochs": 3}, metrics={"map": {"mean": 0.7, "ci95": None, "per_seed": [0.7]}}
        ),
    ]
    searched = record(0.70, search={"trials": 24})
    lines = causes_block([main, *others], PAPERS, [searched]).splitlines()
    rows = list(map(cells_of, lines[2:]))
    assert rows[0][:4] == ["**HyperQA**, wikiqa, filtered", "MAP", "0.712", "0.660 ± 0.006"]
    assert rows[1][:4] == [""] * 4
    # The best seed of 0.68 is 0.032 below the printed value.
    assert [[row[4], row[7], row[8]] for row in rows] == [
        ["seeds", "+0.020", RULED_OUT],
        ["model", "+0.030", SUPPORTED],
        ["word vectors", "-0.020", WORSE],
        ["tokens", "+0.001", RULED_OUT],
        ["search of options", "+0.040", SUPPORTED],
    ]
    assert rows[1][5] == "dimension = 100" and rows[3][5] == "lowercase = false"
