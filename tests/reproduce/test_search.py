"""A recorded search: what it repeats, and what it does not take for done."""

import json
from dataclasses import dataclass

import pytest

from data_prep import UserError
from reproduce.ctrn_experiment import CTRNConfig
from reproduce.experiment import SeedRun, load_experiment_data
from reproduce.search import SearchOptions, run_search

SPACE = {"learning_rate": (0.01, 0.02), "hidden": ((4,), (5,))}


@dataclass(frozen=True, kw_only=True)
class SearchConfig(SearchOptions, CTRNConfig):
    """A search on the sample."""

    dataset: str = "sample"
    model: str = "features"
    overlap_features: bool = True
    epochs: int = 1
    seeds: int = 1
    trials: int = 3


@pytest.fixture(scope="module")
def data():
    return load_experiment_data(CTRNConfig(dataset="sample"), overlap=True)


@pytest.fixture
def search(data, tmp_path):
    trained = []

    def train(config, data, seed, splits):
        assert splits == ("dev",)
        # What is learned does not matter here: the overlap itself scores the candidates.
        trained.append((config.learning_rate, config.hidden, config.dropout))
        scores = data.encoded.dev.features[:, 0] * config.learning_rate
        return SeedRun(None, [], 0, {"dev": scores})

    def run(**options):
        trained.clear()
        config = SearchConfig(folder=tmp_path, **options)
        run_search(config, SPACE, CTRNConfig, data, train, paper="ctrn")
        (path,) = tmp_path.glob("*.jsonl")
        return list(trained), [json.loads(line) for line in path.read_text().splitlines()]

    return run


def test_a_search_goes_on_and_takes_no_other_configuration_for_done(search):
    trained, trials = search()
    assert len(trained) == len(trials) == len({json.dumps(t["options"]) for t in trials}) <= 3
    assert all(0 < map_ <= 1 for trial in trials for map_ in trial["dev_map"])
    # The same search again has nothing to do; a longer one does the rest.
    assert search()[0] == []
    rest, longer = search(trials=12)
    assert len(longer) == 4
    assert set(trained) | set(rest) == {(r, h, 0.5) for r in (0.01, 0.02) for h in ((4,), (5,))}
    # Another dropout is another model, though no option of the space says so.
    again, _ = search(dropout=0.25)
    assert len(again) == len(trained)


def test_a_search_without_trials_is_refused(search):
    with pytest.raises(UserError, match="--trials must be at least 1"):
        search(trials=0)


def test_near_trials_begin_with_the_given_configuration(search):
    (first, *_), _ = search(around=0.5, learning_rate=0.02, hidden=(5,), trials=1)
    assert first == (0.02, (5,), 0.5)
