"""The summary of the study of Eq. 9 on made-up runs, against formulas of SciPy and NumPy."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from answer_ranking.base.errors import UserError
from answer_ranking.evaluation import holm_correction, paired_randomisation_test
from answer_ranking.evaluation.eq9_summary import choose_rate, summarise_conditions
from answer_ranking.evaluation.records import save_study
from answer_ranking.reports.studies.eq9_figure import study_figure
from answer_ranking.reports.studies.eq9_page import eq9_block, load_studies

N_QUESTIONS = 9
TUNED = {"learning_rate": 0.1, "at_edge": False, "rates": []}


def made_up_run(rng, seed, lift=0.0):
    dev = rng.uniform(0.4, 0.7, 4).tolist()
    history = [
        {"dev_map": value, "loss": 1.0, "gradient_norm": 2.0, "edge_share": rng.uniform(), "seconds": 0.5}
        for value in dev
    ]
    side = {"before": [1.0, 2.0, 3.0], "after": [0.7, 0.7, 0.7], "on_edge": 1.0}
    test = {name: rng.uniform(0.2, 0.8, N_QUESTIONS) + lift for name in ("map", "mrr", "p@1")}
    return {
        "seed": seed,
        "best_epoch": int(np.argmax(dev)),
        "history": history,
        "norms": [{"questions": side, "answers": side}] * 5,
        "test": {
            "question_ids": [f"q{i}" for i in range(N_QUESTIONS)],
            **{name: values.tolist() for name, values in test.items()},
        },
    }


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    lifts = {"none": 0.0, "points": 0.15, "cosineqa": -0.05}
    made = {}
    for name, lift in lifts.items():
        made[name] = [made_up_run(rng, seed, lift) for seed in range(3)]
    return made


def values_of(runs, *names):
    """Make an array of what runs have under such names, with a row for each run."""
    table = pd.json_normalize(runs)
    return np.array(table[".".join(names)].tolist())


def curves_of(runs, name):
    """Make an array of a value after each epoch, with a row for each run."""
    return np.array([pd.DataFrame(run["history"])[name] for run in runs])


def summarise(runs, **changes):
    tuned = {name: TUNED | changes.get(name, {}) for name in runs}
    return {each["condition"]: each for each in summarise_conditions(400, tuned, runs, 0.95)}


def study_of(conditions):
    return {
        "title": "WikiQA",
        "dataset": "wikiqa",
        "protocol": "filtered",
        "embeddings": "glove",
        "seeds": 3,
        "size_seeds": 3,
        "level": 0.95,
        "tuning": {"learning_rates": [0.1], "seeds": 3},
        "configuration": {"clip_norm": 1.0, "max_norm": 0.7, "epochs": 4},
        "command": "python reproduce/studies/eq9_study.py",
        "conditions": conditions,
    }


def test_means_and_intervals_are_those_of_scipy(runs):
    for name, found in summarise(runs).items():
        each = values_of(runs[name], "test", "map").mean(axis=1)
        low, high = stats.t.interval(0.95, len(each) - 1, np.mean(each), stats.sem(each))
        assert found["metrics"]["map"]["per_seed"] == pytest.approx(each)
        assert found["metrics"]["map"]["mean"] == pytest.approx((low + high) / 2)
        assert found["metrics"]["map"]["ci95"] == pytest.approx((high - low) / 2)
        edge = curves_of(runs[name], "edge_share")
        assert found["edge_share"]["mean"] == pytest.approx(edge.mean())


def test_p_values_are_those_of_the_means_over_the_seeds_after_holm(runs):
    found = summarise(runs)
    plain, points, cosine = (values_of(each, "test", "map").mean(axis=0) for each in runs.values())
    raw = [paired_randomisation_test(points, plain), paired_randomisation_test(cosine, plain)]
    assert [found["points"]["p"], found["cosineqa"]["p"]] == pytest.approx(holm_correction(raw))
    assert "p" not in found["none"]


def test_epochs_to_the_level_are_counted_from_1_and_none_is_never(runs):
    found = summarise(runs)
    curves = {}
    for name, each in runs.items():
        curves[name] = curves_of(each, "dev_map")
    level = 0.95 * max(each.max(axis=1).mean() for each in curves.values())
    for name, each in curves.items():
        assert found[name]["dev_level"] == pytest.approx(level)
        for curve, epoch in zip(each, found[name]["epochs_to_level"], strict=True):
            reached = np.flatnonzero(curve >= level)
            assert epoch == (reached[0] + 1 if len(reached) else None)


def test_what_diverges_is_reported_and_the_rest_is_summed_up(runs, tmp_path):
    kept = copy.deepcopy(runs["points"][1:])
    runs["points"][0] = {"seed": 0, "diverged": "Training stopped at step 2: the loss is nan"}
    runs["cosineqa"] = []
    found = summarise(runs, cosineqa={"learning_rate": None})
    assert found["points"]["seeds"] == [1, 2] and list(found["points"]["diverged"]) == ["0"]
    each = values_of(kept, "test", "map").mean(axis=1)
    assert found["points"]["metrics"]["map"]["mean"] == pytest.approx(np.mean(each))
    assert "metrics" not in found["cosineqa"] and "p" not in found["cosineqa"]
    save_study(study_of(list(found.values())), tmp_path / "a.json")
    block = eq9_block(tmp_path)
    assert "diverged at every rate" in block and "1 seeds diverged" in block
    # A page and a figure there are, too, where nothing was finished.
    nothing = summarise_conditions(400, {"none": TUNED | {"learning_rate": None}}, {"none": []}, 0.95)
    save_study(study_of(nothing), tmp_path / "a.json")
    assert "diverged at every rate" in eq9_block(tmp_path)
    assert len(study_figure(nothing, max_norm=0.7).axes) == 6


def test_the_best_rate_is_that_of_the_highest_mean_and_one_divergence_puts_a_rate_out():
    trials = [
        *({"learning_rate": 0.03, "dev_map": value} for value in (0.60, 0.70)),
        *({"learning_rate": 0.1, "dev_map": value} for value in (0.66, 0.66)),
        {"learning_rate": 0.3, "dev_map": 0.9},
        {"learning_rate": 0.3, "diverged": "at step 2"},
    ]
    found = choose_rate(trials)
    assert (found["learning_rate"], found["at_edge"]) == (0.1, False)
    assert choose_rate(trials[:4])["at_edge"]
    assert choose_rate(trials[-1:])["learning_rate"] is None


def test_runs_on_other_questions_and_files_that_are_no_records_are_refused(runs, tmp_path):
    runs["points"] = [{**run, "test": {**run["test"], "question_ids": ["x"] * 9}} for run in runs["points"]]
    with pytest.raises(ValueError, match="same test questions"):
        summarise(runs)
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(UserError, match=r"b\.json is not a record of its study"):
        load_studies(tmp_path)
