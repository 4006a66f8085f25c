"""The list of experiments is run where a record is missing or stale.

The experiment here is a small one of the tests' own: a script that measures nothing, but leaves records as
the real ones do.
"""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import reproduce.run_all
from data_prep.errors import UserError
from evaluation.records import load_records, read_record
from reproduce.run_all import Config, run_all

SCRIPT = """
import json
import os
import sys
from pathlib import Path

from evaluation.records import ResultRecord, save_record
from evaluation.source_fingerprints import source_fingerprints

ROOT = Path(__file__).parents[1]


def value(seed):
    return 0.5 + seed / 10


ROUNDING = float(os.environ.get("ROUNDING_OF_THE_MACHINE", 0))


OPTIONS = {"rate": 1}
SOURCES = ["data_prep/tokens.py", "reproduce/tiny.py::value"]


def main(words):
    if "--fail" in words:
        sys.exit(3)
    tokens = {}
    exec((ROOT / "data_prep" / "tokens.py").read_text(), tokens)
    data = "-".join(tokens["words"]("who ran"))
    if "--check-data" in words:
        print("read", json.dumps({"data": data, "code": source_fingerprints(SOURCES, ROOT)}), sep="\\n")
        return
    with (ROOT / "trainings").open("a") as file:
        file.write("one more\\n")
    first = int(words[words.index("--first-seed") + 1]) if "--first-seed" in words else 0
    count = int(words[words.index("--seeds") + 1]) if "--seeds" in words else 2
    folder = ROOT / "reproduce" / "results"
    if "--record" not in words:
        folder = Path(words[words.index("--output") + 1]) / "model" / "key"
    seeds = list(range(first, first + count))
    values = [value(seed) + ROUNDING for seed in seeds]
    ci95 = None if count == 1 else 0.1
    record = ResultRecord(
        paper="hyperqa", dataset="wikiqa", protocol="filtered", split="test", model="HyperQA", seeds=seeds,
        metrics={"map": {"mean": sum(values) / count, "ci95": ci95, "per_seed": values}},
        per_question={"question_ids": ["q"], "map": [[each] for each in values]},
        parameters=1, seconds_per_epoch=0.1, command="python reproduce/tiny.py --record", main=True,
        configuration=OPTIONS, data=data, code=source_fingerprints(SOURCES, ROOT),
    )
    save_record(record, folder / f"tiny_{OPTIONS['rate']}.json")


main(sys.argv)
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "reproduce" / "results").mkdir(parents=True)
    (tmp_path / "reproduce" / "tiny.py").write_text(SCRIPT)
    (tmp_path / "data_prep").mkdir()
    (tmp_path / "data_prep" / "tokens.py").write_text("def words(text):\n    return text.split()\n")
    (tmp_path / "reproduce" / "experiments.txt").write_text("python reproduce/tiny.py --record\n")
    monkeypatch.setattr(reproduce.run_all, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def run(root, capsys):
    def run(**options):
        folder = root / "reproduce"
        status = run_all(
            Config(experiments=folder / "experiments.txt", results=folder / "results", **options)
        )
        return status, capsys.readouterr()

    return run


def edit(root, old, new, file="reproduce/tiny.py"):
    script = root / file
    assert old in script.read_text()
    script.write_text(script.read_text().replace(old, new))


def test_what_has_no_record_is_run_and_then_skipped(root, run):
    status, said = run(dry_run=True)
    assert status == 0 and "no record yet" in said.out
    assert load_records(root / "reproduce" / "results") == []
    assert run()[0] == 0
    (record,) = load_records(root / "reproduce" / "results")
    before = (root / "reproduce" / "results" / "tiny_1.json").stat().st_mtime_ns
    status, said = run()
    assert status == 0 and "recorded" in said.out
    assert (root / "reproduce" / "results" / "tiny_1.json").stat().st_mtime_ns == before
    assert record.metrics["map"]["mean"] == 0.55


def test_a_stale_record_is_made_again_unless_it_is_to_be_kept(root, run):
    run()
    edit(root, "0.5 + seed / 10", "0.25 + seed / 10")
    assert "recorded" in run(keep_stale=True)[1].out
    said = run()[1]
    assert "stale: changed since: `reproduce/tiny.py: value`" in said.out
    (record,) = load_records(root / "reproduce" / "results")
    assert record.metrics["map"]["mean"] == 0.3
    assert "recorded" in run()[1].out


def test_a_record_under_other_defaults_is_removed(root, run):
    run()
    path = root / "reproduce" / "results" / "tiny_1.json"
    path.write_text(path.read_text().replace('"created": "20', '"created": "19'))
    edit(root, '{"rate": 1}', '{"rate": 2}')
    edit(root, "0.5 + seed / 10", "seed / 10 + 0.5")
    assert "removed tiny_1.json" in run()[1].out
    assert [each.configuration for each in load_records(root / "reproduce" / "results")] == [{"rate": 2}]


def test_a_change_that_changes_no_number_is_confirmed_by_one_seed(root, run):
    run()
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    status, said = run(confirm=True)
    assert status == 0 and "confirmed" in said.out
    (record,) = load_records(root / "reproduce" / "results")
    assert record.seeds == [0, 1]
    assert record.notes == "Seed 0 gave the same numbers again after changes of the code."
    assert "recorded" in run()[1].out
    edit(root, "(5 + seed) / 10", "0.1 * (5 + seed)")
    run(confirm=True)
    assert load_records(root / "reproduce" / "results")[0].notes == record.notes


def test_an_option_that_there_was_not_yet_is_added_to_what_is_confirmed(root, run):
    run()
    folder = root / "reproduce" / "results"
    edit(root, '{"rate": 1}', '{"rate": 1, "length": None}')
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    assert run(confirm=True)[0] == 0
    (record,) = load_records(folder)
    assert record.configuration == {"rate": 1, "length": None}
    assert record.seeds == [0, 1]
    (path,) = folder.glob("*.json")
    assert path.name != "tiny_1.json"
    assert "recorded" in run()[1].out


def test_an_option_with_another_value_is_not_confirmed(root, run):
    run()
    edit(root, '{"rate": 1}', '{"rate": 2, "length": None}')
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    status, said = run(confirm=True)
    assert status == 1
    assert "the command has other options than the record" in said.out
    assert load_records(root / "reproduce" / "results")[0].configuration == {"rate": 1}


def test_a_change_of_the_numbers_is_not_confirmed(root, run):
    run()
    before = json.loads((root / "reproduce" / "results" / "tiny_1.json").read_text())
    edit(root, "0.5 + seed / 10", "0.75 - seed / 10")
    status, said = run(confirm=True)
    assert status == 1
    assert "not confirmed: map was 0.5 and is 0.75 (tiny_1.json)" in said.out
    assert json.loads((root / "reproduce" / "results" / "tiny_1.json").read_text()) == before


@pytest.fixture
def commit(root, monkeypatch):
    # The repository's own packages, which stand beside those of a whole working tree of it.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def commit():
        author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "A state"]):
            subprocess.run(["git", *words], cwd=root, check=True)

    return commit


def test_a_record_of_another_machine_is_confirmed_by_the_code_that_made_it(root, run, commit, monkeypatch):
    run()
    commit()
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    commit()
    monkeypatch.setenv("ROUNDING_OF_THE_MACHINE", "0.125")
    (before,) = load_records(root / "reproduce" / "results")
    status, said = run(confirm=True)
    assert status == 0
    assert "map was 0.5 and is 0.625 (tiny_1.json); once more with the code that made the record" in said.out
    (record,) = load_records(root / "reproduce" / "results")
    assert (record.metrics, record.per_question, record.data) == (
        before.metrics,
        before.per_question,
        before.data,
    )
    assert record.notes == (
        "On another machine seed 0 gave other numbers than here, but the same ones with the code that made "
        "this record and after changes of the code."
    )
    assert "recorded" in run()[1].out


def test_data_that_differ_with_the_machine_stay_those_of_the_record(root, run, commit, monkeypatch):
    edit(root, '"-".join(', 'str(ROUNDING) + "-".join(')
    run()
    commit()
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    monkeypatch.setenv("ROUNDING_OF_THE_MACHINE", "0.125")
    assert run(confirm=True)[0] == 0
    assert load_records(root / "reproduce" / "results")[0].data == "0.0who-ran"


def test_another_machine_does_not_excuse_a_change_of_the_numbers(root, run, commit, monkeypatch):
    run()
    commit()
    (before,) = load_records(root / "reproduce" / "results")
    edit(root, "0.5 + seed / 10", "0.75 - seed / 10")
    monkeypatch.setenv("ROUNDING_OF_THE_MACHINE", "0.125")
    status, said = run(confirm=True)
    assert status == 1
    assert "not confirmed: map was 0.5 and is 0.875 (tiny_1.json)" in said.out
    assert load_records(root / "reproduce" / "results") == [before]


def test_code_that_is_not_in_the_history_confirms_nothing(root, run, commit, monkeypatch):
    run()
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    commit()
    monkeypatch.setenv("ROUNDING_OF_THE_MACHINE", "0.125")
    status, said = run(confirm=True)
    assert status == 1
    assert "the code that made the record is not in the repository's history" in said.out
    assert "not confirmed: map was 0.5 and is 0.625" in said.out


@pytest.fixture
def recorded_with_epochs(root, run, commit):
    """A record of nine epochs, whose number depends on them, in the history."""
    edit(
        root,
        "first = int(",
        'epochs = int(([9] + words)[-1 if "--epochs" in words else 0])\n    first = int(',
    )
    edit(root, "configuration=OPTIONS", 'configuration=OPTIONS | {"epochs": epochs}')
    edit(root, "value(seed) + ROUNDING", "value(seed) + ROUNDING + epochs / 64")
    run()
    commit()
    (record,) = load_records(root / "reproduce" / "results")
    assert record.per_question["map"] == [[0.5 + 9 / 64], [0.6 + 9 / 64]]
    return record


def test_two_epochs_of_both_codes_confirm_a_record(root, run, commit, recorded_with_epochs, monkeypatch):
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    commit()
    monkeypatch.setenv("ROUNDING_OF_THE_MACHINE", "0.125")
    status, said = run(confirm_epochs=2)
    assert status == 0
    assert "2 epochs are trained; once more with the code that made the record" in said.out
    (record,) = load_records(root / "reproduce" / "results")
    assert record.notes == (
        "2 epochs of seed 0 gave the same numbers with the code that made this record and after changes of "
        "the code."
    )
    assert record.code != recorded_with_epochs.code
    assert replace(record, notes="", code={}) == replace(recorded_with_epochs, code={})
    assert "recorded" in run()[1].out


@pytest.mark.parametrize(
    ("new", "in_history", "why"),
    [
        ("0.75 - seed / 10", True, "map was 0.53125 and is 0.78125"),
        ("(5 + seed) / 10", False, "the code that made the record is not in the repository's history"),
    ],
)
def test_two_epochs_confirm_nothing(root, run, commit, recorded_with_epochs, new, in_history, why):
    if not in_history:
        path = root / "reproduce" / "results" / "tiny_1.json"
        path.write_text(path.read_text().replace(recorded_with_epochs.code["data_prep/tokens.py"], "0" * 12))
    before = load_records(root / "reproduce" / "results")
    edit(root, "0.5 + seed / 10", new)
    commit()
    status, said = run(confirm_epochs=2)
    assert status == 1 and "    not confirmed: " in said.out
    assert why in said.out
    assert load_records(root / "reproduce" / "results") == before


def test_no_epochs_confirm_nothing(run):
    with pytest.raises(UserError, match="confirm_epochs must be at least 1"):
        run(confirm_epochs=0)


def test_a_change_of_what_makes_the_data_is_confirmed_by_the_data_alone(root, run):
    run()
    edit(root, "return text.split()", "return list(text.split())", "data_prep/tokens.py")
    status, said = run(confirm=True)
    assert status == 0 and "confirmed: the same data" in said.out
    (record,) = load_records(root / "reproduce" / "results")
    assert record.notes == "The data are the same after changes of their making."
    assert (root / "trainings").read_text() == "one more\n"
    assert "recorded" in run()[1].out
    edit(root, "list(text.split())", "text.upper().split()", "data_prep/tokens.py")
    status, said = run(confirm=True)
    assert status == 1 and "not confirmed: the data, or the list of the code, is another" in said.out
    assert load_records(root / "reproduce" / "results") == [record]
    # A change of what trains is another matter.
    edit(root, "0.5 + seed / 10", "(5 + seed) / 10")
    run(confirm=True)
    assert (root / "trainings").read_text() == "one more\none more\n"


def test_data_that_differ_with_the_machine_are_confirmed_by_the_code_that_made_them(
    root, run, commit, monkeypatch
):
    edit(root, '"-".join(', 'str(ROUNDING) + "-".join(')
    run()
    commit()
    monkeypatch.setenv("ROUNDING_OF_THE_MACHINE", "0.125")
    edit(root, "return text.split()", "return list(text.split())", "data_prep/tokens.py")
    assert run(confirm_data=True)[0] == 0
    (record,) = load_records(root / "reproduce" / "results")
    assert record.data == "0.0who-ran"
    assert "Another machine made other data" in record.notes
    assert "stale" not in run(dry_run=True)[1].out
    edit(root, "list(text.split())", "text.upper().split()", "data_prep/tokens.py")
    status, said = run(confirm_data=True)
    assert status == 1
    assert "not confirmed: the data" in said.out
    assert load_records(root / "reproduce" / "results") == [record]


def test_data_alone_are_confirmed_where_nothing_has_to_be_trained(root, run):
    run()
    edit(root, "text.split()", "text.split(' ')", "data_prep/tokens.py")
    edit(root, "0.5 + seed / 10", "seed / 10 + 0.5")
    assert run(confirm_data=True)[0] == 0
    assert run(dry_run=True)[1].out.count("stale") == 1
    edit(root, "seed / 10 + 0.5", "0.5 + seed / 10")
    status, printed = run(confirm_data=True)
    assert (status, printed.out.splitlines()[-1]) == (0, "    confirmed: the same data")
    assert "stale" not in run(dry_run=True)[1].out
    assert (root / "trainings").read_text().count("one more") == 1


def test_data_are_confirmed_for_a_record_that_names_fewer_of_their_makers(root, run):
    run()
    maker, path = root / "data_prep" / "splitting.py", next((root / "reproduce" / "results").glob("*.json"))
    before = read_record(path).code
    maker.write_text("SHARE = 0.1\n")
    edit(root, '"data_prep/tokens.py"', '"data_prep/splitting.py", "data_prep/tokens.py"')
    edit(root, "text.split()", "text.split(' ')", "data_prep/tokens.py")
    assert run(confirm=True)[0] == 0
    assert read_record(path).code.keys() - before.keys() == {"data_prep/splitting.py"}


def test_a_change_of_a_data_set_s_reader_makes_records_stale():
    from data_prep.registry import DATASETS
    from reproduce.cosinet_wikiqa import Config as CosinetConfig
    from reproduce.experiment import config_fingerprints
    from reproduce.hyperqa_semevalcqa import Config as SemEvalConfig

    assert {"data_prep/wikiqa.py", "data_prep/protocols.py"} <= config_fingerprints(CosinetConfig()).keys()
    named = config_fingerprints(SemEvalConfig())
    assert {"data_prep/semevalcqa.py", "data_prep/semevalcqa_texts.py"} <= named.keys()
    for name in DATASETS:
        assert config_fingerprints(CosinetConfig(dataset=name))


def test_a_command_that_fails_does_not_keep_back_the_others(root, run):
    listed = root / "reproduce" / "experiments.txt"
    listed.write_text("python reproduce/tiny.py --fail\n" + listed.read_text())
    status, said = run()
    assert status == 1
    assert said.err.splitlines()[-1] == "failed: python reproduce/tiny.py --fail"
    assert len(load_records(root / "reproduce" / "results")) == 1


def test_only_has_to_fit_something(run):
    with pytest.raises(UserError, match=r"no command of .* holds 'absent'"):
        run(only="absent")


def test_the_repository_s_own_list_names_scripts_that_exist():
    from evaluation.recorded_experiments import read_commands

    commands = read_commands(Config().experiments)
    assert len(set(commands)) == len(commands)
    for command in commands:
        assert (reproduce.run_all.ROOT / command.split()[1]).is_file(), command
        # The study of Eq. 9 keeps its record wherever it runs to its end.
        assert "--record" in command.split() or "eq9_study.py" in command, command


def test_a_study_of_eq_9_confirms_itself(root, run):
    command = "python reproduce/eq9_study.py"
    (root / "reproduce" / "experiments.txt").write_text(f"{command}\n")
    record = root / "reproduce" / "results" / "eq9" / "a.json"
    record.parent.mkdir()
    record.write_text(json.dumps({"command": command, "code": {"data_prep/tokens.py": "old"}}))
    (root / "reproduce" / "eq9_study.py").write_text(
        "import sys\nfrom pathlib import Path\n"
        "Path(__file__).with_name('called').write_text(' '.join(sys.argv[1:]))\n"
        "sys.exit(2)"
    )
    status, printed = run(confirm=True)
    assert status == 1 and f"not confirmed: {command}" in printed.err
    assert (root / "reproduce" / "called").read_text() == "--confirm"


def test_a_study_is_run_until_its_record_is_up_to_date(root, run):
    command = "python reproduce/study.py --record"
    (root / "reproduce" / "experiments.txt").write_text(f"{command}\n")
    (root / "reproduce" / "study.py").write_text(
        "import json\n"
        "from pathlib import Path\n"
        "from evaluation.source_fingerprints import source_fingerprints\n"
        "root = Path(__file__).parents[1]\n"
        "code = source_fingerprints(['data_prep/tokens.py'], root)\n"
        "folder = root / 'reproduce' / 'results' / 'norms'\n"
        "folder.mkdir(exist_ok=True)\n"
        f"(folder / 'a.json').write_text(json.dumps({{'command': {command!r}, 'code': code}}))\n"
    )
    assert "no record yet" in run(dry_run=True)[1].out
    assert run()[0] == 0
    assert "recorded" in run(dry_run=True)[1].out
    edit(root, "text.split()", "text.lower().split()", "data_prep/tokens.py")
    assert "stale: changed since: `data_prep/tokens.py`" in run(dry_run=True)[1].out
    assert "stale" not in run(dry_run=True, keep_stale=True)[1].out
    # Neither is anything trained to confirm it, nor does that fail.
    assert run(confirm_data=True)[0] == 0
    assert "stale" in run(dry_run=True)[1].out
    assert run()[0] == 0
    assert "stale" not in run(dry_run=True)[1].out
    (root / "reproduce" / "results" / "norms" / "a.json").write_text("{}")
    with pytest.raises(UserError, match=r"a\.json is no record of its study"):
        run()
