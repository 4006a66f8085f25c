"""Options and presets: what a command line has and refuses, and whether it states the recorded values."""

import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from told_help import help_teller

from answer_ranking.base.errors import UserError
from answer_ranking.engine.training_run import ADDED_LATER
from answer_ranking.evaluation import load_records
from answer_ranking.evaluation.records import record_path
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.experiment_list import LIST, read_list
from answer_ranking.reproduce.experiments.options import RESULTS, Experiment, RunOptions, given_option, parse
from answer_ranking.reproduce.experiments.run import run_experiment
from answer_ranking.reproduce.studies import equal_budget

ROOT = Path(__file__).parents[2]
PAPERS = ("hyperqa", "ctrn", "attentive_pooling", "cosinet", "field")
SCRIPTS = sorted(path.stem for paper in PAPERS for path in (ROOT / "reproduce").glob(f"{paper}_*.py"))
STUDIES = sorted(
    path.stem for path in (ROOT / "reproduce" / "studies").glob("*.py") if path.stem != "__init__"
)


def presets(script):
    return importlib.import_module(f"answer_ranking.reproduce.{script}").PRESETS


def preset(script, name, variant=None):
    fitting = [each for each in presets(script) if each.name == name]
    return next((each for each in fitting if each.data.variant == variant), fitting[0])


def test_help_tells_the_command_and_imports_nothing_heavy(environment):
    scripts = [*SCRIPTS, "demo", "presets", *(f"studies/{each}" for each in STUDIES)]
    with help_teller(environment) as help_of:
        for script in scripts:
            code, printed, heavy = help_of(ROOT / "reproduce" / f"{script}.py")
            assert (code, heavy) == (0, []), script
            # In one line without frames.
            text = re.sub(r"[│╭╰╮╯─\s]+", " ", re.sub(r"\x1b\[[0-9;]*m", "", printed))
            assert f"python reproduce/{script}.py" in text
            # Every option with a sentence that is more than its type and default.
            for said in re.findall(r" (--[a-z0-9-]+[ ,].*?\((?:default|required).*?\))", text):
                assert len(re.findall(r"[a-z]{3,}", said)) >= 4, (script, said)


@pytest.mark.parametrize(
    ("script", "model", "own", "others"),
    [
        ("ctrn_trecqa", "ctrn", "--alignment --kernel-size", "--pooling"),
        ("ctrn_trecqa", "lstm", "--filters --projection", "--pooling --alignment --kernel-size"),
        ("ctrn_trecqa", "features", "--hidden", "--filters --embedding-dropout --overlap-features"),
        ("hyperqa_wikiqa", "cosineqa", "--max-norm", "--eq9 --distance-form"),
        ("attentive_pooling_wikiqa", "qa-bilstm", "--filters", "--window"),
        ("cosinet_wikiqa", "ca-list", "--dimension --max-candidates", "--width --hidden --answerable-only"),
        (
            "cosinet_wikiqa",
            "cross-encoder",
            "--most-pieces",
            "--identity-dimensions --mask-numbers --lowercase",
        ),
    ],
)
def test_an_option_without_effect_does_not_exist(capsys, script, model, own, others):
    with pytest.raises(SystemExit) as end:
        parse("A script.", presets(script), ["--model", model, "--help"])
    assert end.value.code == 0
    shown = re.findall(r"(?<![a-z-])--[a-z0-9-]+", capsys.readouterr().out)
    assert set(own.split()) <= set(shown)
    for option in others.split():
        assert option not in shown
        with pytest.raises(SystemExit) as end:
            parse("A script.", presets(script), [f"--model={model}", option, "1"])
        assert end.value.code == 2
        assert f"{option}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        # Of all scripts; one of them shows it.
        ("hyperqa_wikiqa", "--seeds 0", "seeds must be at least 1"),
        ("hyperqa_wikiqa", "--learning-rate inf", "learning_rate must be"),
        ("hyperqa_wikiqa", "--l2 nan", "l2 must be"),
        ("hyperqa_wikiqa", "--model nope", "--model must be one of"),
        ("hyperqa_wikiqa", "--record Name", "record"),
        ("hyperqa_wikiqa", "--main", "add --record NAME"),
        ("hyperqa_wikiqa", "--dataset nope", "unknown data set 'nope'"),
        ("hyperqa_wikiqa", "--dataset wikiqa --variant None --data-home /nonexistent", "/nonexistent"),
        ("hyperqa_wikiqa", "--dataset sample --optimizer fastest", "no optimizer 'fastest'"),
        ("hyperqa_wikiqa", "--dataset sample --embeddings no-such-vectors", "no-such-vectors"),
        # Of some.
        ("hyperqa_wikiqa", "--max-norm 1.5", "max_norm must be above 0 and at most 1"),
        ("ctrn_trecqa", "--hidden 8 0", "hidden sizes must be at least 1"),
        ("ctrn_trecqa", "--alignment sideways", "sideways"),
        ("cosinet_wikiqa", "--dataset sample --model cosinet-list-birnn --hidden 7", "and even where"),
        ("cosinet_wikiqa", "--model ca-list --max-candidates 1", "max_candidates must be at least 2"),
        ("attentive_pooling_wikiqa", "--word-vector-norm 0", "word_vector_norm must be above 0"),
        ("attentive_pooling_wikiqa", "--model ap-cnn --optimizer Adam", "give --learning-rate"),
    ],
)
def test_what_the_user_can_mend_ends_with_2(run_in_process, tmp_path, script, arguments, message):
    code, _, err = run_in_process(run_experiment, presets(script), "--output", tmp_path, *arguments.split())
    assert code == 2
    assert message in " ".join(re.sub("[│\n]", " ", err).split())
    assert "Traceback" not in err


def test_a_script_says_the_same(run_script, tmp_path):
    for arguments in (["--data-home", "/nonexistent"], ["--no-such-option"]):
        script = ROOT / "reproduce" / "hyperqa_wikiqa.py"
        code, _, err = run_script(script, "--output", tmp_path, *arguments)
        assert code == 2 and arguments[-1].strip("-") in err


@pytest.mark.parametrize(
    ("arguments", "dataset", "variant", "mask_numbers"),
    [
        ("", "wikiqa", None, False),
        ("--dataset trecqa", "trecqa", "TRAIN", True),
        ("--variant TRAIN", "trecqa", "TRAIN", True),
        ("--dataset=trecqa --variant TRAIN-ALL", "trecqa", "TRAIN-ALL", True),
        ("--dataset semevalcqa", "semevalcqa", None, False),
    ],
)
def test_the_data_set_chooses_among_the_options_that_are_stated(arguments, dataset, variant, mask_numbers):
    found = parse("", equal_budget.presets(), ["--model", "qrnn", *arguments.split()]).data
    assert (found.dataset, found.variant, found.mask_numbers) == (dataset, variant, mask_numbers)
    assert found.overlap_features == (dataset == "trecqa")
    # A system whose own papers have the features has them everywhere.
    assert parse("", equal_budget.presets(), ["--model", "hd-lstm", *arguments.split()]).data.overlap_features


def test_recorded_runs_take_five_seeds_and_quick_looks_one():
    assert RunOptions().seed_list == [0]
    assert RunOptions(record="a/b/c", first_seed=3).seed_list == [3, 4, 5, 6, 7]
    assert RunOptions(record="a/b/c", seeds=1).seed_list == [0]


def test_an_experiment_is_changed_by_the_names_of_its_options():
    experiment = Experiment.of("hyperqa", DataOptions(dataset="sample"))
    changed = experiment.changed(dimension=3, seeds=2, epochs=4, lowercase=False)
    assert (changed.model.dimension, changed.training.epochs, changed.data.lowercase) == (3, 4, False)
    assert changed.run.seed_list == [0, 1]
    assert changed.configuration == experiment.configuration | {
        "dimension": 3,
        "epochs": 4,
        "lowercase": False,
    }
    with pytest.raises(UserError, match="has no option filters"):
        experiment.changed(filters=3)


def test_of_an_option_given_twice_the_last_counts():
    twice = ["--model", "hyperqa", "--dataset=sample", "--model", "cosineqa", "--dataset", "wikiqa"]
    experiment = parse("", presets("hyperqa_wikiqa"), twice)
    once = parse("", presets("hyperqa_wikiqa"), ["--model", "cosineqa", "--dataset", "wikiqa"])
    assert (experiment.title, experiment.configuration) == ("CosineQA", once.configuration)


def test_every_record_is_one_of_the_list_whose_names_are_paths():
    names = read_list(LIST)
    assert all(record_path(RESULTS, name).is_relative_to(RESULTS) for name in names)
    for record in load_records(RESULTS):
        assert given_option(record.command.split(), "--record") in names, record.command


records_in = cache(load_records)
LISTED = {name: command for name, command in read_list(LIST).items() if "studies/" not in command}


@pytest.mark.parametrize("name", LISTED)
def test_a_listed_command_states_the_options_of_its_record(name):
    """A record of before may name options without effect as well; a command that was not run yet has none."""
    script, *arguments = LISTED[name].split()[1:]
    experiment = parse("", presets(Path(script).stem), arguments)
    folder = RESULTS / Path(name).parent
    for record in records_in(folder) if folder.is_dir() else ():
        if given_option(record.command.split(), "--record") != name:
            continue
        known = {key: value for key, value in record.configuration.items() if key in experiment.configuration}
        known.pop("model", None)
        ours = experiment.configuration
        if ours["embeddings"] == ["glove+spacy-450d"] and len(known["embeddings"]) == 3:
            known["embeddings"] = ["glove+spacy-450d"]
        assert {key: ours[key] for key in known} == known
        # So does the command that the record itself names.
        script, *arguments = record.command.split()[1:]
        own = parse("", presets(Path(script).stem), arguments).configuration
        own["embeddings"] = ours["embeddings"]
        assert {key: own[key] for key in known} == known
        # Options that came later have the value that there was before.
        later = {"raw_embeddings", "pooling", "start", "shuffle_candidates", *ADDED_LATER}
        assert set(ours) - set(known) - {"model"} <= later
        assert (record.model, record.main) == (experiment.title, experiment.run.main)
        assert record.seeds == experiment.run.seed_list
