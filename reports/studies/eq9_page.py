"""The page of the study of Eq. 9."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from answer_ranking.evaluation.comparisons import SIGNIFICANT
from answer_ranking.evaluation.eq9_summary import BASELINE
from answer_ranking.evaluation.records import read_studies, read_study
from answer_ranking.reports.pages import render

READINGS = (BASELINE, "points", "parameters", "released_code")
"""The readings of Eq. 9 (`answer_ranking.training.Eq9`) in the order of the tables."""
COSINE = "cosineqa"
TITLES = {**{name: f"HyperQA, `{name}`" for name in READINGS}, COSINE: "CosineQA"}
"""Every condition, in the order of the tables."""
_KEYS = {"title", "dataset", "protocol", "embeddings", "configuration", "tuning"}
_KEYS |= {"conditions", "command", "seeds", "size_seeds"}

Condition = Mapping[str, Any]
"""A summary of `evaluation.eq9_summary.summarise_conditions`."""


def load_study(path: str | Path) -> dict[str, Any]:
    """Read one record of the study; a UserError names a file that is none."""
    return read_study(path, _KEYS)


def load_studies(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Read all records of the study in a folder, which may be missing, by their names."""
    return {path.stem: record for path, record in read_studies(folder, _KEYS).items()}


def eq9_block(folder: str | Path) -> str:
    """Write what the page of the study says about the records in a folder, but for the sample's."""
    studies = load_studies(folder)
    for name, record in list(studies.items()):
        if record["dataset"] == "sample":
            del studies[name]
    return _render("studies/eq9.md.j2", studies=studies, apart=_significant_differences)


def study_table(conditions: Sequence[Condition]) -> str:
    """Set the table of all conditions of one size, as `summarise_conditions` returns them, in Markdown."""
    return _render("studies/eq9_table.md.j2", conditions=conditions)


def _render(template: str, **values: Any) -> str:
    common = {"titles": TITLES, "significant": SIGNIFICANT, "mean": np.mean}
    return render(template, median_epoch=_median_epoch, **common, **values)


def _significant_differences(measured: Sequence[Condition]) -> dict[str, float]:
    """Find the conditions whose MAP differs significantly from the baseline's, and by how much."""
    means = {each["condition"]: each["metrics"]["map"]["mean"] for each in measured}
    found = {}
    for each in measured:
        name = each["condition"]
        if each.get("p", 1.0) < SIGNIFICANT and means[name] != means[BASELINE]:
            found[name] = means[name] - means[BASELINE]
    return found


def _median_epoch(condition: Condition) -> tuple[float | None, int]:
    """Give the median epoch at which the level is reached, None for never, and how many seeds reach it."""
    reached = list(filter(None, condition["epochs_to_level"]))
    return (float(np.median(reached)) if reached else None), len(reached)
