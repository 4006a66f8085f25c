"""HyperQA's scripts as a user meets them: from a shell, and by what they leave behind."""

import json
import math
import re
import sys
from dataclasses import replace

import ir_measures
import numpy as np
import pytest

import reproduce.experiment
from data_prep import load_dataset, registry
from evaluation.source_fingerprints import source_fingerprints
from reproduce.demo import Config as DemoConfig
from reproduce.experiment import ROOT
from reproduce.hyperqa_experiment import HyperQAConfig, run_hyperqa
from reproduce.hyperqa_search import SPACE, SearchConfig, complete
from reproduce.search import trial_options

MEASURES = {
    "map": ir_measures.AP,
    "mrr": ir_measures.RR,
    "p@1": ir_measures.P @ 1,
    "ndcg@10": ir_measures.nDCG @ 10,
}


@pytest.fixture
def in_process(run_in_process):
    """Run a script's main function here, for cases that are many and quick; as from a shell otherwise."""
    return lambda *arguments, config=DemoConfig: run_in_process(run_hyperqa, config, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "seeds must be at least 1"),
        (["--epochs", "0"], "epochs must be at least 1"),
        (["--model", "cosineqa", "--eq9", "points"], "--eq9 points is for HyperQA"),
        (["--margin", "-1"], "margin must be above 0"),
        (["--learning-rate", "inf"], "learning_rate must be"),
        (["--max-norm", "1.5"], "max_norm must be above 0 and at most 1"),
        (["--dropout", "1"], "dropout must be at least 0 and below 1"),
        (["--own-negatives", "0", "--foreign-negatives", "0"], "must not both be 0"),
        (["--dimensions", "20", "0"], "dimensions must be at least 1"),
        (["--dimensions", "20", "--record"], "--record and --check-data are for one size"),
        (["--dimensions", "20", "--check-data"], "--record and --check-data are for one size"),
        (["--optimizer", "fastest"], "no optimizer 'fastest'"),
        (["--embeddings", "no-such-vectors"], "no-such-vectors"),
        (["--dataset", "nope"], "unknown data set 'nope'"),
        (["--dataset", "trecqa", "--variant", "SOME"], "unknown variant 'SOME'"),
        (["--dataset", "wikiqa", "--data-home", "/nonexistent"], "/nonexistent"),
    ],
)
def test_what_the_user_can_mend_ends_with_2(in_process, tmp_path, arguments, message):
    code, _, err = in_process("--output", tmp_path, *arguments)
    assert code == 2
    assert err.splitlines()[-1].startswith("error: ")
    assert message in err
    assert "Traceback" not in err


def test_the_same_from_a_shell(shell, tmp_path):
    for arguments, message in (
        (["--data-home", "/nonexistent"], "error: wikiqa/WikiQA-train.tsv is not in /nonexistent"),
        (["--no-such-option"], "no-such-option"),
        (["--epochs", "many"], "many"),
        (["--eq9", "both"], "both"),
    ):
        done = shell("hyperqa_wikiqa.py", "--output", tmp_path, *arguments)
        assert done.returncode == 2, arguments
        assert message in done.stderr
        assert "Traceback" not in done.stderr


QUICK = ("--epochs", "1", "--seeds", "1", "--dimension", "8")


@pytest.mark.parametrize("record", [[], ["--record"]])
def test_a_folder_that_cannot_be_written_to_is_noticed_before_the_first_epoch(
    in_process, tmp_path, monkeypatch, record
):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(reproduce.experiment, "RESULTS", tmp_path / "file")
    output = tmp_path / ("output" if record else "file")
    code, _, err = in_process(*QUICK, *record, "--output", output)
    assert code == 2
    assert re.search(r"^error: cannot write to .*file", err, re.MULTILINE)
    assert "epoch" not in err
    assert not list(tmp_path.glob("output/*/*/*"))


def test_divergence_ends_with_2_and_names_step_and_cause(in_process, tmp_path):
    options = ("--learning-rate", "1e38", "--optimizer", "sgd", "--clip-norm", "1", "--eq9", "none")
    code, _, err = in_process(*QUICK, "--epochs", "3", *options, "--output", tmp_path)
    assert code == 2
    assert re.search(r"^error: Training stopped at step \d+: .*(nan|inf|not finite)", err, re.MULTILINE)
    assert "Traceback" not in err


def test_tensorboard_that_is_not_installed_is_named(in_process, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    code, _, err = in_process(*QUICK, "--tensorboard", "--output", tmp_path)
    assert code == 2
    assert re.search(r"error: .*pip install tensorboard", err)


def test_what_is_printed(sample_run):
    assert "sample: train 80 questions" in sample_run.stdout
    assert re.search(r"glove-6b-50d: 50 dimensions, knows [\d.]+ % of the words", sample_run.stdout)
    table = sample_run.stdout[sample_run.stdout.index("wrote ") :]
    assert "sample" in table
    assert "wikiqa" not in sample_run.stdout.lower().replace(str(sample_run.output).lower(), "")
    row = next(line for line in table.splitlines() if line.startswith("HyperQA, ours"))
    metrics = sample_run.record["metrics"]
    for metric in ("map", "mrr", "p@1", "ndcg@10"):
        assert f"{metrics[metric]['mean']:.3f} ± {metrics[metric]['ci95']:.3f}" in row
    assert f"{50 * 16 + 16 + 2:,}" in row
    last = sample_run.stderr.replace("\r", "\n").strip().splitlines()[-1]
    assert re.match(r"HyperQA, seed 1: 100%\|.*left, epoch 12/12, loss \d\.\d{4}, dev map \d\.\d{4}", last)


def test_the_record_holds_what_repeats_it(sample_run):
    record = sample_run.record
    required = "paper dataset protocol split model variant embeddings seeds metrics parameters"
    assert {*required.split(), "seconds_per_epoch", "command", "versions"} <= set(record)
    assert [record[key] for key in ("paper", "dataset", "protocol", "split", "model", "embeddings")] == [
        "hyperqa",
        "sample",
        "filtered",
        "test",
        "HyperQA",
        "glove-6b-50d",
    ]
    assert record["seeds"] == [0, 1]
    assert record["parameters"] == 50 * 16 + 16 + 2
    assert {"python", "keras", "numpy"} <= set(record["versions"])
    assert record["command"] == (
        "python reproduce/hyperqa_wikiqa.py --dataset sample --seeds 2 --epochs 12 --dimension 16 "
        "--sampling mix --own-negatives 3 --dropout 0.1 --max-norm 0.7 --tensorboard"
    )
    for key in ("metrics", "metrics_count_all", "metrics_dev"):
        for metric in MEASURES:
            summary = record[key][metric]
            a, b = summary["per_seed"]
            assert summary["mean"] == pytest.approx((a + b) / 2, abs=2e-6)
            # Student's t with one degree of freedom, from a printed table: 12.706.
            assert summary["ci95"] == pytest.approx(12.7062 * abs(a - b) / 2, abs=1e-4)
    per_question = record["per_question"]
    for metric in MEASURES:
        for seed in (0, 1):
            values = per_question[metric][seed]
            assert len(values) == len(per_question["question_ids"]) == 20
            assert np.mean(values) == pytest.approx(record["metrics"][metric]["per_seed"][seed], abs=2e-6)
    text = sample_run.record_path.read_text()
    assert str(sample_run.output) not in text


@pytest.mark.parametrize(("split", "key"), [("test", "metrics"), ("dev", "metrics_dev")])
def test_run_files_give_the_record_s_numbers(sample_run, split, key):
    runs = sample_run.folder / "runs"
    qrels = list(ir_measures.read_trec_qrels(str(runs / f"{split}.qrels")))
    for seed in (0, 1):
        run = list(ir_measures.read_trec_run(str(runs / f"{split}-seed-{seed}.run")))
        assert len(run) == len(qrels)
        measured = ir_measures.calc_aggregate(MEASURES.values(), qrels, run)
        for name, measure in MEASURES.items():
            assert measured[measure] == pytest.approx(
                sample_run.record[key][name]["per_seed"][seed], abs=5e-5
            )


def test_figures_and_logs_are_there(sample_run):
    for name in ("learning_curves", "norms"):
        content = (sample_run.folder / f"{name}.png").read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
    for seed in (0, 1):
        assert list((sample_run.folder / f"seed-{seed}").glob("tensorboard/**/events.out.tfevents.*"))
    # Nothing half-written is left.
    assert not [path for path in sample_run.output.rglob("*") if path.name.startswith(".")]


def test_training_on_the_sample_helps(sample_run):
    """Random order has an expected MAP of 0.35 on the sample's test questions."""
    assert sample_run.record["metrics"]["map"]["mean"] > 0.45


def test_two_protocols_are_two_records(in_process, tmp_path, monkeypatch):
    """--record writes into the folder of records and nowhere else; one training serves every protocol."""
    monkeypatch.setattr(reproduce.experiment, "RESULTS", tmp_path / "results")
    two = replace(load_dataset("sample").description, protocols={"raw": "answerable", "clean": "clean"})
    monkeypatch.setitem(registry.DATASETS, "sample", two)
    code, out, err = in_process(
        *QUICK, "--record", "--main", "--notes", "a/b is a note", "--output", tmp_path / "out"
    )
    assert code == 0, err
    records = [json.loads(path.read_text()) for path in sorted((tmp_path / "results").iterdir())]
    assert [record["protocol"] for record in records] == ["clean", "raw"]
    for record in records:
        assert record["main"] is True
        assert record["notes"] == "a/b is a note"
        # One seed has no interval.
        assert record["metrics"]["map"]["ci95"] is None
        assert not math.isnan(record["metrics"]["map"]["mean"])
    assert "nan" not in out
    assert not list((tmp_path / "out").glob("**/hyperqa_sample-*.json"))


def test_every_test_split_is_scored_and_recorded(in_process, run_on_disk, tmp_path, monkeypatch):
    """A second test split, here the first questions of the first, has run files and records of its own.

    What a killed process left half-written is gone.
    """
    plain = in_process(*QUICK, "--output", tmp_path / "plain")
    assert plain[0] == 0, plain[2]
    sample = registry.DATASETS["sample"]

    def read(variant, files):
        train, dev, test = sample.read(variant, files)
        first = test["question_id"].unique()[:5]
        return train, dev, test, {"test2": test[test["question_id"].isin(first)].reset_index(drop=True)}

    monkeypatch.setitem(registry.DATASETS, "sample", replace(sample, read=read))
    # The data differ, and so does the folder: it is found by a run that is not finished.
    for leftovers in ((), ("seed-0/.state.npz.x1.part", "model/.4194305.part.keras", ".norms.png.x1.part")):
        for name in leftovers:
            (run_on_disk(tmp_path / "two").folder / name).write_text("half")
        code, out, err = in_process(*QUICK, "--output", tmp_path / "two")
        assert code == 0, err
    (folder,) = (tmp_path / "two").glob("*/*/")
    assert not list(folder.rglob(".*"))
    records = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    (name,) = (path.name for path in (tmp_path / "plain").glob("*/*/*.json"))
    assert set(records) == {name, name.replace("sample-filtered_", "sample-filtered-test2_")}
    first, second = sorted(records.values(), key=lambda record: record["split"])
    assert (first["split"], second["split"]) == ("test", "test2")
    assert "sample filtered test2" in out
    ids = second["per_question"]["question_ids"]
    assert ids == first["per_question"]["question_ids"][: len(ids)]
    assert 0 < len(ids) <= 5
    for metric, measure in MEASURES.items():
        assert second["per_question"][metric][0] == first["per_question"][metric][0][: len(ids)]
        run = ir_measures.read_trec_run(str(folder / "runs" / "test2-seed-0.run"))
        qrels = ir_measures.read_trec_qrels(str(folder / "runs" / "test2.qrels"))
        measured = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        assert measured == pytest.approx(second["metrics"][metric]["mean"], abs=5e-5)
    assert second["metrics_dev"] == first["metrics_dev"]


def test_code_that_is_not_there_is_named():
    assert source_fingerprints(HyperQAConfig.sources, ROOT)
    with pytest.raises(ValueError, match=r"no_such_\*\.py"):
        source_fingerprints([*HyperQAConfig.sources, "layers/no_such_*.py"], ROOT)


def test_figure_3_is_drawn(in_process, tmp_path):
    options = ["--dimensions", "4", "6", "--eq9", "points", "--output", tmp_path]
    code, out, err = in_process(*QUICK[:4], *options)
    assert code == 0, err
    for model in ("HyperQA", "CosineQA"):
        for dimension in (4, 6):
            assert re.search(rf"{model}, d = {dimension}: test MAP 0\.\d{{4}}", out)
    (figure,) = tmp_path.rglob("*embedding-size*.png")
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_cosineqa_converts_no_gradients():
    """Eq. 9 is of the distance on the ball, which CosineQA does not have."""
    hyper = HyperQAConfig(dataset="sample")
    assert hyper.eq9 == "parameters"
    for cosine in (HyperQAConfig(dataset="sample", model="cosineqa"), replace(hyper, model="cosineqa")):
        assert cosine.eq9 == cosine.matters()["eq9"] == "none"


def test_recorded_runs_take_five_seeds_and_quick_looks_one():
    assert HyperQAConfig(dataset="sample").seed_list == [0]
    assert HyperQAConfig(dataset="sample", record=True, first_seed=3).seed_list == [3, 4, 5, 6, 7]


def test_trials_are_functions_of_their_number():
    config = SearchConfig(dataset="sample")
    trials = [complete(trial_options(config, SPACE, i)) for i in range(30)]
    assert trials == [complete(trial_options(config, SPACE, i)) for i in range(30)]
    assert len({json.dumps(trial) for trial in trials}) == 30
    for trial in trials:
        assert trial.keys() == SPACE.keys()
        assert all(value in SPACE[name] for name, value in trial.items())
        HyperQAConfig(dataset="sample", **trial)
    near = SearchConfig(dataset="sample", around=1.0, margin=0.125)
    assert trial_options(near, SPACE, 7)["margin"] == 0.125
