"""Recorded numbers beside those of a new run of the same command."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock

from answer_ranking.base.files import atomic_write
from answer_ranking.evaluation.metrics import METRICS, PRINTED_METRICS
from answer_ranking.evaluation.tables import METRIC_TITLES, format_measured, text_table

OK, FAIL, NO_INTERVAL, NO_RECORD = "OK", "FAIL", "no interval", "no record"

_MADE_BY = ("created", "commit", "clean_tree", "processor")

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Checks:
    """New records beside the recorded ones of the same files; studies have no mean to compare."""

    recorded: Mapping[Path, Record]
    new: Mapping[Path, Record]

    @property
    def agree(self) -> bool:
        """Whether no new mean lies outside the recorded interval."""
        return FAIL not in map(self.verdict, self.new)

    def verdict(self, path: Path) -> str:
        """Judge a record: OK if the means of MAP and MRR lie within the recorded 95 % intervals, else FAIL.

        One seed has no interval. Of equal seeds the means of five agree on different processors, single ones
        do not.
        """
        recorded = self.recorded.get(path, {}).get("metrics", {})
        if not recorded:
            return NO_RECORD
        verdict = OK
        measured = self.new[path].get("metrics", {})
        for metric in PRINTED_METRICS:
            if metric not in measured or metric not in recorded:
                continue
            interval = recorded[metric]["ci95"]
            if interval is None:
                verdict = NO_INTERVAL
            elif abs(measured[metric]["mean"] - recorded[metric]["mean"]) > interval:
                return FAIL
        return verdict

    def __str__(self) -> str:
        rows = []
        for path, record in self.new.items():
            recorded = self.recorded.get(path, {}).get("metrics", {})
            for metric, summary in record.get("metrics", {}).items():
                old, difference = recorded.get(metric), "–"
                if old:
                    difference = f"{summary['mean'] - old['mean']:+.4f}"
                measured = [format_measured(each, decimals=4) if each else "–" for each in (old, summary)]
                rows.append([path.as_posix(), METRIC_TITLES[metric], *measured, difference])
        lines = []
        if rows:
            lines.append(text_table(["record", "metric", "recorded", "new", "difference"], rows))
        for path, record in self.new.items():
            is_study = "metrics" not in record
            verdict = "a study, without a mean to compare" if is_study else self.verdict(path)
            lines.append(f"{path.as_posix()}: {verdict}")
        return "\n".join(lines)

    def log(self, path: Path, replaced: bool) -> None:
        """Add a line for each new record to a CSV file: when and by what it was made, means, verdict.

        `replaced` says whether the new record was put in the place of the one that it was compared with.
        """
        lines = []
        for place, record in self.new.items():
            if "metrics" in record:
                made_by = {name: record.get(name, "") for name in _MADE_BY}
                means = {name: record["metrics"].get(name, {}).get("mean") for name in METRICS}
                judged = {"record": place.as_posix(), "verdict": self.verdict(place)}
                lines.append({**judged, **means, **made_by, "replaced": replaced})
        if not lines:
            return
        with FileLock(f"{path}.lock"):
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            with atomic_write(path) as file:
                file.write(before + pd.DataFrame(lines).to_csv(index=False, header=not before))
