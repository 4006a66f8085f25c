"""The run files that we write, scored by ir_measures' command line, give the numbers of our tables."""

import runpy

import pytest

from answer_ranking.evaluation import METRICS

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
