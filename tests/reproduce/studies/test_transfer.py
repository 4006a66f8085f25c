"""The transfer on the sample: what is drawn, what is kept, and what unseen means."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.engine import Seed, build
from answer_ranking.engine.study import read_rows
from answer_ranking.evaluation.metrics import per_question, summarise
from answer_ranking.evaluation.records import read_study, save_study
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import parse
from answer_ranking.reproduce.studies import transfer as module
from answer_ranking.reproduce.studies.transfer import drawn, presets, transfer
from answer_ranking.training import TrainingDivergedError, score

OPTIONS = ["--dataset", "sample", "--source-epochs", "2", "--epochs", "2", "--dimension", "8"]
OPTIONS += ["--questions", "4", "--rate-factors", "0.5", "1", "--seeds", "1"]


@pytest.fixture(scope="module")
def data():
    return DataOptions(dataset="sample").load()


@pytest.fixture
def source(data, monkeypatch):
    """The first half of the sample's questions, in place of SQuAD-sent."""
    first = {
        name: split.keep_questions(np.arange(len(split.question_ids)) < len(split.question_ids) // 2)
        for name, split in data.splits.items()
    }
    source = replace(data, splits=first)
    monkeypatch.setattr(
        DataOptions, "load", lambda options: source if options.dataset == "squad-sent" else data
    )
    return source


def test_larger_draws_hold_the_smaller_ones_and_seeds_differ(data):
    many = []
    for seed in (0, 1):
        few, more = (set(drawn(data, n, seed).train.question_ids) for n in (3, 9))
        assert few < more and (len(few), len(more)) == (3, 9)
        many.append(more)
    assert many[0] != many[1]
    few = drawn(data, 3, 0)
    assert few.train.counts_under("answerable").all()
    assert few.dev is data.dev
    assert few.word_embedding is data.word_embedding  # one copy in memory, however many draws


def test_the_study(data, source, tmp_path, monkeypatch):
    trainings, train = [], module.train

    def noted(experiment, data, seed):
        model, fitted = train(experiment, data, seed)
        weights = [each.numpy() for each in model.trainable_variables] if data is source else None
        trainings.append((weights, experiment.training.epochs, experiment.training.patience))
        return model, fitted

    monkeypatch.setattr(module, "train", noted)
    places = ["--record", "transfer/sample/hyperqa", "--results", f"{tmp_path}", "--output", f"{tmp_path}/o"]
    experiment = parse("A test.", presets(), [*OPTIONS, *places]).changed(questions=())
    transfer(experiment)
    study = read_study(tmp_path / "transfer" / "sample" / "hyperqa.json")
    assert study["pretrained_on"] == "squad-sent"
    n_all = int(data.train.counts_under("answerable").sum())
    conditions = study["conditions"]
    ways = [(each["way"], each["questions"]) for each in conditions]
    assert ways == [("unseen", 0), ("from scratch", n_all), ("trained on", n_all)]
    # The source was trained on once and first, by its usual way; unseen is what that left.
    (weights, *options), *others = trainings
    assert options == [2, None] and all(of_source is None for of_source, *_ in others)
    model = build(experiment.entry, experiment.model, data, seed=0)
    for variable, weight in zip(model.trainable_variables, weights, strict=True):
        variable.assign(weight)
    table = per_question(data.test, score(model, data.test))
    found = summarise(table, "answerable")["map"]
    assert conditions[0]["metrics"]["map"]["per_seed"][0] == pytest.approx(found, abs=1e-6)
    trained, scratch = conditions[-1], conditions[-2]
    difference = np.mean(trained["per_question"]) - np.mean(scratch["per_question"])
    compared = {(each["better"], each["worse"]): each for each in study["comparisons"]}
    assert compared["trained on", "from scratch"]["difference"] == pytest.approx(difference, abs=1e-5)
    # Two factors on dev: the better one was kept.
    rows = pd.DataFrame(read_rows(tmp_path / "o" / "transfer" / "sample_hyperqa-dev.jsonl"))
    last = rows[(rows["way"] == "trained on") & (rows["questions"] == n_all)]
    maps = last.groupby("rate_factor")["dev_map"].mean()
    assert len(maps) == 2 and maps[trained["rate_factor"]] == maps.max()
    assert trained["metrics_dev"]["map"]["mean"] == pytest.approx(maps.max(), abs=1e-6)
    # Test was scored with the chosen factors alone, after the choice.
    tested = read_rows(tmp_path / "o" / "transfer" / "sample_hyperqa-test.jsonl")
    assert "test" not in rows and not any("dev" in row for row in tested)
    factors = {(each["way"], each["rate_factor"]) for each in conditions}
    assert {(row["way"], row["rate_factor"]) for row in tested} == factors
    states = {path: path.stat().st_mtime_ns for path in (tmp_path / "o").rglob("state.npz")}
    # The source, and two ways with two factors.
    assert len(states) == 1 + 2 * 2
    transfer(experiment)
    # Nothing was trained again.
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "o").rglob("state.npz")} == states


def test_other_weights_to_start_from_are_other_conditions(data, tmp_path):
    found = []
    experiment = parse("A test.", presets(), [*OPTIONS, "--output", f"{tmp_path}"])
    for weights in (np.zeros(3), np.ones(3)):
        keys = {}
        for condition in module.planned(experiment, data, {0: [weights]}):
            keys.setdefault(condition["way"], set()).add(condition["key"])
        found.append(keys)
    first, second = found
    assert first["from scratch"] == second["from scratch"] and len(first["from scratch"]) == 4
    for way in ("unseen", "trained on"):
        assert not first[way] & second[way]


def test_a_factor_that_diverges_is_left_out(data, tmp_path, monkeypatch):
    sizes = {}

    def diverging(experiment, data, seed):
        sizes[len(data.train.question_ids)] = experiment.training.batch_size
        if experiment.training.epochs and experiment.training.learning_rate > 0.04:
            raise TrainingDivergedError("Training stopped at step 1")
        # What is drawn and left out does not depend on what a training learns.
        return untrained

    experiment = parse("A test.", presets(), [*OPTIONS, "--learning-rate", "0.05", "--output", f"{tmp_path}"])
    untrained = module.train(experiment.changed(epochs=0), data, Seed(0))
    starts = {0: [each.numpy() for each in untrained[0].trainable_variables]}
    monkeypatch.setattr(module, "train", diverging)
    found = module.measured(experiment, data, starts)
    assert [each["rate_factor"] for each in found] == [None, 0.5, 0.5, 0.5, 0.5]
    # An epoch of four questions has as many steps as one of all.
    assert sizes[4] == max(1, round(32 * 4 / module.n_questions(data)))
    with pytest.raises(UserError, match="every training diverged"):
        module.measured(experiment.changed(rate_factors=(1.0,)), data, starts)


def test_what_the_user_can_mend(tmp_path):
    def checked(*words):
        return module.check(parse("A test.", presets(), [*words, "--results", f"{tmp_path}"]))

    with pytest.raises(UserError, match="are both squad-sent"):
        checked("--dataset", "squad-sent")
    with pytest.raises(UserError, match="unknown data set 'squad'"):
        checked("--source", "squad")
    with pytest.raises(UserError, match="task-skipgram-100d differs"):
        checked("--embeddings", "task-skipgram-100d")
    with pytest.raises(UserError, match="have different words"):
        checked("--model", "ap-cnn", "--train-word-vectors")
    conditions = [{"questions": number} for number in (0, 10, 200, 873)]
    larger = {"dataset": "wikiqa", "seeds": 6, "conditions": conditions, "rate_factors": [0.5, 1.0]}
    save_study(larger, tmp_path / "transfer" / "a.json")
    with pytest.raises(UserError, match=r"seeds: 6; questions: 200; factors: 0\.5"):
        checked("--record", "transfer/a", "--seeds", "1", "--rate-factors", "1.0")
    enough = ("--seeds", "6", "--questions", "10", "200", "--rate-factors", "0.5", "1.0")
    assert checked("--record", "transfer/a", *enough).path
