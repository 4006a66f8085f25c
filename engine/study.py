"""The one study engine: conditions in, a frame out with a row per condition and seed.

A study states its conditions, what to measure for one of them with one seed, and which score chooses on dev.
The engine keeps every row as soon as it is there: after an interruption the same command goes on, and two
processes share the rows.
"""

import gc
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock

from answer_ranking.base.errors import TrainingDivergedError
from answer_ranking.base.files import atomic_write, check_writable, locked_folder, remove_leftovers
from answer_ranking.engine.training_run import Seed
from answer_ranking.evaluation.records import read_trials

Condition = Mapping[str, Any]
"""What JSON can hold; its `key` names all on which the numbers depend."""
Row = dict[str, Any]
"""A condition, `seed`, what was measured or why it `diverged`, and the processor's `seconds`."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """How a study measures, and where it keeps the rows.

    Attributes:
        measure: measures a condition with a seed; gives what JSON can hold. A training may keep its state in
            the seed's folder, which conditions with the same key share.
        rows: the file of the finished rows, a JSON object a line. Rows of other conditions stay in it.
        folder: where rows that are not finished have their folders.
        chosen_by: the score on dev that chooses, a number or a list by epoch.
        in_turn: a row depends on those before it, so that only one process measures at a time.
    """

    measure: Callable[[Condition, Seed], Mapping[str, Any]]
    rows: Path
    folder: Path
    chosen_by: str = "dev_map"
    in_turn: bool = False

    def frame(self, conditions: Iterable[Condition], seeds: Sequence[int]) -> pd.DataFrame:
        """Measure what is missing; give a row per condition and seed, in their order.

        The columns are those of the rows, and `diverged`, which may be empty.
        """
        for folder in (self.rows.parent, self.folder):
            check_writable(folder)
            remove_leftovers(folder)
        wanted = [(as_json(condition), seed) for condition in conditions for seed in seeds]
        # What another process measures just now is left to it, and waited for in the end.
        if not self.in_turn:
            self._measure_missing(wanted, wait=False)
        self._measure_missing(wanted, wait=True)
        kept = read_rows(self.rows)
        rows = [find_row(kept, *each) for each in wanted]
        frame = pd.DataFrame(rows, dtype=object)
        return frame if "diverged" in frame else frame.assign(diverged=None)

    def _measure_missing(self, wanted: Sequence[tuple[Condition, int]], wait: bool) -> None:
        kept = read_rows(self.rows)
        for condition, seed in wanted:
            if find_row(kept, condition, seed) is None:
                self._measure(condition, seed, wait)

    def best(self, frame: pd.DataFrame, column: str) -> Any:
        """Give the value of a column that is best on dev by the mean over its seeds; of equal ones the first.

        A value with which a seed diverged is out; None says that none is left.
        """
        best, best_score = None, -np.inf
        for value, rows in frame.groupby(column, sort=False):
            score = mean_score(rows, self.chosen_by)
            if score > best_score:
                best, best_score = value, score
        return best

    def place(self, condition: Condition, seed: int) -> Path:
        """Give the folder of a condition's seed."""
        # The trials of a search have one key.
        trial = f"trial-{condition['trial']}-" if "trial" in condition else ""
        return self.folder / condition["key"] / f"{trial}seed-{seed}"

    def _measure(self, condition: Condition, number: int, wait: bool) -> None:
        place = self.folder if self.in_turn else self.place(condition, number)
        with locked_folder(place, wait) as locked:
            # Another process may have measured it while this one waited.
            if not locked or find_row(read_rows(self.rows), condition, number):
                return
            remove_leftovers(place)
            label = title(condition, number)
            row = self._row(condition, Seed(number, place / "state.npz", condition["key"], label))
            self._keep(condition, number, row)
        print(f"{label}: {outcome(row, self.chosen_by)}, {row['seconds']:.0f} s", flush=True)

    def _row(self, condition: Condition, seed: Seed) -> Row:
        gc.collect()  # Models refer to themselves in circles: hundreds of them would fill the memory.
        began = time.process_time()
        try:
            measured = self.measure(condition, seed)
        except TrainingDivergedError as error:
            measured = {"diverged": str(error)}
        seconds = round(time.process_time() - began, 1)
        return {**condition, "seed": seed.number, **measured, "seconds": seconds}

    def _keep(self, condition: Condition, number: int, row: Row) -> None:
        # Beside the rows: another process may have its unfinished ones elsewhere, and measure the same.
        with FileLock(self.rows.with_name(f".{self.rows.name}.lock")):
            rows = read_rows(self.rows)
            if find_row(rows, condition, number) is None:
                with atomic_write(self.rows) as file:
                    file.writelines(json.dumps(each) + "\n" for each in [*rows, row])


def read_rows(path: Path) -> list[Row]:
    """Read finished rows; the file may be missing. A UserError says that it is damaged."""
    return read_trials(path, ("key", "seconds"))


def find_row(rows: Iterable[Row], condition: Condition, seed: int) -> Row | None:
    """Find the row of a condition and seed; a row may say more, and old ones have no seed."""
    wanted = condition.items()
    for row in rows:
        if row.get("seed", seed) == seed and wanted <= row.items():
            return row
    return None


def as_json(value: Any) -> Any:
    """Give a value as JSON has it, so that it equals what was kept."""
    return json.loads(json.dumps(value))


def present(frame: pd.DataFrame) -> list[Row]:
    """Give the rows of a frame as mappings, each without what it lacks."""
    return [row.dropna().to_dict() for _, row in frame.iterrows()]


def mean_score(rows: pd.DataFrame, column: str) -> float:
    """Average the best scores on dev; NaN if a row diverged."""
    if rows["diverged"].notna().any():
        return np.nan
    return float(rows[column].map(np.max).mean())


def title(condition: Condition, seed: int) -> str:
    """Name a row in print, by what is a word or a number."""
    words = []
    for name, value in condition.items():
        if name != "key" and isinstance(value, str | int | float):
            words.append(f"{name} {value}")
    return ", ".join([*words, f"seed {seed}"])


def outcome(row: Mapping[str, Any], chosen_by: str) -> str:
    """Say how a row ended."""
    if chosen_by not in row:
        return "diverged" if "diverged" in row else "done"
    return f"{chosen_by.replace('_', ' ')} {np.max(row[chosen_by]):.4f}"
