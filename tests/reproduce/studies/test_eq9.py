"""The study of Eq. 9 on the sample: it goes on where it stopped, leaves test alone while it tunes, and sums
up what its runs hold.
"""

import itertools
import json
from types import SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
import pytest
import tyro

from answer_ranking.data_prep import UserError
from answer_ranking.engine.study import as_json, read_rows
from answer_ranking.reproduce.experiments.options import RESULTS
from answer_ranking.reproduce.studies import eq9
from answer_ranking.reproduce.studies.eq9 import FIRST_TUNING_SEED, Config, study, tune
from answer_ranking.training import TrainingDivergedError

DIVERGING = 1e38


def options(folder, **changes):
    values = {
        "dataset": "sample",
        "conditions": ("none", "points"),
        "learning_rates": (0.1, DIVERGING),
        "tuning_seeds": 1,
        "seeds": 2,
        "dimension": 4,
        "epochs": 2,
        "record": "eq9/sample",
        "results": folder / "results",
        "output": folder / "output",
    }
    return Config(**values | changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def done(folder):
    """The study, whose tuning trains nothing: the test of a condition that diverges at every rate does."""
    real = eq9.train

    def train(experiment, data, seed):
        if experiment.training.learning_rate == DIVERGING:
            raise TrainingDivergedError("Training stopped at step 1")
        if seed.number >= FIRST_TUNING_SEED:
            return None, SimpleNamespace(history=[{"dev_map": 0.5}], best_epoch=0)
        return real(experiment, data, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eq9, "train", train)
        path = study(options(folder))
    return path, json.loads(path.read_text())


@pytest.fixture
def trained(monkeypatch):
    """What is trained from here on: a list of reading and seed."""
    calls, train = [], eq9.train

    def noted(experiment, data, seed):
        calls.append((experiment.training.eq9, seed.number))
        return train(experiment, data, seed)

    monkeypatch.setattr(eq9, "train", noted)
    return calls


def without_times(record):
    return [each | {"seconds_per_epoch": None} for each in record["conditions"]]


def test_a_rate_that_diverges_is_recorded_and_not_chosen(done, folder):
    _, record = done
    path = folder / "results" / "eq9" / "sample.trials.jsonl"
    trials = [json.loads(line) for line in path.read_text().splitlines()]
    tried = [(each["condition"], each["learning_rate"], each["seed"]) for each in trials]
    assert tried == list(itertools.product(("none", "points"), (0.1, DIVERGING), (1000,)))
    diverged = [trial for trial in trials if "diverged" in trial]
    assert [trial["learning_rate"] for trial in diverged] == [DIVERGING] * 2
    assert all("Training stopped at step" in trial["diverged"] for trial in diverged)
    assert [each["learning_rate"] for each in record["conditions"]] == [0.1, 0.1]


def test_the_summary_has_the_numbers_of_the_runs(done, folder):
    _, record = done
    runs = read_rows(folder / "output" / "eq9" / "sample.jsonl")
    assert len(runs) == 4
    for each in record["conditions"]:
        found = each["metrics"]["map"]
        mine = [run["test"]["map"] for run in runs if run["reading"] == each["condition"]]
        assert found["per_seed"] == pytest.approx([np.mean(ap) for ap in mine], abs=1e-6)
        assert len(each["dev_map"]) == 2 and len(each["norms"]["answers"]["before"]) == 3
    assert 0 < record["conditions"][1]["p"] <= 1
    assert record["protocol"] == "filtered"
    assert record["configuration"]["dataset"] == "sample" and "commit" in record
    figure = folder / "results" / "eq9-sample.png"
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_second_call_trains_what_is_missing(done, folder, trained):
    _, record = done
    rows = folder / "output" / "eq9" / "sample.jsonl"
    kept = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(kept[:1] + kept[2:]))
    again = json.loads(study(options(folder)).read_text())
    assert trained == [("none", 1)]
    assert without_times(again) == without_times(record)
    study(options(folder))
    assert len(trained) == 1


@pytest.mark.parametrize("name", ["wikiqa", "trecqa"])
def test_the_recorded_studies_are_those_of_their_commands(name):
    path = RESULTS / "eq9" / f"{name}.json"
    words = json.loads(path.read_text())["command"].split()[2:]
    config = tyro.cli(Config, args=words)
    assert config.summary == path
    assert eq9.extent_of(json.loads(path.read_text())) == {
        name: set(value) if name in ("conditions", "sizes") else as_json(value)
        for name, value in config.extent.items()
    }
    # Their trials are rows of the engine.
    assert {row["condition"] for row in read_rows(config.trials)} == set(config.conditions)


def test_the_data_sets_are_those_with_a_script_s_defaults(tmp_path):
    for name in get_args(get_type_hints(Config)["dataset"]):
        assert Config(dataset=name).experiment("none", 0.1, 4).data.dataset == name
    # TrecQA's own script takes TRAIN-ALL, with its numbers masked.
    trecqa = Config(dataset="trecqa").experiment("none", 0.1, 4).data
    assert (trecqa.variant, trecqa.mask_numbers) == ("TRAIN-ALL", True)


def test_tuning_never_sees_the_test_split(tmp_path):
    class Unseen:
        def __getattr__(self, name):
            raise AssertionError(f"test was asked for {name}")

    config = options(tmp_path, conditions=("none",), learning_rates=(0.1,))
    data = config.experiment("none", 0.1, 4).data.load()
    assert data.data_hash  # kept, so that it is not asked of the test split
    object.__setattr__(data, "splits", {**data.splits, "test": Unseen()})
    found = tune(config, data, 4)
    assert found["none"]["learning_rate"] == 0.1
    assert all(0 < trial["dev_map"] <= 1 for trial in read_rows(config.trials))


def test_no_seed_tunes_and_is_scored_on_test(tmp_path):
    with pytest.raises(UserError, match="at most 1000"):
        options(tmp_path, seeds=1001)


def test_a_condition_that_diverges_at_every_rate_is_a_result(tmp_path, capsys):
    config = options(tmp_path, conditions=("released_code",), learning_rates=(DIVERGING,))
    (found,) = json.loads(study(config).read_text())["conditions"]
    assert found["learning_rate"] is None and found["seeds"] == []
    assert "Training stopped at step" in found["rates"][0]["diverged"]
    assert "diverged at every rate" in capsys.readouterr().out
    assert not (tmp_path / "output" / "eq9" / "sample.jsonl").exists()
