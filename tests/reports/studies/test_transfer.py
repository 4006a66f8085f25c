"""The tables and curves of the transfer, on a made-up study."""

import json

import pytest
from made_records import cells_of

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation.figures import quality_by_questions
from answer_ranking.evaluation.records import save_study
from answer_ranking.reports.studies.transfer_page import (
    SCRATCH,
    TITLES,
    TRAINED_ON,
    UNSEEN,
    curves,
    transfer_block,
)


def condition(way, questions, mean, protocol="raw"):
    summary = {"mean": mean, "ci95": 0.01, "per_seed": [mean, mean]}
    return {
        "way": way,
        "questions": questions,
        "rate_factor": None if way == UNSEEN else 0.3,
        "protocol": protocol,
        "metrics": {"map": summary, "mrr": summary | {"mean": mean + 0.05}},
        "metrics_dev": {"map": summary},
    }


@pytest.fixture
def folder(tmp_path):
    ways = [(UNSEEN, 0, 0.5), (SCRATCH, 10, 0.3), (TRAINED_ON, 10, 0.55), (SCRATCH, 80, 0.6)]
    ways.append((TRAINED_ON, 80, 0.7))
    conditions = [condition(*each, "raw") for each in ways] + [condition(*each, "clean") for each in ways]
    pairs = [(UNSEEN, SCRATCH, 0.004), (TRAINED_ON, SCRATCH, 0.02), (TRAINED_ON, UNSEEN, 0.03)]
    tests = [
        {"better": better, "worse": worse, "difference": 0.1, "ci95": 0.05, "p": p}
        for better, worse, p in pairs
    ]
    about = {
        "dataset": "trecqa",
        "title": "TrecQA TRAIN",
        "model": "HyperQA",
        "pretrained_on": "squad-sent",
        "seeds": 2,
        "rate_factors": [0.1, 0.3],
    }
    about |= {"command": "python reproduce/studies/transfer.py"}
    save_study(
        {**about, "comparisons": tests, "conditions": conditions}, tmp_path / "trecqa" / "hyperqa.json"
    )
    return tmp_path


def test_the_ways_side_by_side(folder):
    lines = transfer_block(folder).splitlines()
    (row,) = [line for line in lines if line.startswith("| TrecQA TRAIN, clean, HyperQA | 0.500 ±")]
    cells = cells_of(row)
    assert cells[1:4] == [f"{a:.3f} ± 0.010 / {a + 0.05:.3f} ± 0.010" for a in (0.5, 0.7, 0.6)]
    # Holm over three tests: 3 * 0.004, 2 * 0.02, then no less than that. Of two protocols one is tested.
    assert cells[4:] == [f"+0.100 ± 0.050, p {p}" for p in ("0.012", "0.04", "0.04")]
    assert not any("raw" in line for line in lines)
    (row,) = [line for line in lines if line.startswith("| TrecQA TRAIN, clean, HyperQA | 0.500 / –")]
    assert cells_of(row)[1:] == [
        *("0.500 / –", "0.550* / 0.300*", "0.700* / 0.600*", "80"),
    ]


def test_the_curves_begin_without_questions(folder):
    found = curves(folder)
    assert json.loads(json.dumps(found)) == {
        "TrecQA TRAIN": {
            f"HyperQA, {TITLES[TRAINED_ON]}": [[0, 0.5, 0.01], [10, 0.55, 0.01], [80, 0.7, 0.01]],
            f"HyperQA, {SCRATCH}": [[10, 0.3, 0.01], [80, 0.6, 0.01]],
        }
    }
    (axes,) = quality_by_questions(found).axes
    drawn = [line.get_xydata().tolist() for line in axes.lines if line.get_linestyle() in ("-", "--")]
    assert [[10, 0.3], [80, 0.6]] in drawn and [[0, 0.5], [10, 0.55], [80, 0.7]] in drawn


def test_a_study_without_conditions_is_named(folder):
    path = folder / "trecqa" / "hyperqa.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"conditions": []}))
    with pytest.raises(UserError, match=r"hyperqa\.json has no conditions"):
        transfer_block(folder)
