"""The run files that we write, scored by ir_measures' command line, give the numbers of our tables."""

import os
import runpy

import pytest

from answer_ranking.data_prep import load_dataset
from answer_ranking.data_prep.tables import apply_protocol
from answer_ranking.evaluation import METRICS, evaluate_ranking, summarise, write_qrels, write_run
from answer_ranking.evaluation.rules import rule_scores

# Read here: other tests leave the variable out of their environment.
DATA_HOME = os.environ.get("QA_DATA_HOME")

# Our names, and those of trec_eval's measures in ir_measures.
MEASURES = {"map": "AP", "mrr": "RR", "p@1": "P@1", "ndcg@10": "nDCG@10"}


@pytest.fixture
def ir_measures_says(monkeypatch, capsys):
    """Give what the command prints, run as `python -m ir_measures` but in this process."""

    def run(qrels, run):
        capsys.readouterr()
        command = ["ir_measures", "--places", "6", str(qrels), str(run), *MEASURES.values()]
        monkeypatch.setattr("sys.argv", command)
        runpy.run_module("ir_measures", run_name="__main__")
        values = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
        return {ours: float(values[theirs]) for ours, theirs in MEASURES.items()}

    return run


def assert_equal_to_four_digits(theirs: dict[str, float], ours: dict[str, float]):
    assert set(theirs) == set(METRICS)
    for metric, value in theirs.items():
        assert value == pytest.approx(ours[metric], abs=5e-5), metric


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_training_s_run_files_give_its_record(sample_run, ir_measures_says, split):
    record = sample_run.record
    runs = sample_run.folder / "runs"
    metrics = {"dev": record["metrics_dev"], "test": record["metrics"]}[split]
    for i, seed in enumerate(record["seeds"]):
        run = runs / f"{split}-seed-{seed}.run"
        theirs = ir_measures_says(runs / f"{split}.{record['protocol']}.qrels", run)
        assert_equal_to_four_digits(theirs, {name: metrics[name]["per_seed"][i] for name in METRICS})
        if split == "test":
            theirs = ir_measures_says(runs / "test.qrels", run)
            count_all = {name: record["metrics_count_all"][name]["per_seed"][i] for name in METRICS}
            assert_equal_to_four_digits(theirs, count_all)


@pytest.mark.parametrize("rule", ["Random", "RR", "WO", "BM25"])
def test_rules_on_the_sample(tmp_path, ir_measures_says, rule):
    """Word overlap has ties in nearly every question, and "Random" is one tie."""
    compare_rule(load_dataset("sample"), rule, tmp_path, ir_measures_says)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["wikiqa", "trecqa"])
def test_rules_on_real_data(tmp_path, ir_measures_says, name):
    if DATA_HOME is None:
        pytest.skip("QA_DATA_HOME is not set: the real data sets are not at hand")
    compare_rule(load_dataset(name, data_home=DATA_HOME), "WO", tmp_path, ir_measures_says)


def compare_rule(dataset, rule, folder, ir_measures_says):
    table, description = dataset.test, dataset.description
    scores = rule_scores(table, description)[rule]
    questions = table["question_id"].to_numpy(object)
    per_question = evaluate_ranking(questions, table["label"].to_numpy(), scores)
    # A data set may give a candidate's id to several questions, but within a question it names one.
    write_run(folder / "run", questions.tolist(), table["candidate_id"].tolist(), scores)
    for counted in (*description.protocols.values(), "all"):
        kept = apply_protocol(table, counted)
        columns = (kept[name].tolist() for name in ("question_id", "candidate_id"))
        write_qrels(folder / "qrels", *columns, kept["label"].to_numpy())
        theirs = ir_measures_says(folder / "qrels", folder / "run")
        assert_equal_to_four_digits(theirs, summarise(per_question, counted))
