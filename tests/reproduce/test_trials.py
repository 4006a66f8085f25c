"""Files of trials: what was written is read, and what is no trial is named with its line."""

import doctest
import json

import pytest

from data_prep import UserError
from reproduce import trials
from reproduce.trials import append_trial, read_trials

TRIAL = {"options": {"l2": 0.1, "hidden": [4, 5]}, "dev_map": [0.5, 0.25]}


def test_trials_come_back_in_their_order_and_recorded_lines_stay_as_they_are(tmp_path):
    path = tmp_path / "folder" / "trials.jsonl"
    assert read_trials(path, "options") == []
    append_trial(path, TRIAL)
    # As another program may have written it, and without the end of its line.
    by_hand = '{"diverged":"at step 2",   "options":{"l2":1e-1}}'
    path.write_text(path.read_text() + by_hand)
    append_trial(path, {**TRIAL, "seed": 3})
    assert path.read_text().splitlines() == [json.dumps(TRIAL), by_hand, json.dumps({**TRIAL, "seed": 3})]
    assert read_trials(path, "options") == [
        TRIAL,
        {"diverged": "at step 2", "options": {"l2": 0.1}},
        {**TRIAL, "seed": 3},
    ]
    assert [each.name for each in path.parent.iterdir()] == ["trials.jsonl"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (json.dumps(TRIAL)[:-9], r"line 2: no trial \(.*Remove the line"),
        ("", "line 2: no trial"),
        ("[1, 2]", r"line 2: no trial \(without options, dev_map\)"),
        ('{"options": {}}', r"line 2: no trial \(without dev_map\)"),
        ('{"dev_map": 0.5}', r"line 2: no trial \(without options\)"),
        ("\udcff", r"line 2: not UTF-8"),
    ],
)
def test_a_line_that_is_no_trial_is_named(tmp_path, line, message):
    path = tmp_path / "trials.jsonl"
    path.write_bytes(f"{json.dumps(TRIAL)}\n{line}\n{json.dumps(TRIAL)}\n".encode(errors="surrogateescape"))
    with pytest.raises(UserError, match=rf"trials\.jsonl, {message}"):
        read_trials(path, "options")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserError, match="cannot write"):
        append_trial(tmp_path / "file" / "trials.jsonl", TRIAL)


def test_examples():
    assert doctest.testmod(trials).failed == 0
