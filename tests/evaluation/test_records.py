import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import made_record, summary

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import environment as module
from answer_ranking.evaluation.environment import environment
from answer_ranking.evaluation.records import (
    load_records,
    read_record,
    read_study,
    record_path,
    save_record,
    without_paths,
)


def make_record(**changes):
    known = {
        "metrics": {"map": summary(0.71, 0.02, 0.01)},
        "per_question": {"question_ids": ["a", "b"], "map": [[1.0, 0.4], [1.0, 0.44]]},
        "configuration": {"l2": 1e-8, "margin": 0.5},
    }
    return made_record(**known | changes)


def test_a_saved_record_is_read_back(tmp_path):
    record = make_record()
    save_record(record, tmp_path / "record.json")
    assert read_record(tmp_path / "record.json") == record
    assert load_records(tmp_path) == [record]


def test_numbers_have_six_digits_and_no_interval_is_null(tmp_path):
    third = {"mean": 1 / 3, "ci95": float("nan"), "per_seed": [1 / 3]}
    known = {"metrics": {"map": third}, "per_question": {"question_ids": ["a"], "map": [[np.float64(1 / 3)]]}}
    save_record(make_record(seeds=[0], **known), tmp_path / "record.json")
    values = json.loads((tmp_path / "record.json").read_text())
    assert values["metrics"]["map"] == {"mean": 0.333333, "ci95": None, "per_seed": [0.333333]}
    assert values["per_question"]["map"] == [[0.333333]]
    assert values["configuration"]["l2"] == 1e-8


def test_no_path_of_the_machine_is_written(tmp_path):
    home = "/home/somebody/vectors"
    record = make_record(
        configuration={"embeddings": [f"{home}/glove.txt.gz"], "nested": {"folder": home}},
    )
    save_record(record, tmp_path / "record.json")
    text = (tmp_path / "record.json").read_text()
    assert "somebody" not in text
    assert read_record(tmp_path / "record.json").configuration == {
        "embeddings": ["glove.txt.gz"],
        "nested": {"folder": "vectors"},
    }


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.integers(), lambda x: st.lists(x, max_size=3))
)
def test_without_paths_leaves_all_else_alone(value):
    assert repr(without_paths(value)) == repr(value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": []}, r"'seeds' should be a list of whole numbers, not \[\]"),
        ({"seeds": [0]}, r"'metrics.map.per_seed' should hold 1 values"),
        ({"metrics": {"map": {"mean": 71.0, "ci95": 2.0, "per_seed": [70.0, 72.0]}}}, "'metrics.map'"),
        ({"metrics": {"map": {"mean": 0.7, "ci95": 0.02, "per_seed": [0.70, 0.72]}}}, "metrics.map.mean"),
        ({"parameters": 1.5}, r"'parameters' should be a whole number"),
        ({"model": ""}, r"'model' is empty"),
        ({"clean_tree": "yes"}, r"'clean_tree' should be true or false"),
        ({"per_question": {"question_ids": ["a"], "map": [[1.0, 0.4]] * 2}}, "'per_question.map'"),
        ({"per_question": {"question_ids": ["a"], "map": 1}}, r"'per_question.map' should hold 2 lists"),
    ],
)
def test_what_is_no_record_is_refused_and_not_written(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        save_record(make_record(**changes), tmp_path / "record.json")
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_is_named_with_its_key(tmp_path):
    path = tmp_path / "record.json"
    save_record(make_record(), path)
    values = json.loads(path.read_text())

    def refused(text, message):
        path.write_text(text)
        with pytest.raises(UserError, match=message):
            load_records(tmp_path)

    refused(json.dumps(values | {"sedes": [1]}), r"record.json: key 'sedes' is not one of a record's")
    refused(json.dumps({k: v for k, v in values.items() if k != "versions"}), r"key 'versions' is missing")
    refused(json.dumps(values)[:-20], r"record.json is not JSON")
    refused("[1]", r"record.json does not hold a JSON object")
    refused("[" * 100_000, r"record.json is not JSON")
    # Where the record does not say what it was measured with, nothing of today takes that place.
    unsaid = ("commit", "clean_tree", "processor", "threads", "gflops", "created")
    path.write_text(json.dumps({k: v for k, v in values.items() if k not in unsaid}))
    read = read_record(path)
    assert [getattr(read, name) for name in unsaid] == ["", None, "", None, None, ""]


def test_a_damaged_record_is_refused_by_name_or_whole(tmp_path, damaged):
    path, copy = tmp_path / "record.json", tmp_path / "copy.json"
    save_record(make_record(), path)
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        try:
            record = read_record(path)
        except UserError as error:
            assert str(path) in str(error)
        else:
            save_record(record, copy)
            assert read_record(copy).model == record.model


def test_two_files_of_one_experiment_are_refused_but_another_configuration_is_another(tmp_path):
    save_record(make_record(), tmp_path / "a.json")
    save_record(make_record(configuration={"l2": 0.1}), tmp_path / "b.json")
    assert len(load_records(tmp_path)) == 2
    save_record(make_record(seeds=[2, 3]), tmp_path / "hyperqa" / "wikiqa" / "c.json")
    with pytest.raises(UserError, match=r"wikiqa/c.json and a.json record the same experiment"):
        load_records(tmp_path)
    with pytest.raises(UserError, match="there is no folder"):
        load_records(tmp_path / "absent")


def test_records_lie_in_folders_and_those_of_studies_are_left_out(tmp_path):
    path = record_path(tmp_path, "hyperqa/trecqa/eq9-none", "raw")
    assert path == tmp_path / "hyperqa" / "trecqa" / "eq9-none-raw.json"
    save_record(make_record(), path)
    (tmp_path / "eq9").mkdir()
    (tmp_path / "eq9" / "wikiqa.json").write_text("{}")
    assert load_records(tmp_path) == [make_record(created=load_records(tmp_path)[0].created)]
    for name in ("../up", "/root", "Upper", "a//b", "", "a b"):
        with pytest.raises(UserError, match="a record's name is lower-case words"):
            record_path(tmp_path, name)


def test_every_recorded_command_is_read_with_a_script_that_exists():
    root = Path(__file__).parents[2]
    paths = [path for path in (root / "reproduce" / "results").rglob("*.json") if path.stem != "claims"]
    scripts = {read_study(path)["command"].split()[1] for path in paths}
    assert "reproduce/studies/equal_budget.py" in scripts  # which the records call by an older name
    assert [script for script in scripts if not (root / script).is_file()] == []


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_record_knows_commit_changes_processor_and_threads(tmp_path, monkeypatch):
    (tmp_path / "reproduce" / "results").mkdir(parents=True)
    (tmp_path / "code.py").write_text("a = 1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.setattr(module, "ROOT", tmp_path)

    def here():
        environment.cache_clear()
        return environment()

    found = here()
    assert found["commit"] == git(tmp_path, "rev-parse", "HEAD")
    assert found["clean_tree"] is True
    assert found["processor"] and 1 <= found["threads"] <= os.cpu_count()
    assert 0.1 < found["gflops"] < 1e5
    # What runs write does not count as a change of the code.
    (tmp_path / "reproduce" / "results" / "a.json").write_text("{}")
    assert here()["clean_tree"] is True
    (tmp_path / "code.py").write_text("a = 2\n")
    assert here()["clean_tree"] is False
    # An installed copy inside another project's repository is not that project's code.
    (tmp_path / "site-packages").mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path / "site-packages")
    assert (here()["commit"], here()["clean_tree"]) == ("", None)
    environment.cache_clear()
