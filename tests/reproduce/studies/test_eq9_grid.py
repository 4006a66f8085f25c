"""The grid of Eq. 9 on the sample: every cell is trained and scored, and the page says what is there."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from answer_ranking.base.errors import UserError
from answer_ranking.engine import Seed
from answer_ranking.engine.study import read_rows
from answer_ranking.reports.studies.eq9_grid_page import (
    best_on_dev,
    differences,
    grid_block,
    grid_figure,
    grid_table,
)
from answer_ranking.reproduce.studies import eq9_grid
from answer_ranking.reproduce.studies.eq9_grid import GridOptions, study, summarise_cells
from answer_ranking.training import TrainingDivergedError
from answer_ranking.training.scoring import score

DIVERGING = 1e38


def options(folder, **changes):
    values = {
        "dataset": "sample",
        "readings": ("none", "points"),
        "learning_rates": (0.1, DIVERGING),
        "clip_norms": (None,),
        "max_norms": (0.7,),
        "seeds": 1,
        "dimension": 4,
        "epochs": 1,
        "record": "eq9_grid/sample",
        "results": folder / "results",
        "output": folder / "output",
    }
    return GridOptions(**values | changes)


@pytest.fixture(scope="module")
def trained():
    """What the studies train: a list of reading, rate and seed. A rate that diverges does so at once."""
    calls, real = [], eq9_grid.train

    def train(experiment, data, seed):
        rate = experiment.training.learning_rate
        calls.append((experiment.training.eq9, rate, seed.number))
        if rate == DIVERGING:
            raise TrainingDivergedError("Training stopped at step 1")
        return real(experiment, data, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eq9_grid, "train", train)
        yield calls


@pytest.fixture(scope="module")
def done(tmp_path_factory, trained):
    folder = tmp_path_factory.mktemp("grid")
    path = study(options(folder))
    return folder, json.loads(path.read_text())


def test_every_cell_has_the_average_precision_of_its_best_epoch(done):
    folder, record = done
    found = {(cell["eq9"], cell["learning_rate"]): cell for cell in record["conditions"]}
    assert len(found) == len(record["conditions"]) == 4
    assert [found[reading, DIVERGING]["diverged"] for reading in ("none", "points")] == [1, 1]
    place = {"eq9": "points", "learning_rate": 0.1, "max_norm": 0.7, "clip_norm": None}
    experiment = options(folder).experiment(place)
    data = experiment.data.load()
    model, fitted = eq9_grid.train(experiment, data, Seed(0))
    test, scores = data.test, score(model, data.test)
    average_precisions = []
    for start, end in itertools.pairwise(test.candidate_offsets):
        if test.labels[start:end].any():
            average_precisions.append(average_precision_score(test.labels[start:end], scores[start:end]))
    cell = found["points", 0.1]
    assert cell["test_map"]["per_seed"] == pytest.approx([np.mean(average_precisions)], abs=1e-6)
    assert cell["dev_map"]["per_seed"] == pytest.approx([fitted.history[0]["dev_map"]], abs=1e-6)
    assert len(read_rows(folder / "results" / "eq9_grid" / "sample.trials.jsonl")) == 4
    assert (record["protocol"], record["seeds"]) == ("filtered", 1) and "commit" in record
    assert not {"eq9", "learning_rate", "clip_norm", "max_norm"} & record["configuration"].keys()
    folder = folder / "results" / "eq9_grid"
    # The page leaves the sample out.
    assert grid_block(folder).startswith("The grid has not been run")
    (folder / "other.json").write_text(json.dumps({**record, "dataset": "wikiqa"}))
    page = grid_block(folder)
    (folder / "other.json").unlink()
    assert "2 of them finished" in page and page.count("1 diverged") == 2


def test_a_second_call_trains_what_is_missing_and_refuses_to_lose_cells(done, trained):
    folder, record = done
    before = len(trained)
    rows = folder / "results" / "eq9_grid" / "sample.trials.jsonl"
    kept = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(kept[:-1]))
    assert json.loads(study(options(folder)).read_text())["conditions"] == record["conditions"]
    assert trained[before:] == [("points", DIVERGING, 0)]
    with pytest.raises(UserError, match=r"more than this would leave: cells: .*, learning_rate 0.1"):
        study(options(folder, learning_rates=(0.2, DIVERGING), seeds=2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"readings": ()}, "readings must be different values"),
        ({"clip_norms": (1.0, 1.0)}, "clip_norms must be different values"),
        ({"max_norms": (1.5,)}, "max_norm must be above 0 and at most 1"),
        ({"learning_rates": (0.0,)}, "learning_rate must be above 0"),
        ({"seeds": 0}, "seeds must be at least 1"),
    ],
)
def test_a_grid_that_cannot_be_is_refused_before_it_begins(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        options(tmp_path, **changes)


def cell(reading, rate, dev, test, clip=None):
    place = {"max_norm": 0.7, "clip_norm": clip, "eq9": reading, "learning_rate": rate}
    if test is None:
        return {**place, "diverged": 1}
    maps = {"dev_map": dev, "test_map": test}
    return place | {name: {"mean": value, "ci95": 0.01, "per_seed": [value]} for name, value in maps.items()}


# Dev prefers not what test would.
CELLS = [
    cell("none", 0.1, 0.50, 0.60),
    cell("none", 1.0, 0.55, 0.40),
    cell("points", 0.1, 0.70, 0.62),
    cell("points", 1.0, 0.60, 0.46),
    cell("none", 0.1, 0.52, 0.58, clip=1.0),
    cell("points", 0.1, 0.40, None, clip=1.0),
]


def test_a_cell_of_which_a_seed_diverged_has_no_map():
    rows = []
    for key, outcomes in (("a", (0.5, 0.7)), ("b", (0.5, "too large"))):
        place = {"max_norm": 0.7, "clip_norm": None, "eq9": key, "learning_rate": 0.1, "key": key}
        for seed, outcome in enumerate(outcomes):
            lost = isinstance(outcome, str)
            measured = {"diverged": outcome} if lost else {"dev_map": outcome + 0.1, "test_map": outcome}
            rows.append({**place, "seed": seed, **measured})
    finished, lost = summarise_cells(pd.DataFrame(rows, dtype=object))
    assert (finished["test_map"]["mean"], finished["dev_map"]["mean"]) == pytest.approx((0.6, 0.7))
    # Student's t for one degree of freedom, times the standard error 0.1.
    assert finished["test_map"]["ci95"] == pytest.approx(12.706 * 0.1, rel=1e-4)
    assert lost["diverged"] == 1 and "test_map" not in lost


def test_dev_prefers_and_the_same_cells_are_compared():
    assert best_on_dev(CELLS, "eq9") == {("none",): CELLS[1], ("points",): CELLS[2]}
    found = differences(CELLS)
    assert found == {"points": pytest.approx({"cells": 2, "mean": 0.04, "least": 0.02, "greatest": 0.06})}
    assert differences(CELLS[2:4]) == differences([CELLS[-1]]) == {}
    *_, plain, points, clipped, diverged = grid_table(CELLS).splitlines()
    assert plain.split("|")[4:6] == [" 0.600 ", " 0.400† "] and points.split("|")[4] == " 0.620† "
    assert (
        clipped.split("|")[3:6] == [" at 1 ", " 0.580† ", " – "] and diverged.split("|")[4] == " 1 diverged "
    )


def test_the_figure_draws_what_finished():
    (plain, clipped) = grid_figure(CELLS).axes
    lines = {each.get_label(): each for each in plain.containers}
    assert lines["points"].lines[0].get_ydata().tolist() == [0.62, 0.46]
    assert [each.lines[0].get_xdata().tolist() for each in clipped.containers] == [[0.1], []]
