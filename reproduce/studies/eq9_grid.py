"""HyperQA's Eq. 9 in every reading, over learning rates, clipping and largest norms, all scored on test.

    python reproduce/studies/eq9_grid.py --dataset trecqa

`studies/eq9.py` chooses each reading's rate on dev, at one norm and with clipping, which takes much of a
conversion's scale away. This study chooses none of them: every cell of the grid is trained with the same
seeds and scored at the epoch that is best on dev, and the page shows them all. A seed takes about 15 s of one
core on TrecQA's TRAIN. A study that was killed goes on with the seed that it was at, and two processes share
the seeds.

With --record eq9_grid/trecqa the rows and the summary are kept in reproduce/results/, from which docs/eq9.md
is made; else they stay in the output folder.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import tyro

from answer_ranking.base.command import run_command
from answer_ranking.base.ranges import check_range
from answer_ranking.engine import Seed, Study, StudyRecord, TrainingData
from answer_ranking.engine.study import Condition
from answer_ranking.engine.training_run import as_before, key_of
from answer_ranking.evaluation.metrics import spreads, strictest
from answer_ranking.reports.studies.eq9_grid_page import AXES, grid_table
from answer_ranking.reports.studies.eq9_page import READINGS
from answer_ranking.reproduce import hyperqa_trecqa, hyperqa_wikiqa
from answer_ranking.reproduce.experiments.data_options import DataOptions
from answer_ranking.reproduce.experiments.options import TRIALS, Experiment
from answer_ranking.reproduce.experiments.run import facts, train
from answer_ranking.reproduce.studies.eq9 import Eq9Options, measured_on_test
from answer_ranking.training.options import Eq9

_DATA = {
    "wikiqa": hyperqa_wikiqa.DATA,
    "trecqa": hyperqa_trecqa.TRAIN,
    "sample": DataOptions(dataset="sample"),
}


@dataclass(frozen=True, kw_only=True)
class GridOptions(Eq9Options):
    """The options of the study; whatever is no option here has HyperQA's default."""

    dataset: Literal["wikiqa", "trecqa", "sample"] = "trecqa"
    """Name of the data set; trecqa is TRAIN, clean."""
    readings: tuple[Eq9, ...] = READINGS  # type: ignore[assignment]
    """The readings of Eq. 9 to compare."""
    learning_rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0)
    """Learning rates of AdaGrad."""
    clip_norms: tuple[float | None, ...] = (None, 1.0)
    """Largest norms of the whole gradient after its conversion; None for no limit."""
    max_norms: tuple[float, ...] = (0.5, 0.7, 0.99)
    """Largest norms of a text vector in the ball."""
    seeds: int = 5
    """How many seeds every cell has."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "seeds", at_least=1)
        self.check_different("readings", "learning_rates", "clip_norms", "max_norms")
        for cell in self.cells:
            self.experiment(cell)  # refuses what is out of range

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The cells of the grid."""
        values = itertools.product(self.max_norms, self.clip_norms, self.readings, self.learning_rates)
        return [dict(zip(AXES, each, strict=True)) for each in values]

    @property
    def summary(self) -> Path:
        """The file of the summary; the rows stand beside it."""
        return self.record_file or self.output / "eq9_grid" / f"{self.dataset}.json"

    def experiment(self, cell: Condition) -> Experiment:
        """State the experiment of a cell."""
        names = ("embeddings", "epochs", "dimension", "data_home", "embeddings_home")
        given = {name: getattr(self, name) for name in names}
        return Experiment.of("hyperqa", _DATA[self.dataset], **given, **{name: cell[name] for name in AXES})


def study(options: GridOptions) -> Path:
    """Train and score what is missing, and sum it up; return the summary's file.

    A UserError says that data are missing, a file is damaged, a folder cannot be written to, or a recorded
    study has more than this one.
    """
    extent = extent_of({"conditions": options.cells, "seeds": options.seeds})
    record = StudyRecord(options.summary, {"dataset": options.dataset}, extent, extent_of)
    base = options.experiment(options.cells[0])
    data = base.data.load()
    cells = summarise_cells(_rows(options, data))
    print(f"\n{grid_table(cells)}\n", flush=True)
    about = facts(base, data)
    for name in AXES:
        del about["configuration"][name]
    protocol = strictest(data.dataset.description.protocols)
    about |= {"study": "eq9_grid", "title": data.title, "protocol": protocol}
    record.write({**about, "seeds": options.seeds, "conditions": cells})
    return options.summary


def extent_of(record: dict[str, Any]) -> dict[str, Any]:
    """Say what a study covers: its cells in words, and their seeds."""
    cells = {", ".join(f"{name} {cell[name]}" for name in AXES) for cell in record["conditions"]}
    return {"cells": cells, "seeds": record["seeds"]}


def _rows(options: GridOptions, data: TrainingData) -> pd.DataFrame:
    """Measure every cell with every seed: the best MAP on dev, and that epoch's MAP on test."""

    def measure(cell: Condition, seed: Seed) -> dict[str, Any]:
        model, fitted = train(options.experiment(cell), data, Seed(seed.number))
        test_map = measured_on_test(model, data)["map"].mean()
        dev_map = fitted.history[fitted.best_epoch]["dev_map"]
        return {"dev_map": round(dev_map, 6), "test_map": round(float(test_map), 6)}

    conditions = []
    for cell in options.cells:
        key = key_of(as_before(options.experiment(cell).configuration), data.data_hash)
        conditions.append({"key": key, **cell})
    file = options.summary.with_suffix(TRIALS)
    return Study(measure=measure, rows=file, folder=options.output / "eq9_grid").frame(
        conditions, range(options.seeds)
    )


def summarise_cells(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Sum up the seeds of every cell: its MAP on dev and test, or how many of its seeds diverged."""
    cells = []
    for _, of_cell in rows.groupby("key", sort=False):
        first = of_cell.iloc[0]
        cell = {name: first[name] for name in AXES}
        diverged = int(of_cell["diverged"].notna().sum())
        if diverged:
            cells.append({**cell, "diverged": diverged})
        else:
            maps = {name: of_cell[name].astype(float) for name in ("dev_map", "test_map")}
            cells.append({**cell, **spreads(maps)})
    return cells


if __name__ == "__main__":
    run_command(lambda: study(tyro.cli(GridOptions, description=__doc__)))
