"""Dev chooses the seed whose model is kept; test chooses nothing. Processes share the seeds."""

import pandas as pd
import pytest
from filelock import FileLock

from answer_ranking.engine import TRAINED, TrainingRun, read_facts, training_run
from answer_ranking.engine.training_run import SeedResult
from answer_ranking.evaluation.records import environment
from answer_ranking.reproduce.experiments.data_options import DataOptions


def result(dev, test):
    tables = {}
    for name, value in (("dev", dev), ("test", test)):
        metrics = dict.fromkeys(("map", "mrr", "p@1", "ndcg@10"), value)
        tables[name] = pd.DataFrame([{"n_correct": 1, "n_wrong": 1, **metrics}])
    return SeedResult([], {}, tables)


def test_the_seed_that_is_best_on_dev_is_kept(tmp_path):
    run = TrainingRun(tmp_path, "key", "title", DataOptions(dataset="sample").load())
    run.results |= {0: result(0.4, 0.9), 1: result(0.6, 0.1), 2: result(0.6, 0.8)}
    assert run.best == 1


def test_a_seed_that_another_process_trains_is_waited_for_in_the_end(tmp_path):
    run = TrainingRun(tmp_path, "key", "title", DataOptions(dataset="sample").load())
    (tmp_path / "seed-0").mkdir()
    other = FileLock(tmp_path / "seed-0" / "lock")
    other.acquire()
    trained = []

    def train(seed):
        trained.append(seed.number)
        if seed.number == 2:
            other.release()

    try:
        run.train_each(range(3), lambda seed: (train(seed), None), keep=False)
    finally:
        other.release()
    assert trained == [1, 2, 0]


@pytest.mark.parametrize(
    ("begun", "ended", "named"),
    [
        (("a", True), ("a", True), ("a", True)),
        (("a", True), ("b", True), ("", None)),
        (("a", False), ("a", True), ("", None)),
        (None, ("a", True), ("", None)),
    ],
)
def test_a_training_that_two_codes_share_has_no_commit(tmp_path, monkeypatch, begun, ended, named):
    run = TrainingRun(tmp_path, "key", "title", DataOptions(dataset="sample").load())

    def train_under(code, work):
        facts = {**environment(), "commit": code[0], "clean_tree": code[1]}
        monkeypatch.setattr(training_run, "environment", lambda: facts)
        run.train_each([0], work, keep=False)

    def interrupted(seed):
        seed.state.touch()
        raise KeyboardInterrupt

    if begun is None:  # a state of a version that did not say what began it
        (tmp_path / "seed-0").mkdir()
        (tmp_path / "seed-0" / "state.npz").touch()
    else:
        with pytest.raises(KeyboardInterrupt):
            train_under(begun, interrupted)
    train_under(ended, lambda seed: (None, None))
    found = read_facts(tmp_path / "seed-0" / TRAINED)
    assert (found["commit"], found["clean_tree"]) == named


def test_a_seed_names_the_memory_of_the_process_that_trained_it(tmp_path, monkeypatch):
    run = TrainingRun(tmp_path, "key", "title", DataOptions(dataset="sample").load())
    for number, memory in enumerate((1234, None)):
        monkeypatch.setattr(training_run, "peak_memory", lambda memory=memory: memory)
        run.train_each([number], lambda seed: (None, None), keep=False)
        assert read_facts(tmp_path / f"seed-{number}" / TRAINED)["peak_memory"] == memory
