"""The script that makes the presets, on the sample."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answer_ranking.base.errors import UserError
from answer_ranking.data_prep import load_dataset
from answer_ranking.engine.training_run import SeedResult
from answer_ranking.evaluation.metrics import METRICS
from answer_ranking.models import hyperqa
from answer_ranking.ranking import Ranker
from answer_ranking.reproduce import presets
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import Experiment
from answer_ranking.reproduce.experiments.run import Run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a preset that was trained on the sample with two settings, the better one twice."""
    folder, data = tmp_path_factory.mktemp("presets"), DataOptions(dataset="sample")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presets, "DATA", data)
        small = Experiment.of("hyperqa", data, epochs=2, dimension=8)
        settings = [small.changed(learning_rate=rate) for rate in (1e-5, 0.1)]
        patch.setattr(presets, "SETTINGS", {"hyperqa_squad": settings})
        patch.setattr(presets, "N_WORDS", 20)
        presets.main(
            presets.Config(
                preset="hyperqa_squad",
                seeds=2,
                measured=("sample",),
                output=folder / "outputs",
                folder=folder,
            )
        )
    return folder / "hyperqa_squad"


def test_the_best_on_dev_is_taken(made):
    card = json.loads((made / "card.json").read_text())
    trials, chosen = card["trials"], card["chosen"]
    one_each = [trial for trial in trials if trial["seed"] == 0]
    best_rate = max(one_each, key=lambda trial: trial["dev_map"])["learning_rate"]
    assert {trial["learning_rate"] for trial in one_each} == {1e-5, 0.1}
    assert sorted(trial["seed"] for trial in trials if trial["learning_rate"] == best_rate) == [0, 1]
    assert chosen == max(
        (trial for trial in trials if trial["learning_rate"] == best_rate), key=lambda trial: trial["dev_map"]
    )
    assert card["size"]["words"] == 20 and card["size"]["parameters"] == 50 * 8 + 8 + 2


def test_the_small_folder_scores_as_the_trained_model(made):
    card = json.loads((made / "card.json").read_text())
    assert card["largest_difference"] < 1e-4


def test_its_figures_are_those_of_its_rankings(made):
    (conditions,) = json.loads((made / "card.json").read_text())["conditions"]
    table = load_dataset("sample").test
    labels = table.set_index(["question_id", "candidate_id"])["label"]
    precisions = []
    for _, ranked in Ranker.load(made).rank_table(table).groupby("question_id"):
        right = labels.loc[list(zip(ranked["question_id"], ranked["candidate_id"], strict=True))].to_numpy()
        hits = np.cumsum(right) / np.arange(1, len(right) + 1)
        precisions += [hits[right == 1].mean()] if right.any() else []
    assert conditions["metrics"]["preset"]["map"]["mean"] == pytest.approx(np.mean(precisions), abs=1e-6)
    # Its own training texts are others than those of test.
    assert 0 <= conditions["seen"] < 0.5 and conditions["questions"] == len(precisions)
    assert f"{np.mean(precisions):.3f}" in (made / "card.md").read_text()


def test_it_is_measured_again_without_training(made, monkeypatch):
    monkeypatch.setattr(presets, "DATA", DataOptions(dataset="sample"))
    monkeypatch.setattr(presets, "search", None)  # Training would fail.
    before, weights = json.loads((made / "card.json").read_text()), (made / "ranker.keras").read_bytes()
    config = presets.Config(
        preset="hyperqa_squad", measured=("sample",), folder=made.parent, measure_only=True
    )
    presets.main(config)
    after = json.loads((made / "card.json").read_text())
    assert (made / "ranker.keras").read_bytes() == weights
    assert after.pop("measured")["created"] > before.pop("measured")["created"]
    assert after == before


def seed_result(dev_map):
    table = pd.DataFrame([{"n_correct": 1, "n_wrong": 1, **dict.fromkeys(METRICS, dev_map)}])
    return SeedResult([{"dev_map": dev_map}], {}, {"dev": table})


def test_every_seed_searches_by_its_own_points(tmp_path):
    options = DataOptions(dataset="sample")
    data, experiment = options.load(), Experiment.of("hyperqa", options)
    models = [hyperqa(data.word_embedding, 8, seed=seed) for seed in (0, 1)]
    both, alone = (
        Run("hyperqa", experiment.changed(output=tmp_path / name), data) for name in ("both", "alone")
    )
    both.results, both.model = {0: seed_result(0.5)}, models[0]
    first = presets.found_on_dev(both, data)
    for run in (both, alone):
        run.results, run.model = {0: seed_result(0.5), 1: seed_result(0.6)}, models[1]
    second = presets.found_on_dev(both, data)
    assert first != second == presets.found_on_dev(alone, data)
    trials = presets.trials([both], lambda _: {"dev_mrr@10": second})
    assert [trial.get("dev_mrr@10") for trial in trials] == [None, second]


def test_without_a_card_there_is_nothing_to_measure(tmp_path):
    config = presets.Config(preset="hyperqa_squad", folder=tmp_path, measure_only=True)
    with pytest.raises(UserError, match=r"no card\.json"):
        presets.main(config)
    assert not list(tmp_path.iterdir())


def test_a_part_has_whole_articles():
    table = pd.DataFrame({"question_id": list("aabbccdd"), "article": list("xxyyzzxx"), "label": [1, 0] * 4})
    dataset = replace(load_dataset("sample"), train=table)
    kept = presets.part_of(dataset, 2).train
    assert kept["article"].nunique() == 2
    assert kept["question_id"].tolist() == [
        q for q, a in zip("aabbccdd", "xxyyzzxx", strict=True) if a in set(kept["article"])
    ]
