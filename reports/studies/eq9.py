"""The page of the study of Eq. 9."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.records import read_study
from answer_ranking.evaluation.studies.eq9 import BASELINE
from answer_ranking.reports.pages import render

READINGS = (BASELINE, "points", "parameters", "released_code")
"""The readings of Eq. 9 (`answer_ranking.training.Eq9`) in the order of the tables."""
COSINE = "cosineqa"
TITLES = {**{name: f"HyperQA, `{name}`" for name in READINGS}, COSINE: "CosineQA"}
"""Every condition, in the order of the tables."""
_KEYS = {"title", "dataset", "protocol", "embeddings", "configuration", "tuning", "conditions", "command"}
_KEYS |= {"seeds", "size_seeds"}

Condition = Mapping[str, Any]
"""A summary of `evaluation.studies.eq9.summarise_conditions`."""


def load_study(path: str | Path) -> dict[str, Any]:
    """Read one record of the study; a UserError names a file that is none."""
    return read_study(path, _KEYS)


def load_studies(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Read all records of the study in a folder, which may be missing, by their names."""
    return {path.stem: load_study(path) for path in sorted(Path(folder).glob("*.json"))}


def eq9_block(folder: str | Path) -> str:
    """Write what the page of the study says about the records in a folder, but for the sample's."""
    studies = []
    for name, record in load_studies(folder).items():
        if record["dataset"] != "sample":
            studies.append(_study(name, record))
    return render("studies/eq9.md.j2", studies=studies, titles=TITLES, significant=SIGNIFICANT)


def study_table(conditions: Sequence[Condition]) -> str:
    """Set the table of all conditions of one size, as `summarise_conditions` returns them, in Markdown."""
    return render("studies/eq9_table.md.j2", conditions=conditions, titles=TITLES, median_epoch=_median_epoch)


def _study(name: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Gather what the page shows of a record: the main size, its tests and the other sizes."""
    conditions = record["conditions"]
    sizes = list(dict.fromkeys(each["dimension"] for each in conditions))
    main = [each for each in conditions if each["dimension"] == sizes[0]]
    measured = {each["condition"]: each for each in main if "metrics" in each}
    return {
        "name": name,
        "record": record,
        "table": study_table(main),
        "sizes": sizes,
        "by_size": {(each["dimension"], each["condition"]): each for each in conditions},
        "names": list(dict.fromkeys(each["condition"] for each in conditions)),
        "measured": measured,
        "tested": any("p" in each for each in measured.values()),
        "apart": _significant_differences(measured),
        "gradient_norms": {key: float(np.mean(each["gradient_norm"])) for key, each in measured.items()},
        "at_edge": any(each["at_edge"] for each in main),
    }


def _significant_differences(measured: Mapping[str, Condition]) -> dict[str, float]:
    """Find the conditions whose MAP differs significantly from the baseline's, and by how much."""
    found = {}
    for name, each in measured.items():
        if each.get("p", 1.0) >= SIGNIFICANT:
            continue
        difference = each["metrics"]["map"]["mean"] - measured[BASELINE]["metrics"]["map"]["mean"]
        if difference:
            found[name] = difference
    return found


def _median_epoch(condition: Condition) -> tuple[float | None, int]:
    """Give the median epoch at which the level is reached, None for never, and how many seeds reach it."""
    reached = [epoch for epoch in condition["epochs_to_level"] if epoch is not None]
    return (float(np.median(reached)) if reached else None), len(reached)
