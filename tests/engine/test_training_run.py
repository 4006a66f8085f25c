"""Dev chooses the seed whose model is kept; test chooses nothing. Processes share the seeds."""

import pandas as pd
from filelock import FileLock

from answer_ranking.engine import TrainingRun
from answer_ranking.engine.training_run import SeedResult
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
