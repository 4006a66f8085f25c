"""The search of options on dev: what it draws, records and goes on from."""

import importlib
from dataclasses import replace
from types import SimpleNamespace

import optuna
import pytest

from answer_ranking.data_prep import UserError
from answer_ranking.reproduce.experiments import attentive_pooling, cosinet, ctrn, hyperqa
from answer_ranking.reproduce.studies import search as module
from answer_ranking.reproduce.studies.search import SearchOptions, main, search
from answer_ranking.training import TrainingDivergedError

PRESETS = {
    recipe: importlib.import_module(f"answer_ranking.reproduce.{name}_trecqa").PRESETS
    for recipe, name in ((hyperqa, "hyperqa"), (ctrn, "ctrn"), (attentive_pooling, "attentive_pooling"))
} | {cosinet: importlib.import_module("answer_ranking.reproduce.cosinet_wikiqa").PRESETS}


@pytest.mark.parametrize("recipe", PRESETS)
def test_every_trial_of_a_recipe_is_an_experiment(recipe):
    """Values out of range and unknown options are errors."""
    for preset in PRESETS[recipe]:
        if preset.name == "features":
            continue
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        drawn = [preset.changed(**recipe.suggest(study.ask(), preset)) for _ in range(20)]
        assert len({str(each.configuration) for each in drawn}) > 15
        if recipe is attentive_pooling:
            for each in drawn:
                assert (each.training.optimizer == "adam") == (each.training.learning_rate < 0.05)


@pytest.fixture
def recipe(monkeypatch):
    """HyperQA's, with a training that only notes what it is called with."""
    trained = []

    def train(experiment, data, seed):
        trained.append((experiment.training.learning_rate, seed.number))
        if experiment.training.learning_rate == 0.3:
            raise TrainingDivergedError("Training stopped at step 1")
        history = [{"dev_map": 0.1, "test_map": 0.9}, {"dev_map": experiment.training.learning_rate}]
        return None, SimpleNamespace(history=history, best_epoch=1, seconds=1.0)

    monkeypatch.setattr(hyperqa, "train", train)
    return trained


@pytest.fixture
def run(recipe, tmp_path, capsys):
    def run(**options):
        recipe.clear()
        searched = {name: options.pop(name) for name in ("trials", "seeds", "search_seed") if name in options}
        experiment = hyperqa.hyperqa(hyperqa.DataOptions(dataset="sample")).changed(**options)
        study = search(replace(experiment, run=SearchOptions(folder=tmp_path, **searched)), hyperqa)
        return study, list(recipe), capsys.readouterr().out

    return run


def test_a_search_goes_on_and_takes_no_other_options_for_done(run, tmp_path):
    study, trained, said = run(trials=6, seeds=2)
    assert len(study.trials) == 6
    assert {seed for _, seed in trained} == {0, 1}
    diverged = [trial for trial in study.trials if "diverged" in trial.user_attrs]
    assert f"{6 - len(diverged)} trials, and {len(diverged)} that diverged" in said
    for trial in study.trials:
        if trial.value is not None:
            assert trial.value == pytest.approx(trial.params["learning_rate"])
            assert trial.user_attrs["dev_map"] == [trial.value] * 2
    # The same search again has nothing to do; a longer one does the rest, with new draws.
    assert run(trials=6, seeds=2)[1] == []
    longer, _, _ = run(trials=9, seeds=2)
    assert len(longer.trials) == 9
    assert len({str(sorted(trial.params.items(), key=str)) for trial in longer.trials}) == 9
    # Other fixed options and other seeds are another study.
    assert len(run(trials=2, seeds=2, epochs=3)[0].trials) == 2
    assert len(run(trials=2, seeds=1)[0].trials) == 2
    assert [path.suffix for path in tmp_path.iterdir()] == [".journal"]


def test_what_the_user_can_mend(run, tmp_path, monkeypatch, capsys):
    with pytest.raises(UserError, match="trials must be at least 1"):
        SearchOptions(trials=0)
    with pytest.raises(UserError, match="seeds must be at least 1"):
        SearchOptions(seeds=0)
    with pytest.raises(UserError, match="first argument must be one of attentive_pooling_insuranceqa, "):
        main(["nope"])
    with pytest.raises(SystemExit) as end:
        main(["hyperqa_wikiqa", "--record", "a/b/c"])
    assert end.value.code == 2 and "--record" in capsys.readouterr().err
    run(trials=1)
    (path,) = tmp_path.iterdir()
    path.write_text("{\n" + path.read_text())
    with pytest.raises(UserError, match=r"\.journal is damaged"):
        run(trials=2)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="needs Optuna"):
        SearchOptions()
