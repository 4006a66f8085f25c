"""A plan: what is refused, when ranges widen, and that test is scored when all has been chosen."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from filelock import FileLock
from made_records import made_record

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import save_record
from answer_ranking.evaluation.plan import read_plan
from answer_ranking.reproduce.experiments import random_search, run
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.random_search import RandomSearch, folds_of
from answer_ranking.reproduce.studies.planned import Part, PlannedOptions, planned

SMALL = """
seeds = 1
first_seed = 100
search_seeds = [0, 1]
metric = "map"
level = 0.05
margin = 0.02
most_widenings = 1

[data.sample]
dataset = "sample"
protocol = "filtered"
embeddings = ["glove-6b-50d"]

[groups.ball]
data = ["sample"]
trials = 1
may_widen = ["dimension"]
fixed = { epochs = 1 }
factors.learning_rate = [0.5, 1]
space.dimension = [5, 10]
space.clip_norm = ["None", 1.0]
sides.hyperqa = { model = "hyperqa" }
sides.cosineqa = { model = "cosineqa" }

[[groups.ball.comparisons]]
question = "The distance against the cosine"
better = "hyperqa"
worse = "cosineqa"
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(SMALL)
    return path


def options_of(path):
    return PlannedOptions(plan=path, output=path.parent / "outputs", results=path.parent / "results")


def run_small(path):
    planned(options_of(path))
    found = {}
    for record in sorted((path.parent / "results" / "planned" / "plan" / "sample").glob("*.json")):
        found[record.stem] = json.loads(record.read_text())
    return found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = 1", "sedes = 1", "sedes"),
        ('worse = "cosineqa"', 'worse = "cosine"', "no side 'cosine'. It has hyperqa, cosineqa"),
        ('may_widen = ["dimension"]', 'may_widen = ["clip_norm"]', "has not two numbers, all above 0"),
        ("dimension = [5, 10]", "dimension = [5, 5]", "has not two numbers, all above 0"),
        ("space.dimension", "space.learning_rate", "is a factor and an option"),
        ("search_seeds = [0, 1]", "search_seeds = [0, 100]", "is a seed for test"),
        ('protocol = "filtered"', 'protocol = "clean"', "sample has no protocol 'clean'. It has filtered"),
    ],
)
def test_what_is_wrong_with_a_plan(old, new, message, small):
    small.write_text(SMALL.replace(old, new))
    with pytest.raises(UserError, match=message):
        run_small(small)


def test_test_is_scored_after_every_choice_and_nothing_twice(small, monkeypatch):
    seeds = []
    real = run.train

    def train(experiment, data, seed):
        seeds.append(seed.number)
        model, fitted = real(experiment.changed(epochs=0), data, seed)
        history = [{"loss": 1.0, "dev_map": 0.5, "dev_mrr": 0.5, "seconds": 1.0}]
        return model, replace(fitted, history=history, best_epoch=0)

    monkeypatch.setattr(random_search, "train", train)
    monkeypatch.setattr(run, "train", train)
    small.write_text(SMALL.replace("most_widenings = 1", "most_widenings = 0"))
    found = run_small(small)
    first_test = seeds.index(100)
    assert set(seeds[:first_test]) == {0, 1} and set(seeds[first_test:]) == {100}
    sides = {(each["search"]["side"], each["search"]["search_seed"]) for each in found.values()}
    assert sides == {("hyperqa", 0), ("hyperqa", 1), ("cosineqa", 0), ("cosineqa", 1)}
    plan = read_plan(small)
    spaces = {json.dumps(each["search"]["space"]) for each in found.values()}
    assert {each["search"]["plan"] for each in found.values()} == {plan.sha256} and len(spaces) == 1
    done = len(seeds)
    assert run_small(small) == found and len(seeds) == done

    small.write_text(SMALL.replace("margin = 0.02", "margin = 0.03"))
    with pytest.raises(UserError, match="is of another plan"):
        run_small(small)


def test_the_records_of_seed_10_are_not_those_of_seed_1(small):
    part = Part(read_plan(small), "ball", "sample", options_of(small))
    folder = small.parent / "results" / "planned" / "plan" / "sample"
    search = {"plan": part.plan.sha256}
    for name in ("search-1", "search-1-wider-1", "search-10"):
        record = made_record(dataset="sample", protocol="filtered", search=search)
        save_record(record, folder / f"ball-hyperqa-{name}.json")
    found = {seed: {path.stem for path in part._records("hyperqa", seed)} for seed in (0, 1, 10)}
    own = {"ball-hyperqa-search-1", "ball-hyperqa-search-1-wider-1"}
    assert found == {0: set(), 1: own, 10: {"ball-hyperqa-search-10"}}


def test_a_range_widens_where_most_searches_choose_its_end(small, monkeypatch):
    """The larger the better on dev, for one side: then all sides search wider, once."""
    dimensions = []

    def train(experiment, data, seed):
        score = experiment.model.dimension / 1000 if experiment.name == "hyperqa" else 0.5
        dimensions.append(experiment.model.dimension)
        return SimpleNamespace(trainable_variables=[]), SimpleNamespace(history=[{"dev_map": score}])

    facts = []
    monkeypatch.setattr(random_search, "train", train)
    monkeypatch.setattr(RandomSearch, "record", lambda *_, **found: facts.append(found))
    small.write_text(SMALL.replace("trials = 1", "trials = 4"))
    run_small(small)
    assert [each["space"]["dimension"] for each in facts] == [[5, 10, 20]] * 4
    assert set(dimensions) == {5, 10, 20}
    trials = small.parent / "results" / "planned" / "plan" / "sample"
    assert len(list(trials.glob("*-wider-1.trials.jsonl"))) == 4 and not list(trials.glob("*-wider-2*"))


def test_a_trial_that_another_process_trains_keeps_none_waiting(tmp_path, monkeypatch):
    measured = []

    def trial(self, splits, number, seed, rows):
        measured.append(number)
        if len(measured) == 3:  # All but the one that is held.
            held.release()
        return {"dev_map": [0.5], "stopped": False, "parameters": 1}

    monkeypatch.setattr(RandomSearch, "_trial", trial)
    experiment = Experiment.of("hyperqa", DataOptions(dataset="sample"))
    space = {"dimension": [5, 10]}
    search = RandomSearch(experiment=experiment, factors={}, space=space, trials=4, seed=0, stops_early=False)
    data = experiment.data.load()
    place = tmp_path / search.key(data) / "trial-0-seed-0"
    place.mkdir(parents=True)
    held = FileLock(place / "lock")
    held.acquire()
    found = search.run(data, tmp_path / "trials.jsonl", tmp_path)
    assert measured == [1, 2, 3, 0] and list(found.index) == [0, 1, 2, 3]


def test_a_control_with_other_vectors_stands_beside_the_plan(small, monkeypatch):
    fitted = SimpleNamespace(trainable_variables=[]), SimpleNamespace(history=[{"dev_map": 0.5}])
    monkeypatch.setattr(random_search, "train", lambda experiment, data, seed: fitted)
    monkeypatch.setattr(RandomSearch, "record", lambda *_, **found: None)
    results = small.parent / "results"
    options = PlannedOptions(plan=small, output=small.parent / "outputs", results=results)
    planned(replace(options, embeddings=("glove-6b-50d",)))
    (place,) = (results / "planned" / "plan").iterdir()
    assert place.name == "sample-glove-6b-50d" and len(list(place.glob("*-search-?.trials.jsonl"))) == 4
    # The plan itself begins anew.
    planned(options)
    assert len(list((results / "planned" / "plan" / "sample").glob("*-search-?.trials.jsonl"))) == 4


def test_folds_divide_train_and_dev():
    data = DataOptions(dataset="sample").load()
    folds = folds_of(data, 3)
    held_out = [set(fold.dev.question_ids) for fold in folds]
    everything = {*data.train.question_ids, *data.dev.question_ids}
    assert set.union(*held_out) == everything and sum(map(len, held_out)) == len(everything)
    for fold in folds:
        assert set(fold.train.question_ids) == everything - set(fold.dev.question_ids)
        assert fold.test is data.test and fold.word_embedding is data.word_embedding
    # A question has its own candidates and words in every fold.
    one, split = data.dev.question_ids[0], data.dev
    fold = next(each for each in folds if one in each.dev.question_ids)
    place = fold.dev.question_ids.index(one)
    begin, end = fold.dev.candidate_offsets[place : place + 2]
    rows = range(int(begin), int(end))
    assert fold.dev.candidates.take(rows).words.tolist() == (
        split.candidates.take(range(int(split.candidate_offsets[1]))).words.tolist()
    )


def test_each_fold_counts_by_its_best_epoch(tmp_path, monkeypatch):
    curves = iter([[0.1, 0.6, 0.2], [0.3, 0.1, 0.4], [0.2, 0.45, 0.5], [0.45, 0.2, 0.44]])

    def train(experiment, data, seed):
        history = [{"dev_map": score, "test_map": 1 - score} for score in next(curves)]
        return SimpleNamespace(trainable_variables=[]), SimpleNamespace(history=history)

    monkeypatch.setattr(random_search, "train", train)
    experiment = Experiment.of("hyperqa", DataOptions(dataset="sample"))
    space = {"dimension": [5, 10]}
    search = RandomSearch(experiment=experiment, factors={}, space=space, trials=2, seed=0, folds=2)
    trials = search.run(experiment.data.load(), tmp_path / "trials.jsonl", tmp_path)
    assert trials["dev_map_of_folds"].tolist() == [[0.6, 0.4], [0.5, 0.45]]
    assert trials["dev_map"].tolist() == [0.5, 0.475] and trials["chosen"].tolist() == [True, False]
