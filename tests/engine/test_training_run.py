"""Dev chooses the epoch of a training, and the seed whose model is kept; test chooses nothing."""

from dataclasses import replace

import pandas as pd
import pytest

from answer_ranking.data_prep import load_dataset
from answer_ranking.engine import Seed, TrainingRun, encode
from answer_ranking.engine.recipe import options_of, train
from answer_ranking.engine.training_run import SeedResult
from answer_ranking.evaluation import measure
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.training import score

FAST = {
    "hyperqa": {"dimension": 8, "learning_rate": 0.3},
    "ctrn": {"filters": 8, "hidden": (4,), "learning_rate": 0.05},
    "qa-cnn": {"filters": 8, "learning_rate": 2.0},
}
"""Options by which epochs differ in quality."""


@pytest.fixture(scope="module")
def data():
    """Few questions of the sample; on test every label is turned round, so that it ranks epochs otherwise."""
    sample = load_dataset("sample")
    splits = {}
    for name, table in sample.splits.items():
        few = table["question_id"].unique()[:16]
        splits[name] = table[table["question_id"].isin(few)].reset_index(drop=True)
    splits["test"] = splits["dev"].assign(label=1 - splits["dev"]["label"])
    return encode(replace(sample, **splits), ["glove-6b-50d"])


@pytest.mark.parametrize("name", FAST)
def test_a_trained_model_is_that_of_the_best_epoch_on_dev(data, name):
    entry = CATALOGUE[name]
    options = options_of(entry, {**entry.training, **FAST[name], "epochs": 4})
    model, fitted = train(entry, *options, data, Seed(1))
    on_dev = [epoch["dev_map"] for epoch in fitted.history]
    assert len(set(on_dev)) > 1
    found = measure(data.dev, score(model, data.dev, data.order_seed))["map"]
    assert found == pytest.approx(max(on_dev), abs=1e-6)


def test_the_seed_that_is_best_on_dev_is_kept(data, tmp_path):
    def result(dev, test):
        tables = {}
        for name, value in (("dev", dev), ("test", test)):
            metrics = dict.fromkeys(("map", "mrr", "p@1", "ndcg@10"), value)
            tables[name] = pd.DataFrame([{"n_correct": 1, "n_wrong": 1, **metrics}])
        return SeedResult([], {}, tables)

    run = TrainingRun(tmp_path, "key", "title", data)
    run.results |= {0: result(0.4, 0.9), 1: result(0.6, 0.1), 2: result(0.6, 0.8)}
    assert run.best == 1
