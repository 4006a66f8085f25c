"""The run of an experiment: what it prints, records and leaves, whatever the paper."""

import json
import math
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import DATASETS, load_dataset
from answer_ranking.data_prep.dataset import find_description
from answer_ranking.engine import TRAINED
from answer_ranking.evaluation import METRICS, load_records, per_question, save_record
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.ranking import Ranker
from answer_ranking.reproduce import demo
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import Run, clean_command, run_experiment

QUICK = ("--epochs", "1", "--seeds", "1", "--dimension", "8")


@pytest.fixture
def in_process(run_in_process):
    return lambda *arguments: run_in_process(run_experiment, demo.PRESETS, *arguments)


def test_the_record_holds_what_repeats_it(sample_run):
    record = sample_run.record
    facts = {
        "paper": "hyperqa",
        "dataset": "sample",
        "protocol": "filtered",
        "split": "test",
        "model": "HyperQA",
        "embeddings": "glove-6b-50d",
        "seeds": [0, 1],
        "parameters": 50 * 16 + 16 + 2,
        "command": "python reproduce/hyperqa_wikiqa.py --dataset sample --seeds 2 --epochs 12 --dimension 16 "
        "--own-negatives 3 --dropout 0.1 --max-norm 0.7",
    }
    assert {key: record[key] for key in facts} == facts
    assert {"python", "keras", "numpy"} <= set(record["versions"])
    assert record["configuration"]["own_negatives"] == 3 and record["configuration"]["model"] == "hyperqa"
    assert not {"data_home", "embeddings_home", "output", "seeds"} & set(record["configuration"])
    for key in ("metrics", "metrics_count_all", "metrics_dev"):
        for metric in METRICS:
            summary = record[key][metric]
            a, b = summary["per_seed"]
            assert summary["mean"] == pytest.approx((a + b) / 2, abs=2e-6)
            # Student's t with one degree of freedom, from a printed table: 12.706.
            assert summary["ci95"] == pytest.approx(12.7062 * abs(a - b) / 2, abs=1e-4)
    by_question = record["per_question"]
    for metric in METRICS:
        for seed in (0, 1):
            values = by_question[metric][seed]
            assert len(values) == len(by_question["question_ids"]) == 20
            assert np.mean(values) == pytest.approx(record["metrics"][metric]["per_seed"][seed], abs=2e-6)
    assert str(sample_run.output) not in sample_run.record_path.read_text()


def test_the_recorded_dev_map_is_that_of_the_best_epoch(sample_run):
    for seed, recorded in enumerate(sample_run.record["metrics_dev"]["map"]["per_seed"]):
        with np.load(sample_run.folder / f"seed-{seed}" / "state.npz") as state:
            facts = json.loads(bytes(state["facts"]))
        maps = [epoch["dev_map"] for epoch in facts["history"]]
        assert recorded == pytest.approx(max(maps), abs=2e-6)
        assert len({round(each, 6) for each in maps}) > 1


def test_figures_are_there(sample_run):
    for name in ("learning_curves", "norms"):
        content = (sample_run.folder / f"{name}.png").read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) > 10_000
    # Nothing half-written is left.
    assert not [path for path in sample_run.output.rglob("*") if path.name.startswith(".")]


def test_two_protocols_are_two_records_under_the_given_name(in_process, tmp_path, monkeypatch):
    two = replace(load_dataset("sample").description, protocols={"raw": "answerable", "clean": "clean"})
    monkeypatch.setitem(DATASETS, "sample", two)
    options = ("--record", "hyperqa/sample/mine", "--results", tmp_path / "results", "--main")
    code, out, err = in_process(*QUICK, *options, "--notes", "a/b is a note", "--output", tmp_path / "out")
    assert code == 0, err
    folder = tmp_path / "results" / "hyperqa" / "sample"
    assert sorted(path.name for path in folder.iterdir()) == ["mine-clean.json", "mine-raw.json"]
    for record in load_records(tmp_path / "results"):
        assert (record.main, record.notes) == (True, "a/b is a note")
        # One seed has no interval.
        assert record.metrics["map"]["ci95"] is None and not math.isnan(record.metrics["map"]["mean"])
    assert "nan" not in out
    assert not list((tmp_path / "out").rglob("record*.json"))


def test_every_test_split_is_scored_and_recorded(in_process, run_on_disk, tmp_path, monkeypatch):
    """A second test split, here the first questions of the first, has run files and records of its own."""
    sample = find_description("sample")

    def read(variant, files):
        train, dev, test = sample.read(variant, files)
        first = test["question_id"].unique()[:5]
        return train, dev, test, {"test2": test[test["question_id"].isin(first)].reset_index(drop=True)}

    monkeypatch.setitem(DATASETS, "sample", replace(sample, read=read))
    code, out, err = in_process(*QUICK, "--output", tmp_path)
    assert code == 0, err
    folder = run_on_disk(tmp_path).folder
    records = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert set(records) == {"record.json", "record-test2.json"}
    first, second = records["record.json"], records["record-test2.json"]
    assert "sample filtered test2" in out
    ids = second["per_question"]["question_ids"]
    assert 0 < len(ids) <= 5 and ids == first["per_question"]["question_ids"][: len(ids)]
    assert (folder / "runs" / "test2-seed-0.run").is_file() and (folder / "runs" / "test2.qrels").is_file()
    for metric in METRICS:
        assert second["per_question"][metric][0] == first["per_question"][metric][0][: len(ids)]
    assert second["metrics_dev"] == first["metrics_dev"]


def test_a_record_is_not_lost_to_fewer_seeds_or_to_a_variant(tmp_path):
    data = DataOptions(dataset="sample").load()

    def run(**options):
        places = {"output": tmp_path, "results": tmp_path / "results", "record": "hyperqa/sample/a"}
        return Run(
            "hyperqa",
            Experiment.of("hyperqa", DataOptions(dataset="sample")).changed(**places, **options),
            data,
        )

    first = run(seeds=2, main=True)
    first.model = SimpleNamespace(trainable_variables=[])
    history = [{"seconds": 1.0}]
    for number in first.seeds:
        splits = data.scored_splits.items()
        tables = {name: per_question(split, np.zeros(split.n_rows)) for name, split in splits}
        first.results[number] = SimpleNamespace(history=history, tables=tables)
    smaller = run(seeds=1, main=True)
    ((path, record),) = first._records({}).items()
    save_record(record, path)
    for late in (lambda: run(seeds=1, main=True), smaller.write):
        with pytest.raises(UserError, match="seeds: 2"):
            late()
    with pytest.raises(UserError, match="options: --main"):
        run(seeds=2)
    assert run(seeds=2, main=True).key == first.key
    # The commit is that of the seeds' trainings; none, where it is not one, but each seed's is there.
    # The memory is the most of them; None, where the system does not say.
    for commits, recorded, memory in ((("a", "a"), ("a", True), 7), (("a", "b"), ("", None), None)):
        for number, commit in enumerate(commits):
            made_by = first.folder / f"seed-{number}" / TRAINED
            made_by.parent.mkdir(exist_ok=True)
            of_seed = {"commit": commit, "clean_tree": True, "peak_memory": memory and memory - number}
            made_by.write_text(json.dumps(of_seed))
        found = first._records({})[path]
        assert (found.commit, found.clean_tree) == recorded and found.commits == list(commits)
        assert found.peak_memory == memory
    save_record(replace(record, dataset="trecqa"), path)
    with pytest.raises(UserError, match="is a record of trecqa"):
        run(seeds=2, main=True)


@pytest.mark.parametrize("record", [[], ["--record", "hyperqa/sample/a"]])
def test_a_folder_that_cannot_be_written_to_is_noticed_before_the_first_epoch(in_process, tmp_path, record):
    (tmp_path / "file").write_text("not a folder")
    output = tmp_path / ("output" if record else "file")
    code, _, err = in_process(*QUICK, *record, "--results", tmp_path / "file", "--output", output)
    assert code == 2
    assert re.search(r"^error: cannot write to .*file", err, re.MULTILINE)
    assert "epoch" not in err


def test_what_another_state_s_key_depends_on(tmp_path):
    data = DataOptions(dataset="sample").load()
    vectors = replace(data.word_vectors, matrix=data.word_vectors.matrix * 2)
    experiment = Experiment.of("hyperqa", DataOptions(dataset="sample")).changed(output=tmp_path)

    def key(experiment, data=data):
        return Run("hyperqa", experiment, data).key

    same = [experiment, experiment.changed(seeds=3, notes="a", first_seed=2)]
    others = [
        experiment.changed(margin=0.3),
        experiment.changed(dimension=3),
        experiment.changed(unknown_scale=0.1),
    ]
    assert len({key(each) for each in same}) == 1
    assert len({key(each) for each in [experiment, *others]}) == 4
    assert key(experiment, replace(data, word_vectors=vectors)) != key(experiment)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--data-home", "/data", "--model", "ctrn"], "--model ctrn"),
        (["--data_home=/data", "--model=ctrn", "--output", "here"], "--model=ctrn"),
        (["--model", "ctrn", "--results", "a", "--output", "b"], "--model ctrn"),
        (["--learning_rate", "0.1", "--own_negatives=4"], "--learning-rate 0.1 --own-negatives=4"),
        (["--embeddings", "/home/me/glove.txt", "--x=~/y"], "--embeddings glove.txt --x=y"),
    ],
)
def test_a_recorded_command_has_one_spelling_and_no_place_of_the_machine(monkeypatch, given, expected):
    monkeypatch.setattr(sys, "argv", ["/some/where/reproduce/ctrn_trecqa.py", *given])
    assert clean_command() == f"python reproduce/ctrn_trecqa.py {expected}"


TOY = '''
"""A toy paper: the mean of the words' vectors, compared by a product, trained pointwise."""

from dataclasses import dataclass

import keras

from answer_ranking.base.command import run_command
from answer_ranking.models import word_embedding
from answer_ranking.models.catalogue import CATALOGUE, Entry, ModelOptions
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment, parse
from answer_ranking.reproduce.experiments.run import run_experiment


@dataclass(frozen=True, kw_only=True)
class Toy(ModelOptions):
    """The options of the toy."""

    size: int = 8
    """Size of a projected text."""


def toy(word_vectors, *, size, seed):
    question, answer = (
        keras.Input((None,), dtype="int32", name=name) for name in ("question", "answer")
    )
    words = word_embedding(word_vectors)
    dense, mean = keras.layers.Dense(size), keras.layers.GlobalAveragePooling1D()
    q, a = (dense(mean(words(text))) for text in (question, answer))
    return keras.Model([question, answer], keras.ops.sum(q * a, axis=-1), name="Toy")


CATALOGUE["toy"] = Entry(
    name="toy", title="Toy", paper="toy", network=toy, options=Toy, method="pointwise"
)
PRESETS = [Experiment.of("toy", DataOptions(dataset="sample"), epochs=2)]

if __name__ == "__main__":
    run_command(lambda: run_experiment(parse(__doc__, PRESETS)))
'''


def test_a_fifth_paper_is_one_script(run_script, tmp_path, monkeypatch):
    """With its model in the script; the facts about a paper are an entry of papers.toml."""
    monkeypatch.setitem(CATALOGUE, "toy", None)  # so that the script's entry goes afterwards
    script = tmp_path / "toy_sample.py"
    script.write_text(TOY)
    options = ["--size", "4", "--record", "toy/sample/toy", "--seeds", "2", "--results", tmp_path / "results"]
    code, out, err = run_script(script, *options, "--output", tmp_path / "out")
    assert code == 0, err[-3000:]
    (record,) = load_records(tmp_path / "results")
    assert (record.paper, record.model, record.seeds) == ("toy", "Toy", [0, 1])
    assert record.configuration["size"] == 4 and 0 < record.metrics["map"]["mean"] <= 1
    assert "Toy, ours, 2 seeds" in out
    (folder,) = (tmp_path / "out").glob("*/*/model")
    assert len(Ranker.load(folder).rank("Who wrote it?", ["Ann wrote it.", "It rained."])) == 2
    # Elsewhere nobody has heard of its entry.
    del CATALOGUE["toy"]
    elsewhere = Ranker.load(folder)
    assert elsewhere.kind == "toy"
    assert elsewhere.explain("who wrote it", "ann wrote it").kind == "occlusion"
    with pytest.raises(UserError, match="encode texts"):
        elsewhere.encode_query(["who wrote it"])
