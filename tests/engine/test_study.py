"""The study engine on a small real study: shared words over a power of the answer's length, on the sample."""

import json
import os
import subprocess
import sys
import time

import pandas as pd
import pytest

from answer_ranking.base.errors import TrainingDivergedError, UserError
from answer_ranking.data_prep import load_dataset
from answer_ranking.engine import Study, StudyRecord
from answer_ranking.engine.study import present, read_rows
from answer_ranking.evaluation.metrics import evaluate_ranking, summarise

POWERS = [{"key": f"power-{power}", "power": power} for power in (0, 0.5, 1, 2)]
SEEDS = (3, 4)
# The study as a program; its first argument is the folder, its second the seconds that a row takes.
PROGRAM = """
import sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from test_study import POWERS, SEEDS, measure, study
from answer_ranking.base.command import run_command

def slowly(condition, seed):
    with (folder / "measured").open("a") as file:
        print(condition["power"], seed.number, file=file, flush=True)
    time.sleep(float(sys.argv[2]))
    return measure(condition, seed)

folder = Path(sys.argv[1])
run_command(lambda: study(folder, slowly).frame(POWERS, SEEDS))
"""


def measure(condition, seed):
    """Score dev; ties are broken by the seed."""
    table = load_dataset("sample").dev
    scores = []
    for question, answer in zip(table["question"], table["candidate"], strict=True):
        words = answer.split()
        scores.append(len(set(words) & set(question.split())) / len(words) ** condition["power"])
    ids, labels = table["question_id"].tolist(), table["label"].to_numpy()
    ranked = evaluate_ranking(ids, labels, scores, tie_seed=seed.number)
    return {"dev_map": summarise(ranked, "answerable")["map"]}


def study(folder, function=measure, **options):
    return Study(measure=function, rows=folder / "rows.jsonl", folder=folder / "state", **options)


def without_seconds(frame):
    return frame.drop(columns="seconds")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return study(tmp_path_factory.mktemp("unbroken")).frame(POWERS, SEEDS)


@pytest.fixture
def start(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(here=os.path.dirname(__file__)))  # noqa: PTH120

    def start(seconds):
        command = [sys.executable, str(script), str(tmp_path), str(seconds)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    return start


def measured(folder):
    path = folder / "measured"
    return path.read_text().splitlines() if path.exists() else []


def test_a_row_per_condition_and_seed_and_the_best_on_dev(unbroken, tmp_path):
    assert list(zip(unbroken["power"], unbroken["seed"], strict=True)) == [
        (condition["power"], seed) for condition in POWERS for seed in SEEDS
    ]
    means = {}
    for condition in POWERS:
        own = unbroken[unbroken["power"] == condition["power"]]["dev_map"]
        means[condition["power"]] = sum(own) / len(own)
    assert study(tmp_path).best(unbroken, "power") == max(means, key=means.get)


def test_a_study_that_was_killed_goes_on_to_the_same_frame(unbroken, start, tmp_path):
    process = start(0.1)
    while len(measured(tmp_path)) < 4:
        time.sleep(0.02)
    process.kill()
    process.wait()
    kept = read_rows(tmp_path / "rows.jsonl")
    assert len(kept) == 3
    calls = []

    def noted(condition, seed):
        calls.append((condition["power"], seed.number))
        return measure(condition, seed)

    again = study(tmp_path, noted).frame(POWERS, SEEDS)
    assert len(calls) == len(unbroken) - len(kept)
    pd.testing.assert_frame_equal(without_seconds(again), without_seconds(unbroken))
    study(tmp_path, lambda *_: pytest.fail("it is there")).frame(POWERS, SEEDS)


def test_two_processes_share_the_rows(unbroken, start, tmp_path):
    both = [start(0.2), start(0.2)]
    own_lines = [process.communicate()[0].count("dev map") for process in both]
    assert [process.returncode for process in both] == [0, 0]
    # Each row was measured once, and both have measured some.
    assert len(measured(tmp_path)) == len(set(measured(tmp_path))) == len(unbroken) == sum(own_lines)
    assert min(own_lines) > 0
    found = study(tmp_path, lambda *_: pytest.fail("it is there")).frame(POWERS, SEEDS)
    pd.testing.assert_frame_equal(without_seconds(found), without_seconds(unbroken))


def test_a_row_that_two_processes_measured_in_other_folders_is_kept_once(tmp_path):
    calls = []

    def slow(condition, seed):
        calls.append(condition["key"])
        # Meanwhile a process with another --output, which is locked elsewhere, measures the same.
        others.frame(POWERS[:1], [0])
        return measure(condition, seed)

    others = Study(measure=measure, rows=tmp_path / "rows.jsonl", folder=tmp_path / "other")
    found = study(tmp_path, slow).frame(POWERS[:1], [0])
    assert len(calls) == len(found) == len(read_rows(tmp_path / "rows.jsonl")) == 1


def test_rows_in_turn_see_those_before(tmp_path):
    def running_sum(condition, seed):
        before = sum(row["dev_map"] for row in read_rows(tmp_path / "rows.jsonl"))
        return {"dev_map": before + condition["power"]}

    found = study(tmp_path, running_sum, in_turn=True).frame(POWERS, [0])
    assert found["dev_map"].tolist() == [0, 0.5, 1.5, 4.0]


def test_another_place_measures_anew_and_more_conditions_are_added(unbroken, tmp_path):
    few = study(tmp_path).frame(POWERS[:1], SEEDS)
    pd.testing.assert_frame_equal(without_seconds(few), without_seconds(unbroken[:2]))
    path = tmp_path / "rows.jsonl"
    before = path.read_text()
    assert len(study(tmp_path).frame(POWERS[2:], SEEDS)) == 4
    assert path.read_text().startswith(before) and len(read_rows(path)) == 6


def test_a_condition_that_diverges_is_a_row_and_not_chosen(tmp_path):
    def diverging(condition, seed):
        if condition["power"] == 2 and seed.number == 4:
            raise TrainingDivergedError("Training stopped at step 1")
        return {"dev_map": [0.1, condition["power"]]}

    tried = study(tmp_path, diverging)
    found = tried.frame(POWERS, SEEDS)
    assert found["diverged"].dropna().tolist() == ["Training stopped at step 1"]
    assert [row.keys() >= {"dev_map"} for row in present(found)] == [True] * 7 + [False]
    assert tried.best(found, "power") == 1
    assert tried.best(found[found["power"] == 2], "power") is None
    with pytest.raises(UserError, match="no data"):
        study(tmp_path / "b", lambda *_: (_ for _ in ()).throw(UserError("no data"))).frame(POWERS, [0])


def test_the_best_epoch_of_a_row_counts_and_not_its_last(tmp_path):
    curves = {0: [0.2, 0.9, 0.1], 0.5: [0.5, 0.6, 0.7], 1: [0.3, 0.3, 0.8], 2: [0.8, 0.2, 0.2]}
    tried = study(tmp_path, lambda condition, seed: {"dev_map": curves[condition["power"]]})
    assert tried.best(tried.frame(POWERS, [0]), "power") == 0


@pytest.mark.parametrize("text", ['{"key": "a", "seconds": 1', '{"key": "a"}', "[1]"])
def test_damaged_rows_are_named(tmp_path, text):
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(UserError, match=r"rows\.jsonl is damaged"):
        study(tmp_path).frame(POWERS, [0])


def record(path, dataset="sample", seeds=2, **options):
    return StudyRecord(path, {"dataset": dataset}, {"seeds": seeds}, **options)


def test_a_record_is_lost_to_nothing_smaller(tmp_path, capsys):
    path = tmp_path / "results" / "a.json"
    both = [record(path), record(path, seeds=3)]
    both[1].write({"dataset": "sample", "seeds": 3, "conditions": []})
    assert str(path) in capsys.readouterr().out
    before = path.read_bytes()
    # It was written while the smaller study ran.
    with pytest.raises(UserError, match=r"a\.json is a record with more .*: seeds: 3\. .*--record"):
        both[0].write({"dataset": "sample", "seeds": 2, "conditions": []})
    with pytest.raises(UserError, match="seeds: 3"):
        record(path)
    with pytest.raises(UserError, match="is a record of sample"):
        record(path, dataset="wikiqa", seeds=3)
    assert path.read_bytes() == before
    for text, message in (("{", "is not JSON"), (json.dumps({"dataset": "sample"}), "is not a record")):
        path.write_text(text)
        with pytest.raises(UserError, match=message):
            record(path)


def test_what_a_record_covers_may_be_sets(tmp_path):
    path = tmp_path / "a.json"
    record(None).write({})
    record(path).write({"dataset": "sample", "seeds": 1, "conditions": ["x", "y"]})

    def of(conditions):
        return StudyRecord(
            path,
            {"dataset": "sample"},
            {"conditions": conditions},
            extent_of=lambda old: {"conditions": set(old["conditions"]), "sizes seen then": {1}},
        )

    of({"x", "y", "z"})
    with pytest.raises(UserError, match="conditions: y"):
        of({"x"})
