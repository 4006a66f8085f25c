"""The list of experiments: what has no record is run; what is checked is set beside its record.

The experiment here is a small one of the tests' own: a script that measures nothing, but leaves records as
the real ones do.
"""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest
from made_records import made_record

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import load_records
from answer_ranking.reproduce.experiments import experiment_list

COMMAND = "python reproduce/tiny.py --record hyperqa/wikiqa/{}"
# What the script writes, but for its values.
RECORD = made_record()


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = tmp_path / "reproduce"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "tiny_experiment.py", folder / "tiny.py")
    (folder / "record").write_text(json.dumps(asdict(RECORD)))
    (folder / "values").write_text("0.5 0.6")
    (folder / "experiments.txt").write_text(f"# A list.\n\n{COMMAND.format('a')}\n{COMMAND.format('a-b')}\n")
    monkeypatch.setattr(experiment_list, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def run(root, capfd):
    def run(**options):
        folder = root / "reproduce"
        status = experiment_list.reproduce(
            experiments=folder / "experiments.txt", results=folder / "results", **options
        )
        return status, capfd.readouterr()

    return run


def test_what_has_no_record_is_run_and_then_skipped(root, run):
    folder = root / "reproduce" / "results"
    status, said = run(dry_run=True)
    assert status == 0 and said.out.count("to run") == 2
    assert not folder.exists()
    # The one name begins the other's.
    assert run(only="a-b")[0] == 0
    assert [record.configuration["name"] for record in load_records(folder)] == ["hyperqa/wikiqa/a-b"]
    status, said = run()
    assert status == 0 and (said.out.count("to run"), said.out.count("    recorded")) == (1, 1)
    assert len(load_records(folder)) == 2 and (root / "measured").exists()
    assert run()[1].out.count("    recorded") == 2


@pytest.mark.parametrize(
    ("values", "verdict", "mean"),
    [("0.56 0.62", "OK", 0.59), ("0.3 0.4", "FAIL", 0.35)],  # recorded: 0.55 ± 0.1
)
def test_a_check_runs_anew_and_replaces_only_if_it_is_told_to(root, run, values, verdict, mean):
    run()
    (root / "measured").unlink()
    path = root / "reproduce" / "results" / "hyperqa" / "wikiqa" / "a-raw.json"
    before = path.read_bytes()
    (root / "reproduce" / "values").write_text(values)
    status, printed = run(check=["hyperqa/wikiqa/a"])
    assert status == (verdict == "FAIL")
    assert f"hyperqa/wikiqa/a-raw.json: {verdict}\n" in printed.out
    assert path.read_bytes() == before and not (root / "measured").exists()
    run(check=["hyperqa/*/a"], replace=True)
    assert json.loads(path.read_text())["metrics"]["map"]["mean"] == pytest.approx(mean)
    log = pd.read_csv(root / "reproduce" / "log.csv")
    assert log["verdict"].tolist() == [verdict] * 2 and log["map"].tolist() == pytest.approx([mean] * 2)
    assert log["record"].unique().tolist() == ["hyperqa/wikiqa/a-raw.json"]
    assert log["replaced"].tolist() == [False, True]


def test_several_names_are_checked(run):
    run()
    printed = run(check=["*/a", "*/a-b"])[1].out
    assert "hyperqa/wikiqa/a-raw.json: OK" in printed and "hyperqa/wikiqa/a-b-raw.json: OK" in printed
    with pytest.raises(UserError, match="fits 'ctrn/"):
        run(check=["*/a", "ctrn/*"])


def test_the_figures_of_a_study_take_the_usual_place(root, run, monkeypatch):
    run()
    results, docs = root / "reproduce" / "results", root / "docs"
    monkeypatch.setattr(
        experiment_list, "figures_folder", lambda folder: docs if folder == results else folder
    )
    (root / "reproduce" / "draws").touch()
    run(check=["hyperqa/wikiqa/a"])
    assert not docs.exists()
    run(check=["hyperqa/wikiqa/a"], replace=True)
    assert (docs / "norms-tiny.png").read_text() == "drawn" and not list(results.rglob("*.png"))


@pytest.mark.parametrize("code", [130, 143])
def test_a_command_that_was_stopped_stops_the_list(root, run, code):
    (root / "reproduce" / "tiny.py").write_text(f"import sys; sys.exit({code})")
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == code


def test_one_seed_has_no_interval(root, run):
    (root / "reproduce" / "values").write_text("0.5")
    run()
    (root / "reproduce" / "values").write_text("0.7")
    status, printed = run(check=["hyperqa/wikiqa/a"])
    assert status == 0 and "+0.2000" in printed.out and "a-raw.json: no interval" in printed.out


def test_a_command_that_fails_does_not_keep_back_the_others(root, run):
    path = root / "reproduce" / "experiments.txt"
    path.write_text(f"{COMMAND.format('bad')} --fail\n{path.read_text()}")
    status, said = run()
    assert status == 1
    assert said.err.splitlines()[-1] == f"failed: {COMMAND.format('bad')} --fail"
    assert len(load_records(root / "reproduce" / "results")) == 2


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        ({"only": "nothing"}, None, "no experiment of .* fits 'nothing'"),
        ({"check": ["ctrn/*"]}, None, "fits 'ctrn/"),
        ({"replace": True}, None, "add --check"),
        ({}, "python reproduce/tiny.py\n", "line 1: --record NAME is missing"),
        ({}, f"{COMMAND.format('a')}\n" * 2, "line 2: the name is another line's"),
        ({}, f"{COMMAND.format('a')} 'open\n", "line 1: No closing quotation"),
        ({"jobs": 1}, f"{COMMAND.format('a')} --seeds abc\n", "--seeds .* must be whole numbers"),
    ],
)
def test_what_the_user_can_mend(root, run, options, text, message):
    if text:
        (root / "reproduce" / "experiments.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        run(**options)


def test_a_damaged_record_is_named(root, run):
    run()
    (root / "reproduce" / "results" / "hyperqa" / "wikiqa" / "a-raw.json").write_text("{")
    with pytest.raises(UserError, match=r"a-raw\.json is not JSON"):
        run()
