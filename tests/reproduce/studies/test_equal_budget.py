"""Equal budgets: what a search draws, when it stops a trial, what it records and goes on from."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock, Timeout

from answer_ranking.base.errors import UserError
from answer_ranking.engine.study import as_json
from answer_ranking.evaluation.records import read_record
from answer_ranking.models.catalogue import CATALOGUE
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import RESULTS, Experiment, parse
from answer_ranking.reproduce.experiments.random_search import median_stop
from answer_ranking.reproduce.studies.equal_budget import (
    BudgetOptions,
    equal_budget,
    experiment_on,
    presets,
    search_of,
)
from answer_ranking.training import TrainingDivergedError

SHARED = {"learning_rate", "batch_size", "l2", "embedding_dropout"}


def test_every_model_of_the_papers_has_one_protocol():
    found = presets()
    of_papers = {name for name, entry in CATALOGUE.items() if entry.printed}
    assert {each.name for each in found} == of_papers - {"features"}
    assert {(each.data.dataset, each.data.variant) for each in found} == {
        ("wikiqa", None),
        ("trecqa", "TRAIN"),
    }
    assert {(each.run.trials, each.run.seeds, each.training.patience) for each in found} == {(24, 10, 5)}
    for preset in found:
        drawn = [search_of(preset).draw(number) for number in range(20)]
        # Values out of range and unknown options are errors.
        assert len({str(preset.changed(**each).configuration) for each in drawn}) > 15
        assert all(each.keys() >= SHARED for each in drawn)
        rate = preset.training.learning_rate
        assert {each["learning_rate"] / rate for each in drawn} == {0.25, 0.5, 1, 2, 4}


def test_one_number_draws_the_same_shared_options_for_every_model():
    found = [each for each in presets() if each.data.dataset == "wikiqa"]
    first = next(each for each in found if each.name == "ctrn")
    for number in (1, 7, 23):
        of_first = search_of(first).draw(number)
        for preset in found:
            search = search_of(preset)
            drawn = search.draw(number)
            for name in ("l2", "dropout", "embedding_dropout"):
                if name in drawn:  # aNMM's L2 has values of its own: the same place among as many.
                    assert search.space[name].index(drawn[name]) == search_of(first).space[name].index(
                        of_first[name]
                    )
            factor = drawn["learning_rate"] / preset.training.learning_rate
            assert factor == pytest.approx(of_first["learning_rate"] / first.training.learning_rate)
    other = replace(first, run=replace(first.run, search_seed=1))
    assert search_of(other).draw(1) != search_of(first).draw(1)


def stops_after(curve, earlier, epochs):
    """Feed a curve of dev MAP to the callback; return after how many epochs it stops, None for never."""
    stop = median_stop(earlier)
    stop.set_params({"epochs": epochs})
    stop.set_model(SimpleNamespace(stop_training=False))
    for epoch, value in enumerate(curve):
        stop.on_epoch_end(epoch, {"dev_map": value})
        if stop.model.stop_training:
            return epoch + 1
    return None


def test_a_model_s_own_values_are_drawn_as_they_are():
    drawn = {"learning_rate": set(), "batch_size": set()}
    entry = CATALOGUE["cross-encoder-list"]
    experiment = experiment_on(entry, {"dataset": "wikiqa"}).changed(patience=5)
    search = search_of(replace(experiment, run=BudgetOptions()))
    for number in range(60):
        for name, values in drawn.items():
            values.add(search.draw(number)[name])
    assert drawn == {name: set(entry.space[name]) for name in drawn}


def test_a_trial_stops_below_the_median_of_the_others():
    # Best so far after 1, 2 and 3 epochs: medians 0.3, 0.5, 0.5; the second trial ended after one epoch.
    curves = [[0.1, 0.6, 0.2], [0.5], [0.3, 0.4, 0.7], [0.2, 0.5, 0.4], [0.4, 0.1, 0.1]]
    earlier = [{"dev_map": curve} for curve in curves]
    assert stops_after([0.3, 0.5, 0.1], earlier, 3) is None
    assert stops_after([0.29, 0.9], earlier, 3) == 1
    assert stops_after([0.3, 0.49], earlier, 3) == 2
    # Of ten epochs the first may be anything, and so may all before there are five trials.
    assert stops_after([0.0, 0.49], earlier, 10) == 2
    assert stops_after([0.0, 0.6], earlier, 10) is None
    assert stops_after([0.0, 0.0], earlier[1:], 2) is None


@pytest.fixture
def trained(monkeypatch):
    """HyperQA's training only notes what it is called with; at the highest rate it diverges."""
    calls = []

    def train(experiment, data, seed):
        (lock,) = (experiment.run.output / "equal_budget").rglob("lock")
        with pytest.raises(Timeout):  # no other process searches meanwhile
            FileLock(lock).acquire(timeout=0)
        rate = experiment.training.learning_rate
        calls.append((rate, seed.number))
        if rate == pytest.approx(0.4):
            raise TrainingDivergedError("Training stopped at step 1")
        history = [{"dev_map": 0.1, "test_map": 0.9}, {"dev_map": rate}]
        variable = SimpleNamespace(shape=(3, 4))
        return SimpleNamespace(trainable_variables=[variable]), SimpleNamespace(history=history)

    monkeypatch.setattr("answer_ranking.reproduce.experiments.random_search.train", train)
    return calls


@pytest.fixture
def search(trained, tmp_path):
    def search(**options):
        trained.clear()
        preset = Experiment.of("hyperqa", DataOptions(dataset="sample"), learning_rate=0.1)
        assert equal_budget(replace(preset, run=BudgetOptions(output=tmp_path)).changed(**options)) is None
        lines = (tmp_path / "equal_budget" / "sample_hyperqa.trials.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines], list(trained)

    return search


def test_a_search_goes_on_and_never_looks_at_test(search, capsys):
    trials, calls = search(trials=8)
    assert [each["trial"] for each in trials] == list(range(8)) and {seed for _, seed in calls} == {0}
    for trial, (rate, _) in zip(trials, calls, strict=True):
        if "diverged" not in trial:
            assert trial["dev_map"] == [0.1, rate] and trial["parameters"] == 12 and not trial["stopped"]
    assert 0 < sum("diverged" in each for each in trials) < 8
    best = max(rate for rate, _ in calls if rate < 0.3)
    number = [rate for rate, _ in calls].index(best)
    assert f"best on dev: trial {number}, dev map {best:.4f}" in capsys.readouterr().out
    assert search(trials=8) == (trials, [])
    longer, calls = search(trials=12)
    assert longer[:8] == trials and len(calls) == 4
    # A smaller budget chooses among its first trials.
    capsys.readouterr()
    assert search(trials=3) == (longer, [])
    first = max(each["dev_map"][1] for each in trials[:3] if "diverged" not in each)
    assert f"dev map {first:.4f}" in capsys.readouterr().out.partition("best on dev: ")[2].splitlines()[0]
    # The same seed of the search draws the same; another one is another search.
    with pytest.raises(UserError, match="is a search of other options or data"):
        search(trials=12, search_seed=1)
    with pytest.raises(UserError, match="is a search of other options or data"):
        search(trials=12, epochs=3)


@pytest.mark.parametrize("options", [{"dropout": 0.77}, {"dimension": 7}])
def test_an_option_that_the_search_draws_is_refused(search, options):
    name = next(iter(options))
    with pytest.raises(UserError, match=f"the search draws {name}: leave --{name} out"):
        search(trials=1, **options)


def test_a_new_default_of_a_drawn_option_leaves_the_search_as_it_is():
    data, other = SimpleNamespace(data_hash="a"), SimpleNamespace(data_hash="b")
    first = next(each for each in presets() if each.name == "cosinet")
    of_first = search_of(first).key(data)
    drawn = first.changed(unit_words=not first.model.unit_words, dropout=0.7, epochs=9)
    assert search_of(drawn).key(data) == of_first
    others = [
        search_of(first.changed(learning_rate=1.0)).key(data),
        search_of(first.changed(filters=7)).key(data),
        search_of(first).key(other),
    ]
    assert len({of_first, *others}) == 4


def test_trials_that_would_be_drawn_in_another_way_are_those_of_another_search(search, monkeypatch):
    trials, _ = search(trials=2)
    entry = CATALOGUE["hyperqa"]
    space = entry.space
    # A new last option that the model does not have changes no draw; a first one changes those behind it.
    monkeypatch.setitem(CATALOGUE, "hyperqa", replace(entry, space={**space, "window": (1, 2)}))
    assert search(trials=2) == (trials, [])
    for other in ({"window": (1, 2), **space}, {name: values[:1] for name, values in space.items()}):
        monkeypatch.setitem(CATALOGUE, "hyperqa", replace(entry, space=other))
        with pytest.raises(UserError, match="is a search of other options or data"):
            search(trials=2)


def test_a_record_of_more_seeds_is_not_lost_after_a_search(trained, tmp_path):
    words = ["--dataset", "sample", "--trials", "2", "--seeds", "2", "--record", "fair/sample/a"]
    words += ["--results", f"{tmp_path}", "--output", f"{tmp_path}/o"]
    path = tmp_path / "fair" / "sample" / "a.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"dataset": "sample", "seeds": [0, 1, 2], "metrics": {}}))
    with pytest.raises(UserError, match="seeds: 3"):
        equal_budget(parse("A test.", presets(), words))
    more = {"dataset": "sample", "seeds": [0, 1], "metrics": {}, "search": {"trials": 24}}
    path.write_text(json.dumps(more))
    with pytest.raises(UserError, match="trials: 24"):
        equal_budget(parse("A test.", presets(), words))
    assert trained == []


@pytest.mark.parametrize("trials", sorted(RESULTS.glob("fair/*/*.trials.jsonl")), ids=lambda path: path.stem)
def test_more_trials_are_added_to_those_that_are_recorded(trials):
    name = trials.name.removesuffix(".trials.jsonl")
    record = read_record(next(trials.parent.glob(f"{name}.json"), trials.parent / f"{name}-clean.json"))
    search = search_of(parse("A test.", presets(), record.command.split()[2:]))
    rows = [json.loads(line) for line in trials.read_text().splitlines()]
    assert {row["key"] for row in rows} == {search.key(SimpleNamespace(data_hash=record.data))}
    assert all(row["options"] == as_json(search.draw(row["trial"])) for row in rows)


def test_what_the_user_can_mend(search):
    with pytest.raises(UserError, match="trials must be at least 1"):
        BudgetOptions(trials=0)
    with pytest.raises(UserError, match="search_seed 104 is a seed for test"):
        BudgetOptions(search_seed=104)
    with pytest.raises(UserError, match="every trial diverged"):
        search(trials=1)  # whose learning rate is four times 0.1


def test_the_best_is_trained_with_fresh_seeds_and_recorded(tmp_path):
    """The real thing, small, on the bundled sample: two trials, and two seeds for test."""
    words = "--model cosineqa --dataset sample --trials 2 --seeds 2 --epochs 2 --record fair/sample/cosineqa"
    places = ["--results", f"{tmp_path}", "--output", f"{tmp_path}/o"]
    equal_budget(parse("A test.", presets(), [*words.split(), *places]))
    record = read_record(tmp_path / "fair" / "sample" / "cosineqa.json")
    path = tmp_path / "fair" / "sample" / "cosineqa.trials.jsonl"
    trials = [json.loads(line) for line in path.read_text().splitlines()]
    chosen = max(trials, key=lambda trial: max(trial["dev_map"]))
    assert record.seeds == [100, 101] and record.split == "test" and not record.main
    assert record.search == {
        **{"chosen": chosen["trial"], "trials": 2, "stopped": 0, "diverged": 0, "search_seed": 0},
        "seconds": pytest.approx(sum(each["seconds"] for each in trials), abs=0.11),
    }
    assert record.configuration.items() >= {**chosen["options"], "patience": 5}.items()
    assert record.parameters == chosen["parameters"] and record.questions_per_second > 0
    assert record.training_seconds == chosen["seconds"] > 0
    assert np.shape(record.per_question["map"]) == (2, 20)
