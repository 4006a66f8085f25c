"""The study of Eq. 9 on the sample: it goes on where it stopped, leaves test alone while it tunes, and sums
up what its runs hold.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass, replace
from typing import get_args, get_type_hints

import numpy as np
import pytest
from scipy import stats

import reproduce.eq9_study
from data_prep import UserError
from evaluation.eq9_figure import study_figure
from evaluation.eq9_summary import TITLES, study_table
from reproduce.eq9_study import Condition, Config, confirm, refuse_to_lose, study, tune
from reproduce.experiment import ROOT, ExperimentData, load_experiment_data
from reproduce.hyperqa_search import SPACE
from reproduce.trials import read_trials
from training.riemannian import READINGS

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
        "results": folder / "results",
        "figures": folder / "figures",
        "output": folder / "output",
    }
    return Config(**values | changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def done(folder):
    path = study(options(folder))
    return path, json.loads(path.read_text())


@pytest.fixture
def trained(monkeypatch):
    """What is trained from here on: a list of learning rate and seed."""
    calls, train = [], reproduce.eq9_study.train

    def noted(config, data, seed, **arguments):
        calls.append((config.eq9, seed))
        return train(config, data, seed, **arguments)

    monkeypatch.setattr(reproduce.eq9_study, "train", noted)
    return calls


def test_every_reading_is_a_condition_with_a_title_and_a_colour_of_its_own(done):
    assert sorted(get_args(Condition)) == sorted([*READINGS, "cosineqa"])
    assert set(SPACE["eq9"]) <= set(READINGS)
    # By default all are compared, that which converts nothing first.
    names = Config().conditions
    assert names[0] == "none" and sorted(names) == sorted(get_args(Condition))
    assert list(TITLES) == list(names)
    _, record = done
    conditions = [{**record["conditions"][0], "condition": name} for name in names]
    assert len(set(study_table(conditions).splitlines()[2:])) == len(names)
    dev = study_figure(conditions, max_norm=0.7).axes[1]
    # The last line is the level.
    assert len({line.get_color() for line in dev.get_lines()[:-1]}) == len(names)


def without_times(record):
    return [{k: v for k, v in each.items() if k != "seconds_per_epoch"} for each in record["conditions"]]


def test_a_rate_that_diverges_is_recorded_and_not_chosen(done, folder):
    _, record = done
    (path,) = folder.glob("results/*.trials.jsonl")
    trials = read_trials(path)
    assert [(t["condition"], t["learning_rate"], t["seed"]) for t in trials] == [
        (condition, rate, 1000) for condition in ("none", "points") for rate in (0.1, DIVERGING)
    ]
    diverged = [trial for trial in trials if "diverged" in trial]
    assert [trial["learning_rate"] for trial in diverged] == [DIVERGING] * 2
    assert all("Training stopped at step" in trial["diverged"] for trial in diverged)
    assert [each["learning_rate"] for each in record["conditions"]] == [0.1, 0.1]


def test_the_summary_has_the_numbers_of_the_runs(done, folder):
    _, record = done
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("output/*/*/seed-*.json"))]
    assert len(runs) == 4
    for each in record["conditions"]:
        found = each["metrics"]["map"]
        mine = [run["test"]["map"] for run in runs if run["eq9"] == each["condition"]]
        # The files of a folder come in the order of their seeds.
        assert found["per_seed"] == pytest.approx([np.mean(ap) for ap in mine], abs=1e-6)
        assert each["ap"] == pytest.approx(np.mean(mine, axis=0), abs=1e-6)
        assert found["mean"] == pytest.approx(np.mean(found["per_seed"]), abs=2e-6)
        half = stats.t.ppf(0.975, 1) * stats.sem(found["per_seed"])
        assert found["ci95"] == pytest.approx(half, abs=1e-5)
        assert len(each["dev_map"]) == 2 and len(each["norms"]["answers"]["before"]) == 3
    none, points = (np.array(each["ap"]) for each in record["conditions"])
    signs = np.random.default_rng(7).choice([-1.0, 1.0], size=(20_000, len(none)))
    p = np.mean(np.abs(signs @ (points - none)) >= abs((points - none).sum()) - 1e-12)
    assert record["conditions"][1]["p"] == pytest.approx(p, abs=0.03)
    assert record["protocol"] == "filtered"
    sources = {"reproduce/eq9_study.py", "training/norm_tracker.py", "training/riemannian.py"}
    assert sources <= record["code"].keys()
    (figure,) = folder.glob("figures/eq9-*.png")
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_second_call_trains_nothing_and_a_killed_one_its_missing_seed(done, folder, trained):
    _, record = done
    assert without_times(json.loads(study(options(folder)).read_text())) == without_times(record)
    assert trained == []
    lost = sorted(folder.glob("output/*/*/seed-1.json"))[0]
    kept = json.loads(lost.read_text())
    lost.unlink()
    again = json.loads(study(options(folder)).read_text())
    assert len(trained) == 1 and trained[0][1] == 1
    assert json.loads(lost.read_text())["test"] == kept["test"]
    assert without_times(again) == without_times(record)


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({"conditions": ("none",)}, "conditions points"),
        ({"seeds": 1, "tuning_seeds": 2}, "seeds 2 at d = 4"),
        ({"learning_rates": (0.1, 0.2)}, r"learning rates 1e\+38"),
        ({"conditions": ("points",), "learning_rates": (0.1,)}, r"conditions none; learning rates 1e\+38"),
    ],
)
def test_a_smaller_study_does_not_take_a_recorded_one_s_place(done, folder, trained, changes, lost):
    path, _ = done
    before = path.read_bytes()
    with pytest.raises(UserError, match=rf"{path.name} is a study with more .*: {lost}\. .*--results"):
        study(options(folder, **changes))
    assert path.read_bytes() == before and trained == []


def test_a_study_is_confirmed_by_the_first_seed_of_every_condition(done, folder, tmp_path, trained):
    path, record = done
    older = tmp_path / "results" / path.name
    older.parent.mkdir()
    of_old_code = {**record, "code": {"training/fit.py": "old"}}
    older.write_text(json.dumps(of_old_code))
    assert confirm(options(tmp_path)) == older
    assert trained == [("none", 0), ("points", 0)]
    confirmed = json.loads(older.read_text())
    assert "first seed" in confirmed.pop("notes")
    assert without_times(confirmed) == without_times(record)
    # One number of one seed that is another.
    of_old_code["conditions"] = json.loads(json.dumps(record["conditions"]))
    of_old_code["conditions"][1]["dev_map"][0][1] += 0.01
    older.write_text(json.dumps(of_old_code))
    before = older.read_bytes()
    with pytest.raises(
        UserError, match=r"not confirmed: at d = 4, points, seed 0, dev MAP of epoch 2 was 0\.\d+ and is"
    ):
        confirm(options(tmp_path))
    assert older.read_bytes() == before
    older.unlink()
    with pytest.raises(UserError, match="to confirm"):
        confirm(options(tmp_path))


@pytest.mark.slow
def test_a_study_of_another_machine_is_confirmed_by_the_code_that_made_it(done, tmp_path, monkeypatch, capfd):
    root = tmp_path / "repository"
    for name in ("data_prep", "evaluation", "layers", "models", "reproduce", "training"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    path, record = done
    conditions = json.loads(json.dumps(record["conditions"]))
    # As another machine's rounding would have it.
    conditions[0]["dev_map"][0][1] += 0.01
    record = {**record, "conditions": conditions}
    older = root / "results" / path.name
    older.parent.mkdir()
    older.write_text(json.dumps(record))
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    monkeypatch.setattr(reproduce.eq9_study, "ROOT", root)
    monkeypatch.setattr(reproduce.eq9_study, "COMPARED_EPOCHS", 2)
    # Code that changes no number.
    with (root / "training" / "norm_tracker.py").open("a") as file:
        file.write("\n_UNUSED = 1\n")
    assert confirm(options(root)) == older
    confirmed = json.loads(older.read_text())
    assert "with the code that made this record" in confirmed["notes"]
    assert confirmed["conditions"] == conditions
    assert confirmed["code"]["training/norm_tracker.py"] != record["code"]["training/norm_tracker.py"]
    # Code that changes them.
    older.write_text(json.dumps(record))
    source = root / "training" / "riemannian.py"
    source.write_text(
        source.read_text().replace("gradient * tf.square(1.0 - squared_norm)", "gradient * squared_norm")
    )
    with pytest.raises(UserError, match="not confirmed: at d = 4, none, seed 0, dev MAP of epoch 2 was"):
        confirm(options(root))
    assert "with the code that made the record, at d = 4, points, dev MAP of epoch" in capfd.readouterr().out


def test_sizes_and_tuning_seeds_are_kept_as_well(tmp_path):
    path = tmp_path / "study.json"
    record = {
        **dict.fromkeys(("title", "protocol", "embeddings", "configuration", "command", "code"), ""),
        "seeds": 2,
        "size_seeds": 7,
        "tuning": {"learning_rates": [0.1], "seeds": 2},
        "conditions": [{"dimension": d, "condition": "none"} for d in (4, 6, 8)],
    }
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=r": sizes 6; seeds 7 at d = 8; tuning seeds 2\. Ask"):
        refuse_to_lose(options(tmp_path, dimensions=(8,), size_seeds=6), path)
    more = options(tmp_path, dimensions=(6, 8, 9), size_seeds=8, tuning_seeds=2)
    refuse_to_lose(more, path)
    refuse_to_lose(options(tmp_path, conditions=("points",)), tmp_path / "absent.json")
    path.write_text("{")
    with pytest.raises(UserError, match=r"study\.json is not JSON"):
        refuse_to_lose(more, path)


def test_the_figure_goes_into_docs_with_the_recorded_study_alone(tmp_path):
    assert Config().figure_folder == ROOT / "docs"
    assert Config(results=tmp_path).figure_folder == tmp_path
    assert Config(figures=tmp_path).figure_folder == tmp_path


def test_the_data_sets_are_those_with_a_script_s_defaults(tmp_path):
    for name in get_args(get_type_hints(Config)["dataset"]):
        assert Config(dataset=name).of_condition("none", 0.1, 4).dataset == name
    # TrecQA's own script takes TRAIN-ALL, with its numbers masked.
    trecqa = Config(dataset="trecqa").of_condition("none", 0.1, 4)
    assert (trecqa.variant, trecqa.mask_numbers) == ("TRAIN-ALL", True)


def test_tuning_never_sees_the_test_split(tmp_path):
    class Unseen:
        def __getattr__(self, name):
            raise AssertionError(f"test was asked for {name}")

    @dataclass(frozen=True)
    class Blind(ExperimentData):
        def fingerprint(self):
            return "without test"

    config = options(tmp_path, learning_rates=(0.1,))
    data = load_experiment_data(config.of_condition("none", 0.1, 4))
    blind = Blind(data.dataset, replace(data.encoded, test=Unseen()), data.word_vectors)
    found = tune(config, blind, "none", 4, tmp_path / "trials.jsonl")
    assert found["learning_rate"] == 0.1
    (trial,) = read_trials(tmp_path / "trials.jsonl")
    assert 0 < trial["dev_map"] <= 1


def test_a_condition_that_diverges_at_every_rate_is_a_result(tmp_path, capsys):
    config = options(tmp_path, conditions=("released_code",), learning_rates=(DIVERGING,))
    (found,) = json.loads(study(config).read_text())["conditions"]
    assert found["learning_rate"] is None and found["seeds"] == []
    assert "Training stopped at step" in found["rates"][0]["diverged"]
    assert "| HyperQA, `released_code` | diverged at every rate |" in capsys.readouterr().out
    assert not list(tmp_path.glob("output/*/*/seed-*.json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "seeds must be at least 1"),
        (["--seeds", "1001"], "at most 1000"),
        (["--learning-rates", "-0.1"], "learning_rate must be above 0"),
        (["--learning-rates", "0.1", "0.1"], "learning_rates must be different values"),
        (["--dimensions", "0"], "dimension must be at least 1"),
        (["--max-norm", "2"], "max_norm must be"),
        (["--conditions", "lines"], "lines"),
        (["--dataset", "semevalcqa"], "semevalcqa"),
    ],
)
def test_options_out_of_range_end_with_a_message(run_in_process, tmp_path, arguments, message):
    places = [f"--{name}={tmp_path / name}" for name in ("results", "figures", "output")]
    code, _, err = run_in_process(study, Config, *arguments, *places)
    assert code == 2
    assert message in err and "Traceback" not in err


def test_a_damaged_file_of_trials_is_named_with_its_line(tmp_path):
    config = options(tmp_path)
    data = load_experiment_data(config.of_condition("none", 0.1, 4))
    path = tmp_path / "trials.jsonl"
    path.write_text('{"key": "a", "seed": 1, "learning_rate": 0.1, "dev_map": 0.5}\n{"key": "a"\n')
    with pytest.raises(UserError, match=r"trials\.jsonl, line 2: no trial"):
        tune(config, data, "none", 4, path)
    path.write_text('{"key": "a", "seed": 1, "dev_map": 0.5}\n')
    with pytest.raises(UserError, match=r"line 1: no trial \(without learning_rate\)"):
        tune(config, data, "none", 4, path)
